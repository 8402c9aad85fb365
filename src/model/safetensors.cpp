#include "tandem/model/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "safetensors_header.hpp"
#include "safetensors_seal.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"

namespace tandem::model {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the format and this code are little-endian");

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the limit of the reference reader

// Where in the file each tensor's bytes go: wide elements first, so that every tensor is aligned
// for readers that map the file into memory.
std::vector<std::size_t> data_order(const std::vector<NamedTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&tensors](std::size_t a, std::size_t b) {
    return tensors[a].tensor.element_size() > tensors[b].tensor.element_size();
  });
  return order;
}

std::string dump(const Json& header) {
  try {
    return header.dump();
  } catch (const Json::type_error& error) {
    throw InternalError(std::string("safetensors: a name or metadata is not UTF-8: ") +
                        error.what());
  }
}

std::string make_header(const std::vector<NamedTensor>& tensors,
                        const std::vector<std::size_t>& order,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::uint64_t> begins(tensors.size());
  std::uint64_t offset = 0;
  for (const std::size_t i : order) {
    begins[i] = offset;
    offset += tensors[i].tensor.nbytes();
  }

  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor, is_buffer] = tensors[i];
    const char* dtype = safetensors_dtype_name(tensor.scalar_type());
    if (dtype == nullptr || name == "__metadata__" || header.contains(name)) {
      throw InternalError("safetensors: tensor '" + name +
                          "' has a name or type that cannot be written");
    }
    header[name] = {{"dtype", dtype},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {begins[i], begins[i] + tensor.nbytes()}}};
  }
  std::string text = dump(header);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  return text;
}

std::string read_header_text(const File& file, std::uint64_t file_bytes) {
  std::uint64_t length = 0;
  if (file.read_at(0, &length, sizeof length) != sizeof length) {
    throw DataError(file.path() + ": found " + std::to_string(file_bytes) +
                    " bytes, expected a safetensors file; it is damaged, get it anew");
  }
  if (std::memcmp(&length, "PK\x03\x04", 4) == 0) {
    throw DataError(file.path() +
                    ": is a zip archive such as PyTorch's .pth, which is never loaded; give the "
                    "run folder or its model/model.safetensors");
  }
  if (length > std::min(file_bytes - kLengthBytes, kMostHeaderBytes)) {
    throw DataError(file.path() + ": found a header length of " + std::to_string(length) +
                    " bytes at offset 0, expected at most " +
                    std::to_string(std::min(file_bytes - kLengthBytes, kMostHeaderBytes)) +
                    "; the file is damaged or not safetensors, get it anew");
  }
  std::string text(length, '\0');
  if (file.read_at(kLengthBytes, text.data(), text.size()) != text.size() || text.empty() ||
      text.front() != '{') {
    throw DataError(file.path() +
                    ": found no '{' at offset 8, expected a safetensors header; the file is "
                    "damaged or not safetensors, get it anew");
  }
  return text;
}

torch::Tensor read_tensor(const File& file, const SafetensorsEntry& entry, std::uint64_t data_at) {
  torch::Tensor tensor = torch::empty(entry.shape, entry.type);
  auto* bytes = static_cast<unsigned char*>(tensor.data_ptr());
  const std::size_t got = file.read_at(data_at + entry.begin, bytes, tensor.nbytes());
  if (got != tensor.nbytes()) {
    throw DataError(file.path() + ": tensor '" + entry.name + "': found " + std::to_string(got) +
                    " bytes, expected " + std::to_string(tensor.nbytes()) +
                    "; the file became shorter while it was read");
  }
  // Any other byte in a bool is undefined behaviour.
  if (entry.type == torch::kBool &&
      std::any_of(bytes, bytes + got, [](unsigned char byte) { return byte > 1; })) {
    throw DataError(file.path() + ": tensor '" + entry.name +
                    "': found a BOOL other than 0 and 1; the file is damaged, get it anew");
  }
  return tensor;
}

}  // namespace

void write_safetensors(const std::string& path, std::vector<NamedTensor> tensors,
                       std::map<std::string, std::string> metadata) {
  for (NamedTensor& each : tensors) each.tensor = each.tensor.detach().cpu().contiguous();
  add_unsealed_digests(metadata, tensors);
  const std::vector<std::size_t> order = data_order(tensors);
  const std::string header = make_header(tensors, order, metadata);
  const std::uint64_t length = header.size();

  AtomicFile file(path);
  Sha256 digest;
  const auto write = [&](const void* data, std::size_t bytes) {
    digest.update(data, bytes);
    file.file().write(data, bytes);
  };
  write(&length, sizeof length);
  write(header.data(), header.size());
  for (const std::size_t i : order) {
    write(tensors[i].tensor.data_ptr(), tensors[i].tensor.nbytes());
  }
  const std::string seal = digest.finish();
  file.file().write_at(kLengthBytes + find_seal(header), seal.data(), seal.size());
  file.commit();
}

SafetensorsFile read_safetensors(const std::string& path) {
  const File file = File::open_for_reading(path);
  const std::uint64_t file_bytes = file.size();
  const std::string text = read_header_text(file, file_bytes);
  const std::uint64_t data_at = kLengthBytes + text.size();
  SafetensorsHeader header = parse_safetensors_header(path, text, file_bytes - data_at);

  SafetensorsFile result;
  result.sealed = verify_seal(file, text, header);
  result.metadata = std::move(header.metadata);
  for (const SafetensorsEntry& entry : header.entries) {
    result.tensors.push_back({entry.name, read_tensor(file, entry, data_at), false});
  }
  return result;
}

}  // namespace tandem::model
