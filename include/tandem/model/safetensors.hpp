// What: reads and writes safetensors files: an 8-byte little-endian length, a JSON header of that
// length, then the tensors' bytes without holes (https://github.com/huggingface/safetensors).
// Owns: nothing. Threads: any.
// Throws: DataError (a file that is not exactly that), MissingInputError, CannotCreateError,
// IoError.
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
// BF16, I64, I32, I16, I8, U8 or BOOL on any device. Appears under `path` only when it is complete,
// durable and read back: IoError where it holds other bytes than these, and a file that had the
// name stays. Equal content gives equal bytes. The metadata gets a digest of the file and one of
// each tensor (docs/formats.md). `touch`: as bytes reach the disk and come back.
void write_safetensors(const std::string& path, std::vector<NamedTensor> tensors,
                       std::map<std::string, std::string> metadata = {}, const Touch& touch = {});

// New tensors on the CPU. A file that carries its digest is proven by it: by what was read, not by
// a second look. Nothing that the file claims is believed before it is checked against the file's
// size, so a damaged or hostile file takes no more memory than its own size (the header, a small
// multiple of its own). `touch`: as it is read.
SafetensorsFile read_safetensors(const std::string& path, const Touch& touch = {});

// "__metadata__" alone, with our digests, from a header that is well-formed. Proves nothing.
std::map<std::string, std::string> read_safetensors_metadata(const std::string& path);

}  // namespace tandem::model
