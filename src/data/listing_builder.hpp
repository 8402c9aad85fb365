// Collects the pictures of forms that have a label as text beside each picture. One thread. Throws
// DataError of LabelTexts and for a file of class names that cannot be used; UsageError unless the
// test set is given once; MissingInputError.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encoded_listing.hpp"
#include "encoded_source.hpp"
#include "label_texts.hpp"

namespace tandem::data {

class ListingBuilder {
 public:
  // `root`: as PictureListing's. `input`: the files whose pictures are to come.
  ListingBuilder(const std::string& input, std::string root, const EncodedListOptions& options);

  // The next picture; false if its label can be none, which is then among the broken files. Of a
  // multi-label set `label` is any number of labels with semicolons between them.
  bool add(std::string_view name, const std::string& label);
  void add_broken(std::string_view name, const std::string& reason);
  // The pictures so far are for training, those to come for testing.
  void begin_test() { listing_.train_count = listing_.names.size(); }
  // The source of all pictures. `name`: of the data set.
  std::unique_ptr<EncodedSource> finish(const std::string& name,
                                        decltype(PictureListing::read) read,
                                        decltype(PictureListing::stamp) stamp = nullptr);

 private:
  const std::string input_;
  const EncodedListOptions& options_;
  PictureListing listing_;
  LabelTexts texts_;
};

// The folder that all these paths lie in, in as many parts as they share; empty: none.
std::string common_folder(const std::vector<std::string>& paths);
// `path` as it is named within `root`.
std::string name_within(const std::string& root, const std::string& path);

}  // namespace tandem::data
