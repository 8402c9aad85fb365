// Reads and writes safetensors files: an 8-byte little-endian length, a JSON header of that length,
// then the bytes of the tensors without gaps (https://github.com/huggingface/safetensors). Throws
// DataError for any other file, MissingInputError, CannotCreateError, IoError.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tandem/core/touch.hpp"
#include "tandem/model/state_dict.hpp"

namespace tandem::model {

struct SafetensorsFile {
  // In the order of the header; is_buffer is not stored and always false.
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__", without our digests
  bool sealed = false;                          // it carries its SHA-256, and is whole
};

// Names must be unique and not "__metadata__"; strings must be UTF-8. Tensors of F64, F32, F16,
// BF16, I64, I32, I16, I8, U8 or BOOL on any device. The file appears under `path` only when it is
// complete, durable and read back. If the bytes read back differ: IoError, and an existing file
// stays. Equal content gives equal bytes. The metadata gets a digest of the file and one of each
// tensor (docs/formats.md). `touch` is called as bytes are written and read back.
void write_safetensors(const std::string& path, std::vector<NamedTensor> tensors,
                       std::map<std::string, std::string> metadata = {}, const Touch& touch = {});

// New tensors on the CPU. A digest in the file is verified against the bytes that were read, not by
// a second read. Every size in the file is checked against the file's own size first, so a damaged
// or hostile file takes no more memory than its size (the header: a small multiple of its own).
// `touch` is called as the file is read.
SafetensorsFile read_safetensors(const std::string& path, const Touch& touch = {});

// Only "__metadata__", with our digests, from a well-formed header. The digests are not verified.
std::map<std::string, std::string> read_safetensors_metadata(const std::string& path);

}  // namespace tandem::model
