// Reads CIFAR-10 and CIFAR-100 in their published binary form, from a folder or from the published
// archive. A record has one label byte (CIFAR-100: coarse, then fine) and 3x32x32 pixels. CIFAR-100
// gets its 100 fine labels. Holds one file in memory (30 or 154 MB). One thread per object. Throws
// MissingInputError, IoError; DataError naming file, offset, found and expected.
//
// source_sha256 is the SHA-256 of the output of sha256sum for batches.meta.txt, data_batch_1.bin to
// data_batch_5.bin and test_batch.bin, or for fine_label_names.txt, train.bin and test.bin. Folder
// and archive of the same files give the same value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/data/image_source.hpp"

namespace tandem::data {

constexpr std::uint64_t kCifarTestImages = 10'000;  // a fifth of the training images

// True for a folder that holds the data set in the binary or the Python form, or a subfolder by its
// published name that does. Of archives, those whose first file is of CIFAR-100 are that, and all
// other gzip data is taken for CIFAR-10, which then names what is wrong.
bool looks_like_cifar10(const std::string& path);
bool looks_like_cifar100(const std::string& path);

// `path`: the folder of the files, the folder around it, or the archive. The Python (pickle) form
// is refused with what to do instead. Other numbers of test images, with five times as many for
// training, are for tests.
std::unique_ptr<ImageSource> open_cifar10(const std::string& path,
                                          std::uint64_t test_images = kCifarTestImages);
std::unique_ptr<ImageSource> open_cifar100(const std::string& path,
                                           std::uint64_t test_images = kCifarTestImages);

}  // namespace tandem::data
