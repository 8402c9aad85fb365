// The samples of an archive in WebDataset's form: neighboring members whose paths agree up to the
// first dot of their names. One thread. Throws what TarIndex throws.
//
// The form: https://github.com/webdataset/webdataset, tariterators.py (base_plus_ext,
// group_by_keys)
#pragma once

#include <cstdint>
#include <string>

#include "tandem/core/file.hpp"
#include "tar_index.hpp"

namespace tandem::data {

struct TarSample {
  std::string name;          // of the picture's member; if there is none, of the label's
  std::uint64_t offset = 0;  // of the picture in the archive
  std::uint64_t bytes = 0;
  std::string label;
  std::string fault;  // why it cannot be packed; empty: it can
};

class TarSamples {
 public:
  // The file must outlive it.
  explicit TarSamples(const File& file) : index_(file) {}

  // The next sample with a picture or a label. False at the end.
  bool next(TarSample& sample);

 private:
  // Of the members that have a label, the one that counts.
  enum class LabelForm { kClass, kJson, kText, kNone };

  struct Open {
    std::string key;
    TarMember picture;
    TarMember label;
    LabelForm form = LabelForm::kNone;
    std::string label_text;
    std::string picture_fault;
    std::string label_fault;
  };

  bool is_empty() const { return open_.picture.name.empty() && open_.label.name.empty(); }
  void take(const TarMember& member, const std::string& suffix);
  void take_label(const TarMember& member, LabelForm form);
  TarSample close();

  TarIndex index_;
  Open open_;
  bool has_ended_ = false;
};

}  // namespace tandem::data
