// Reads MNIST and the sets published in its form (Fashion-MNIST, KMNIST): four IDX files, plain or
// gzip, which it holds in memory. One thread per object. Throws MissingInputError, IoError;
// DataError naming file, offset, found and expected.
//
// source_sha256 is the SHA-256 of the output of `sha256sum` for the four uncompressed files under
// the names train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte, in this order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/data/image_source.hpp"

namespace tandem::data {

// True for a folder that holds at least one of the four files, or whose subfolder `raw` does.
bool looks_like_mnist(const std::string& path);

// `path`: the folder of the four files, or the folder around a folder `raw` of them. Where a file
// is there both plain and compressed, the plain one is read. Labels must be below the number of
// `classes`; none given means the ten digits.
std::unique_ptr<ImageSource> open_mnist(const std::string& path, std::vector<std::string> classes);

}  // namespace tandem::data
