// One array of numpy's .npy form, read as a whole. Any thread may read it. Throws DataError naming
// the file, found and expected; IoError.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/byte_stream.hpp"
#include "data/files/source_file.hpp"

namespace tandem::data {

struct NpyHeader {
  std::string type;  // numpy's "descr": '|u1', '<i8', …
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;

  // Parses the dict at the start of a .npy file; `where` begins messages.
  static NpyHeader parse(std::string_view dict, const std::string& where);
};

struct NpyArray {
  NpyHeader header;
  SourceFile file;
  std::size_t data_at = 0;

  const std::uint8_t* values() const { return file.bytes.get() + data_at; }
  // "uint8 [60000, 28, 28]", as messages show it.
  std::string text() const;
};

// An array of whole numbers in C order and little-endian, or DataError. `name` is that of the
// SourceFile. `check` sees the header before the values, which may be gigabytes, are read.
NpyArray read_npy(ByteStream& stream, std::string name,
                  const std::function<void(const NpyArray&)>& check);

// A value of such an array.
std::int64_t integer_at(const NpyArray& array, std::size_t index);

}  // namespace tandem::data
