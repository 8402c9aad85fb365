#include "listing_builder.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "data/files/source_file.hpp"
#include "same_pictures.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;

void require_one_test_set(const std::string& input, const EncodedListOptions& options) {
  if (!options.test_input.empty() && options.test_split > 0) {
    throw UsageError("--test-split: --test-input " + options.test_input +
                     " is the test set; leave one of them out");
  }
  if (!options.test_input.empty() || options.test_split > 0) return;
  throw UsageError("--test-split is missing: " + input +
                   " has no test set; give the share of each class to use for testing, such as "
                   "0.2, or the files of a test set with --test-input");
}

std::vector<std::string> labels_in(const std::string& label, bool multi_label) {
  if (!multi_label) return {label};
  std::vector<std::string> labels;
  if (label.empty()) return labels;
  for (const std::string& each : split(label, ';')) labels.push_back(trim(each));
  return labels;
}

// Replaces the numbers of texts by their classes. A label that a picture has twice counts once.
void set_labels(const std::vector<Label>& of_text, PictureListing& listing) {
  std::vector<Label> all;
  std::uint64_t begin = 0;
  for (std::uint64_t& end : listing.ends) {
    std::set<Label> own;
    for (; begin < end; ++begin) own.insert(of_text[listing.all_labels[begin]]);
    listing.labels.push_back(own.empty() ? Label{0} : *own.begin());
    all.insert(all.end(), own.begin(), own.end());
    end = all.size();
  }
  listing.all_labels = std::move(all);
}

}  // namespace

ListingBuilder::ListingBuilder(const std::string& input, std::string root,
                               const EncodedListOptions& options)
    : input_(input), options_(options) {
  require_one_test_set(input, options);
  listing_.root = std::move(root);
  listing_.test_input = options.test_input;
}

bool ListingBuilder::add(std::string_view name, const std::string& label) {
  const std::vector<std::string> labels = labels_in(label, options_.multi_label);
  for (const std::string& each : labels) {
    const std::string fault = LabelTexts::fault_of_label(each);
    if (fault.empty()) continue;
    add_broken(name, fault);
    return false;
  }
  for (const std::string& each : labels) {
    listing_.all_labels.push_back(texts_.number_of(each, path_within(listing_.root, name)));
  }
  listing_.names.add(name);
  listing_.ends.push_back(listing_.all_labels.size());
  return true;
}

void ListingBuilder::add_broken(std::string_view name, const std::string& reason) {
  listing_.broken.push_back({path_within(listing_.root, name), reason});
}

std::unique_ptr<EncodedSource> ListingBuilder::finish(const std::string& name,
                                                      decltype(PictureListing::read) read,
                                                      decltype(PictureListing::stamp) stamp) {
  if (listing_.names.size() == 0) {
    if (!listing_.broken.empty()) {
      throw BrokenFilesError(listing_.root, listing_.broken, ", and there is no other");
    }
    throw DataError(input_ + ": holds no picture with a label");
  }
  if (options_.test_split > 0) listing_.train_count = listing_.names.size();
  std::vector<std::string> names;
  if (!options_.classes_file.empty()) {
    names = read_class_names(options_.classes_file, kMaxClasses);
  }
  LabelTexts::Classes classes = texts_.classes(names, options_.classes_file);
  if (classes.names.empty()) {
    throw DataError(input_ +
                    ": no picture has a label; list some, or name the classes with --classes");
  }
  set_labels(classes.of_text, listing_);
  listing_.multi_label = options_.multi_label;
  listing_.classes = std::move(classes.names);
  listing_.may_lack_pictures = !names.empty();
  listing_.name = name;
  if (read) listing_.read = std::move(read);
  if (stamp) listing_.stamp = std::move(stamp);
  require_different_files(listing_, input_, options_.test_split > 0, options_.check);
  return make_listed_source(std::move(listing_), input_, options_.test_split, options_.seed);
}

std::string with_single_slashes(std::string path) {
  const auto is_doubled = [](char a, char b) { return a == '/' && b == '/'; };
  path.erase(std::unique(path.begin(), path.end(), is_doubled), path.end());
  return path;
}

std::string common_folder(const std::vector<std::string>& paths) {
  fs::path shared;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const fs::path folder = fs::path(paths[i]).parent_path();
    if (i == 0) {
      shared = folder;
      continue;
    }
    fs::path both;
    for (auto a = shared.begin(), b = folder.begin();
         a != shared.end() && b != folder.end() && *a == *b; ++a, ++b) {
      both /= *a;
    }
    shared = both;
  }
  return shared == "/" ? "" : shared.string();
}

std::string name_within(const std::string& root, const std::string& path) {
  const bool lies_within = !root.empty() && begins_with(path, root + "/");
  return lies_within ? path.substr(root.size() + 1) : path;
}

}  // namespace tandem::data
