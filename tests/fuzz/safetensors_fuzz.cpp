// A safetensors file: length, header (first part of the input) and tensors (second part), with our
// digests or without.
#include <cstring>

#include "input.hpp"
#include "memory_file.hpp"
#include "model/safetensors_seal.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/model/safetensors.hpp"
#include "target.hpp"

using namespace tandem;

namespace {

void make_seal_right(std::string& file) {
  constexpr std::size_t kDigits = 64;
  const std::size_t at = model::find_seal(file);
  if (at == std::string::npos || at + kDigits > file.size()) return;
  file.replace(at, kDigits, kDigits, '0');
  file.replace(at, kDigits, sha256_hex(file));
}

std::string make_file(std::string_view input) {
  const unsigned flags = fuzz::take_flags(input);
  const auto parts = fuzz::split_files(input, 2);
  std::string file;
  if (flags & fuzz::kLength) {
    const std::uint64_t length = parts[0].size();
    file.assign(reinterpret_cast<const char*>(&length), sizeof length);
  }
  file += parts[0];
  file += flags & fuzz::kZeroRuns ? fuzz::expand_zero_runs(parts[1]) : std::string(parts[1]);
  if (flags & fuzz::kSeal) make_seal_right(file);
  return file;
}

void read(const std::string& path, const std::string& content) {
  const model::SafetensorsFile file = model::read_safetensors(path);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, content.data(), sizeof bytes);  // the length of the header
  bytes += sizeof bytes;
  for (const model::NamedTensor& each : file.tensors) {
    fuzz::require(each.tensor.is_contiguous(), "every tensor is contiguous");
    bytes += each.tensor.nbytes();
  }
  fuzz::require(bytes == content.size(), "header and tensors are the whole file");
  fuzz::require(!file.sealed || file.metadata.count("sha256") == 0, "no digest in the metadata");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile memory;
  const std::string file = make_file(fuzz::as_text(data, size));
  memory.write(file);
  fuzz::read_or_refuse([&file] { read(memory.path(), file); });
  return 0;
}
