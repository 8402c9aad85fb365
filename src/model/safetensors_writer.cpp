#include <algorithm>
#include <cstring>
#include <numeric>

#include "safetensors_header.hpp"
#include "safetensors_seal.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/model/safetensors.hpp"

namespace tandem::model {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the format and this code are little-endian");

constexpr std::size_t kReadBackBytes = std::size_t{1} << 20;

// The order of the tensors' bytes in the file: wide elements first, so that every tensor is aligned
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

// Refuses to write a file that the reader would refuse.
void require_readable(const std::string& path, const std::string& header, std::uint64_t bytes) {
  try {
    parse_safetensors_header(path, header, bytes);
  } catch (const DataError& error) {
    throw InternalError(std::string("safetensors: the header could not be read again: ") +
                        error.what());
  }
}

// IoError unless the file holds these bytes there.
void require_bytes(const File& file, std::uint64_t offset, const void* expected, std::size_t bytes,
                   const std::string& what, const Touch& touch) {
  std::vector<char> found(std::min(bytes, kReadBackBytes));
  for (std::size_t at = 0; at < bytes; at += found.size()) {
    const std::size_t part = std::min(found.size(), bytes - at);
    if (file.read_at(offset + at, found.data(), part) != part ||
        std::memcmp(found.data(), static_cast<const char*>(expected) + at, part) != 0) {
      throw IoError(file.path() + ": " + what +
                    " reads back with other bytes than were written, by the disk or the memory of "
                    "this host");
    }
    call(touch);
  }
}

}  // namespace

void write_safetensors(const std::string& path, std::vector<NamedTensor> tensors,
                       std::map<std::string, std::string> metadata, const Touch& touch) {
  for (NamedTensor& each : tensors) each.tensor = each.tensor.detach().cpu().contiguous();
  add_unsealed_digests(metadata, tensors);
  const std::vector<std::size_t> order = data_order(tensors);
  std::string header = make_header(tensors, order, metadata);
  const std::uint64_t length = header.size();
  std::uint64_t bytes = 0;
  for (const NamedTensor& each : tensors) bytes += each.tensor.nbytes();
  require_readable(path, header, bytes);

  AtomicFile file(path);
  Sha256 digest;
  const auto write = [&](const void* data, std::size_t size) {
    file.file().write_through(data, size, touch);
    digest.update(data, size);
  };
  write(&length, sizeof length);
  write(header.data(), header.size());
  for (const std::size_t i : order) {
    write(tensors[i].tensor.data_ptr(), tensors[i].tensor.nbytes());
  }
  const std::string seal = digest.finish();
  header.replace(find_seal(header), seal.size(), seal);
  file.file().write_at(kLengthBytes, header.data(), header.size());
  // Read back before the rename, so that an existing file stays if this fails. From the disk, if
  // the system can, and compared with memory: a digest of that memory would prove no more.
  file.file().sync();
  file.file().forget_cached();
  require_bytes(file.file(), 0, &length, sizeof length, "the header", touch);
  require_bytes(file.file(), kLengthBytes, header.data(), header.size(), "the header", touch);
  std::uint64_t offset = kLengthBytes + length;
  for (const std::size_t i : order) {
    const auto& [name, tensor, is_buffer] = tensors[i];
    require_bytes(file.file(), offset, tensor.data_ptr(), tensor.nbytes(), "tensor '" + name + "'",
                  touch);
    offset += tensor.nbytes();
  }
  file.commit();
}

}  // namespace tandem::model
