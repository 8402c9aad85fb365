// What: which files in a folder are pictures of which class and split, judged by names alone.
// Owns: values. Threads: any. Throws: MissingInputError, IoError; UsageError for a test set that is
// missing or there twice; DataError naming what has no place in the layout; what `between` throws.
//
// FOLDER/train/CLASS/… and FOLDER/test/CLASS/… (or val in place of test), or FOLDER/CLASS/… of
// which a part is to become the test set. Classes are numbered in the order of the bytes of their
// names. Nothing is passed over in silence but what begins with a dot and what file managers leave.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tandem::data {

struct PictureFile {
  std::string path;
  std::uint8_t label = 0;
};

struct ClassFolders {
  std::vector<std::string> classes;
  std::vector<PictureFile> train;
  std::vector<PictureFile> test;  // empty: a part of `train` is to become the test set
};

// True where a folder in `path` holds a picture at any depth. One that cannot be looked into holds
// none.
bool holds_class_folders(const std::string& path);

// `between` is called before each folder of a class.
ClassFolders find_class_folders(const std::string& root, bool splits_off_test,
                                const std::function<void()>& between);

}  // namespace tandem::data
