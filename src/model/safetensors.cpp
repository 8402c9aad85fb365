#include "tandem/model/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "safetensors_header.hpp"
#include "safetensors_seal.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::model {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference reader
constexpr std::size_t kPiece = std::size_t{16} << 20;   // bytes between two touches

std::string read_header_text(const File& file, std::uint64_t file_bytes) {
  std::uint64_t length = 0;
  if (file.read_at(0, &length, sizeof length) != sizeof length) {
    throw DataError(file.path() + ": found " + std::to_string(file_bytes) +
                    " bytes, expected a safetensors file; it is damaged, fetch it again");
  }
  if (std::memcmp(&length, "PK\x03\x04", 4) == 0) {
    throw DataError(file.path() +
                    ": is a zip archive such as PyTorch's .pth, which is never loaded; give the "
                    "run folder or its model/model.safetensors");
  }
  if (std::memcmp(&length, "tandem-d", sizeof length) == 0 ||
      std::memcmp(&length, "\x89HDF\r\n\x1a\n", sizeof length) == 0) {
    throw DataError(file.path() +
                    ": is a packed data set, a model was expected; give the run folder or its "
                    "model/model.safetensors");
  }
  if (std::memcmp(&length, "step-000", sizeof length) == 0) {
    throw DataError(file.path() +
                    ": holds the name of a checkpoint; give that checkpoint, or the run folder");
  }
  if (length > std::min(file_bytes - kLengthBytes, kMaxHeaderBytes)) {
    throw DataError(file.path() + ": is damaged or not safetensors: found a header length of " +
                    std::to_string(length) + " bytes at offset 0, expected at most " +
                    std::to_string(std::min(file_bytes - kLengthBytes, kMaxHeaderBytes)) +
                    "; give the run folder or its model/model.safetensors, or fetch it again");
  }
  std::string text(length, '\0');
  if (file.read_at(kLengthBytes, text.data(), text.size()) != text.size() || text.empty() ||
      text.front() != '{') {
    throw DataError(file.path() +
                    ": found no '{' at offset 8, expected a safetensors header; the file is "
                    "damaged or not safetensors, fetch it again");
  }
  return text;
}

torch::Tensor read_tensor(const File& file, const SafetensorsEntry& entry, std::uint64_t data_at,
                          const Touch& touch) {
  torch::Tensor tensor = torch::empty(entry.shape, entry.type);
  auto* bytes = static_cast<unsigned char*>(tensor.data_ptr());
  const std::size_t wanted = tensor.nbytes();
  std::size_t got = 0;
  for (std::size_t part = 1; got < wanted && part > 0; got += part) {
    part = file.read_at(data_at + entry.begin + got, bytes + got, std::min(kPiece, wanted - got));
    call(touch);
  }
  if (got != wanted) {
    throw DataError(file.path() + ": tensor '" + entry.name + "': found " + std::to_string(got) +
                    " bytes, expected " + std::to_string(wanted) +
                    "; the file became shorter while it was read");
  }
  return tensor;
}

// Any byte but 0 and 1 in a bool is undefined behavior.
void require_bools(const std::string& path, const NamedTensor& each) {
  if (each.tensor.scalar_type() != torch::kBool) return;
  const auto* bytes = static_cast<const unsigned char*>(each.tensor.data_ptr());
  if (std::any_of(bytes, bytes + each.tensor.nbytes(),
                  [](unsigned char byte) { return byte > 1; })) {
    throw DataError(path + ": tensor '" + each.name +
                    "': found a BOOL other than 0 and 1; the file is damaged, fetch it again");
  }
}

struct OpenFile {
  File file;
  std::string text;  // the header
  SafetensorsHeader header;
};

OpenFile open_safetensors(const std::string& path) {
  File file = File::open_for_reading(path);
  const std::uint64_t file_bytes = file.size();
  std::string text = read_header_text(file, file_bytes);
  SafetensorsHeader header =
      parse_safetensors_header(path, text, file_bytes - kLengthBytes - text.size());
  return {std::move(file), std::move(text), std::move(header)};
}

}  // namespace

SafetensorsFile read_safetensors(const std::string& path, const Touch& touch) {
  OpenFile open = open_safetensors(path);
  const std::uint64_t data_at = kLengthBytes + open.text.size();
  SafetensorsFile result;
  for (const SafetensorsEntry& entry : open.header.entries) {
    result.tensors.push_back({entry.name, read_tensor(open.file, entry, data_at, touch), false});
  }
  // Hashes the bytes in memory: a second read of the file might return other ones.
  result.sealed = verify_seal(path, open.text, open.header, result.tensors);
  for (const NamedTensor& each : result.tensors) require_bools(path, each);
  result.metadata = std::move(open.header.metadata);
  return result;
}

std::map<std::string, std::string> read_safetensors_metadata(const std::string& path) {
  return open_safetensors(path).header.metadata;
}

}  // namespace tandem::model
