// Reads a data set from an .npz file of numpy.savez or savez_compressed. Holds the uncompressed
// arrays in memory. One thread per object. Throws MissingInputError, IoError, UsageError; DataError
// naming file and array, found and expected.
//
// Array names: train_images, train_labels, test_images, test_labels (as in MedMNIST); or x_train,
// y_train, x_test, y_test (as in Keras); or images and labels. Without test arrays a share of the
// images becomes the test set. Other arrays are ignored. Images are uint8 [N, H, W], [N, H, W, C]
// or [N, C, H, W] with 1 or 3 channels, labels are integers [N] or [N, 1] from 0. source_sha256 is
// the SHA-256 of the output of sha256sum for the .npy members, in the order above.
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
