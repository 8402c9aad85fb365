// The common part of all inputs with picture files: names, labels, a test set, digests. An input
// lists its pictures and states how to read one. Throws DataError for a name that is listed twice
// or a class that no training picture has; UsageError of draw_of_each_class().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/pictures/broken_files.hpp"
#include "encoded_source.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {

// Texts, by number, in one block of memory. A million separate strings take twice as much.
class NameList {
 public:
  void add(std::string_view name) {
    text_ += name;
    ends_.push_back(text_.size());
  }
  std::string_view operator[](std::size_t i) const {
    const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }
  std::size_t size() const { return ends_.size(); }

 private:
  std::string text_;
  std::vector<std::uint64_t> ends_;
};

// Pictures are numbered in the order of the input: first those for training, then those for
// testing.
struct PictureListing {
  std::string root;        // the folder that paths begin with; empty: none
  std::string test_input;  // that lists the pictures for testing; empty: the input lists all
  std::string name;        // of the data set, if it can be one
  std::vector<std::string> classes;
  bool may_lack_pictures = false;  // classes for which there are none
  NameList names;                  // paths within `root`, or absolute ones
  std::vector<Label> labels;       // one for each picture
  // For a multi-label set, also all labels of each picture, ascending. `labels` then has the first
  // one, or 0.
  bool multi_label = false;
  std::vector<Label> all_labels;
  std::vector<std::uint64_t> ends;  // of each picture's labels in all_labels
  std::uint64_t train_count = 0;
  BrokenFiles broken;  // with paths that begin with `root`
  // Returns the bytes of a picture, whose path is `where`; as EncodedSource::read(). Called on
  // several threads.
  std::function<std::string(std::uint32_t picture, const std::string& where,
                            const BeforeTaking& before)>
      read = [](std::uint32_t /*picture*/, const std::string& where, const BeforeTaking& before) {
        return read_picture_bytes(where, before);
      };
  // The stamp of a picture; as EncodedSource::stamp().
  std::function<PictureStamp(std::uint32_t picture, const std::string& where)> stamp =
      [](std::uint32_t /*picture*/, const std::string& where) { return stamp_of(where); };
};

// "ROOT/NAME"; the name itself without a root, and of an absolute one.
std::string path_within(const std::string& root, std::string_view name);

// `test_split` > 0: a share of each class becomes the test set, drawn by `seed`; then all listed
// pictures are for training. `input` begins messages.
std::unique_ptr<EncodedSource> make_listed_source(PictureListing listing, const std::string& input,
                                                  double test_split, std::uint64_t seed);

}  // namespace tandem::data
