// Finds the pictures of each class and split in a folder, by names only. Throws MissingInputError,
// IoError; UsageError if the test set is there twice; DataError naming a folder that does not fit
// the layout; errors of `between`. Other faults are returned, so that all can be named at once.
//
// The layout is FOLDER/train/CLASS/… and FOLDER/test/CLASS/… (or val instead of test), or
// FOLDER/CLASS/…; then a share becomes the test set. Classes are numbered by the byte order of
// their names. Only names that begin with a dot and files of file managers are ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/pictures/broken_files.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

struct PictureFile {
  std::string path;
  Label label = 0;
};

struct ClassFolders {
  std::vector<std::string> classes;
  std::vector<PictureFile> train;
  std::vector<PictureFile> test;  // empty: a part of `train` is to become the test set
  // Files that are no pictures by name or place, and folders of classes without a picture.
  BrokenFiles broken;
  std::string usage_fault;  // not empty: the message that --test-split is missing
};

// `path` without slashes at its end; DataError if it is not a folder.
std::string root_of_class_folders(std::string path);

// True if a folder in `path` holds a picture at any depth. An unreadable folder holds none.
bool holds_class_folders(const std::string& path);

// Labels of more classes do not fit a byte.
constexpr std::size_t kMaxByteClasses = 256;

// `between` is called before each folder of a class. DataError for more than kMaxClasses folders.
ClassFolders find_class_folders(const std::string& root, bool splits_off_test,
                                const std::function<void()>& between);

}  // namespace tandem::data
