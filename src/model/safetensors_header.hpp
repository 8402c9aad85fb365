// The JSON header of a safetensors file, completely checked. Throws DataError.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tandem/model/libtorch.hpp"

namespace tandem::model {

// Bytes of the length field before the header.
constexpr std::uint64_t kLengthBytes = 8;

// "F32" for torch::kFloat32; nullptr for a type without an allowed name.
const char* safetensors_dtype_name(torch::ScalarType type);

struct SafetensorsEntry {
  std::string name;
  torch::ScalarType type = torch::kFloat32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // of its bytes, counted from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the JSON text
  std::map<std::string, std::string> metadata;
};

// Accepts exactly the format's grammar: no other keys, none twice, allowed dtypes, sizes that
// follow from dtype and shape, and tensors that cover `data_bytes` bytes without hole or overlap.
// `path` names the file in messages.
SafetensorsHeader parse_safetensors_header(const std::string& path, const std::string& json,
                                           std::uint64_t data_bytes);

}  // namespace tandem::model
