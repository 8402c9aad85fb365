// What: a data set as numpy.savez and savez_compressed write it: arrays of images and of labels in
// one .npz file. Owns: the arrays, uncompressed, as long as the source lives. Threads: one per
// object. Throws: MissingInputError, IoError, UsageError; DataError naming file and array, found
// and expected.
//
// Names of the arrays: train_images, train_labels, test_images, test_labels (as MedMNIST has them);
// or x_train, y_train, x_test, y_test (as Keras has them); or images and labels, of which a part
// becomes the test set, as where the test arrays of the others are missing. Other arrays are not
// looked at. Images are uint8 [N, H, W], [N, H, W, C] or [N, C, H, W] with 1 or 3 channels, labels
// whole numbers [N] or [N, 1] from 0 on. source_sha256 is the SHA-256 of what sha256sum prints for
// the .npy members, in the order above.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/data/image_source.hpp"

namespace tandem::data {

struct NpzOptions {
  std::vector<std::string> classes;  // none: the numbers from 0 to the largest label
  double test_split = 0;   // share of each class that becomes the test set; 0: there is one already
  std::uint64_t seed = 0;  // decides which
};

// True for a zip archive whose name ends in .npz.
bool looks_like_npz(const std::string& path);

std::unique_ptr<ImageSource> open_npz(const std::string& path, const NpzOptions& options);

}  // namespace tandem::data
