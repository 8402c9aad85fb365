// A data set of PNG and JPEG files, with a folder for each class. Pictures are decoded on request,
// on several threads of its own. One thread per object. Throws MissingInputError, IoError,
// UsageError; DataError naming the file.
//
// The layout is FOLDER/train/CLASS/… and FOLDER/test/CLASS/… (or val instead of test), or
// FOLDER/CLASS/…; then a share becomes the test set. Classes are numbered by the byte order of
// their names. fit_picture() makes the images. source_sha256 is the SHA-256 of the output of
// sha256sum for all files, by paths relative to FOLDER, sorted by bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tandem/data/image_source.hpp"

namespace tandem::data {

struct ImageFolderOptions {
  int height = 0;          // 0: that of all pictures, which then must be the same
  int width = 0;           // likewise
  int channels = 0;        // 0: 1 where every picture is gray, else 3
  double test_split = 0;   // share of each class that becomes the test set; 0: there is one already
  std::uint64_t seed = 0;  // decides which
  int threads = 1;
  std::function<void()> check = [] {};  // called between files; throws to end the work
};

// True where a folder in `path`, or in `path`/train, holds a picture.
bool looks_like_image_folder(const std::string& path);

// Looks at the header of every file, so that a file that is no picture is named at once.
std::unique_ptr<ImageSource> open_image_folder(const std::string& path,
                                               const ImageFolderOptions& options);

}  // namespace tandem::data
