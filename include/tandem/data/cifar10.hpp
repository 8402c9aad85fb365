// What: CIFAR-10 in its published binary form: five files of training images and one of test
// images, records of a label byte and 3x32x32 pixels, in a folder or in the published archive.
// Owns: the files' content (184 MB) as long as the source lives. Threads: one per object.
// Throws: MissingInputError, IoError; DataError naming file, offset, found and expected.
//
// source_sha256 is the SHA-256 of what `sha256sum batches.meta.txt data_batch_?.bin test_batch.bin`
// prints, so that folder and archive of the same files give the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/data/image_source.hpp"

namespace tandem::data {

constexpr std::uint64_t kCifar10ImagesPerFile = 10'000;

// True for a folder that holds CIFAR-10 in the binary or the Python form, or a subfolder by its
// published name that does, and for gzip data.
bool looks_like_cifar10(const std::string& path);

// `path`: the folder cifar-10-batches-bin, the folder around it, or cifar-10-binary.tar.gz. The
// Python (pickle) form is refused with the command that converts it. Files of another number of
// images are for tests.
std::unique_ptr<ImageSource> open_cifar10(const std::string& path,
                                          std::uint64_t images_per_file = kCifar10ImagesPerFile);

}  // namespace tandem::data
