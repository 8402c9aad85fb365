// Collects the pictures of inputs that give a label as text for each picture. One thread. Throws
// DataError as LabelTexts does, and for a bad file of class names; UsageError unless the test set
// is given exactly once; MissingInputError.
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

  // Adds a picture. If its text cannot be a label, adds it to the broken files and returns false.
  // For a multi-label set, semicolons separate the labels in `label`.
  bool add(std::string_view name, const std::string& label);
  void add_broken(std::string_view name, const std::string& reason);
  // The pictures so far are for training, all later ones for testing.
  void begin_test() { listing_.train_count = listing_.names.size(); }
  // The source of all pictures. `name`: of the data set. Without `read` and `stamp` the pictures
  // are files.
  std::unique_ptr<EncodedSource> finish(const std::string& name,
                                        decltype(PictureListing::read) read = nullptr,
                                        decltype(PictureListing::stamp) stamp = nullptr);

 private:
  const std::string input_;
  const EncodedListOptions& options_;
  PictureListing listing_;
  LabelTexts texts_;
};

// Makes "a//b" "a/b", because the two functions below compare paths as texts.
std::string with_single_slashes(std::string path);
// The longest folder path that all these paths share; empty: none.
std::string common_folder(const std::vector<std::string>& paths);
// `path` relative to `root`.
std::string name_within(const std::string& root, const std::string& path);

}  // namespace tandem::data
