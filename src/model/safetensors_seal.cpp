#include "safetensors_seal.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string_view>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"

namespace tandem::model {
namespace {

constexpr char kFileDigest[] = "sha256";
constexpr char kTensorDigests[] = "hash64";
constexpr std::size_t kDigits = 64;

std::string hex_of(const void* data, std::size_t bytes) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash64(data, bytes)));
  return text;
}

// "tensor 'conv1.weight' is damaged", according to the tensors' own digests. Their text is compared
// with the expected text instead of being parsed: the file is untrusted here, and a parser can use
// a hundred bytes of memory for each of its bytes.
std::string describe_damage(const SafetensorsHeader& header,
                            const std::vector<NamedTensor>& tensors) {
  std::string_view digests = header.metadata.at(kTensorDigests);
  const auto skip = [&digests](std::size_t bytes) {
    digests.remove_prefix(std::min(bytes, digests.size()));
  };
  skip(1);                                   // {
  for (const NamedTensor& each : tensors) {  // the digests have the same order
    const std::string digest =
        Json(each.name).dump() + ":\"" + hex_of(each.tensor.data_ptr(), each.tensor.nbytes()) + '"';
    if (digests.substr(0, digest.size()) != digest) return "tensor '" + each.name + "' is damaged";
    skip(digest.size() + 1);  // and the comma
  }
  return "its header is damaged";
}

// Digest of the tensors' bytes in the order of the file, which they cover without holes.
std::string digest_of(Sha256 digest, const SafetensorsHeader& header,
                      const std::vector<NamedTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return header.entries[a].begin < header.entries[b].begin;
  });
  for (const std::size_t i : order) {
    digest.update(tensors[i].tensor.data_ptr(), tensors[i].tensor.nbytes());
  }
  return digest.finish();
}

}  // namespace

void add_unsealed_digests(Metadata& metadata, const std::vector<NamedTensor>& tensors) {
  Json digests = Json::object();
  for (const NamedTensor& each : tensors) {
    digests[each.name] = hex_of(each.tensor.data_ptr(), each.tensor.nbytes());
  }
  metadata[kTensorDigests] = dump_any_bytes(digests);  // names are checked later
  metadata[kFileDigest] = std::string(kDigits, '0');
}

std::size_t find_seal(const std::string& header_text) {
  // Within a string of the header a quote is escaped, so this cannot be part of one.
  const std::string key = std::string("\"") + kFileDigest + "\":\"";
  const std::size_t at = header_text.find(key);
  return at == std::string::npos ? at : at + key.size();
}

bool verify_seal(const std::string& path, const std::string& header_text, SafetensorsHeader& header,
                 const std::vector<NamedTensor>& tensors) {
  const auto sealed = header.metadata.find(kFileDigest);
  if (sealed == header.metadata.end()) {
    if (header.metadata.count(kTensorDigests) == 0) return false;
    throw DataError(path + ": has digests of tensors, and '" + kFileDigest +
                    "' of the file is missing; the file is damaged, fetch it again");
  }
  const std::size_t at = find_seal(header_text);
  const bool well_formed = at != std::string::npos && at + kDigits <= header_text.size() &&
                           header_text.compare(at, kDigits, sealed->second) == 0 &&
                           header.metadata.count(kTensorDigests) > 0;
  if (!well_formed) {
    throw DataError(
        path + ": its digests are not as tandem writes them; the file is damaged, fetch it again");
  }
  std::string zeroed = header_text;
  zeroed.replace(at, kDigits, kDigits, '0');
  const std::uint64_t length = header_text.size();
  Sha256 digest;
  digest.update(&length, sizeof length);
  digest.update(zeroed.data(), zeroed.size());
  const std::string found = digest_of(std::move(digest), header, tensors);
  if (found != sealed->second) {
    throw DataError(path + ": " + describe_damage(header, tensors) + ": found SHA-256 " + found +
                    ", expected " + sealed->second +
                    "; fetch it again, or take another checkpoint of the run");
  }
  header.metadata.erase(kFileDigest);
  header.metadata.erase(kTensorDigests);
  return true;
}

}  // namespace tandem::model
