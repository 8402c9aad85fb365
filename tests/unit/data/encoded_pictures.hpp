// Folders of pictures, the content of packed files of version 2, and files that were changed and
// sealed again. Throws what reading throws.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/data/dataset_info.hpp"
#include "tandem/data/images_view.hpp"

namespace tandem::testing {

// `classes` folders "class000", …, each with `count` pictures of several sizes, PNG and JPEG, no
// two alike.
void write_pictures(const std::string& folder, int classes, int count);

// Everything in a packed file, with every picture decoded; by split.
struct AllOf {
  data::DatasetInfo info;
  std::array<std::vector<std::uint8_t>, 2> bytes;
  std::array<std::vector<data::PicturePlace>, 2> places;
  std::array<std::vector<data::Label>, 2> labels;
  std::array<std::vector<std::uint8_t>, 2> images;

  std::string file(std::size_t split, std::size_t image) const;
  std::vector<std::uint8_t> pixels(std::size_t split, std::size_t image) const;
};
AllOf all_of(const std::string& path);

// Little-endian.
std::uint64_t number_at(const std::string& bytes, std::size_t at, std::size_t count);
void put_number(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t count);

// A file of version 2 whose table, at its end, was changed: with a user block that fits.
std::string with_user_block(std::string bytes);
// One whose blocks were changed: with a table and a user block that fit.
std::string resealed(std::string bytes);

}  // namespace tandem::testing
