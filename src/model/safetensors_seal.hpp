// The digests of a safetensors file within the file itself. Throws DataError (damaged), IoError.
//
// The format allows no bytes after the tensors, so the digests are in "__metadata__":
//   sha256  of the whole file, with these 64 digits themselves taken as '0'
//   hash64  of each tensor's bytes (core/digest.hpp), as JSON, to name what is damaged
#pragma once

#include <map>
#include <string>
#include <vector>

#include "safetensors_header.hpp"
#include "tandem/model/state_dict.hpp"

namespace tandem::model {

using Metadata = std::map<std::string, std::string>;

// Adds both fields to the metadata of `tensors`, row-major and on the CPU, in any order; sha256 is
// still all zeros.
void add_unsealed_digests(Metadata& metadata, const std::vector<NamedTensor>& tensors);

// The offset of the digits of sha256 in `header_text`; npos if absent.
std::size_t find_seal(const std::string& header_text);

// Throws if header and tensors do not match the seal. Returns whether there is a seal, and removes
// the two fields from `header`. `tensors` are those of header.entries, in their order.
bool verify_seal(const std::string& path, const std::string& header_text, SafetensorsHeader& header,
                 const std::vector<NamedTensor>& tensors);

}  // namespace tandem::model
