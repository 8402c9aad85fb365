// Small data sets in their published forms, and checks of the messages that refuse them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/error.hpp"

namespace tandem::testing {

void write_bytes(const std::string& path, const std::string& bytes);
std::string read_bytes(const std::string& path);
std::vector<std::string> names_in(const std::string& folder);

// The bytes of hexadecimal digits.
std::string from_hex(const std::string& hex);
std::string gzip(const std::string& bytes);
// A ustar member (header, content, padding) of `type`; an archive ends with 1,024 zero bytes.
std::string tar_member(const std::string& name, const std::string& content, char type = '0');
std::string tar_end();

// CIFAR-10's seven files: `images` records in each batch, image i of file f has label (i + f) % 10
// and pixels that differ from all others.
std::vector<std::pair<std::string, std::string>> cifar10_files(int images);
void write_cifar10(const std::string& folder, int images);

// An IDX file of uint8 values.
std::string idx(const std::vector<std::uint32_t>& dimensions, const std::string& values);
// MNIST's four files: `train` and `test` images of 28 x 28; image i has label i % 10.
std::vector<std::pair<std::string, std::string>> mnist_files(int train, int test);
void write_mnist(const std::string& folder, int train, int test);

// A PNG file of gray (1) or colored (3) pixels of 8 bits, rows of interleaved values.
std::string png(int height, int width, int channels, const std::string& values);
// One whose header claims more than its few bytes can hold.
std::string png_claiming(std::uint32_t height, std::uint32_t width);

// A .npy file: `type` is numpy's descr, `shape` such as "(3, 4)".
std::string npy(const std::string& type, const std::string& shape, const std::string& values);
// A zip archive of (name, content), as numpy.savez and savez_compressed write it.
std::string zip(const std::vector<std::pair<std::string, std::string>>& members,
                bool deflated = false);

// Expects that `action` throws an Error of `code` whose message holds every one of `parts`.
void expect_error(ExitCode code, const std::vector<std::string>& parts,
                  const std::function<void()>& action);

}  // namespace tandem::testing
