#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

std::string Communicator::broadcast_string(std::string text, int root) {
  auto length = static_cast<std::uint64_t>(text.size());
  broadcast(Span<std::uint64_t>(&length, 1), root);
  text.resize(length);
  broadcast(Span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(text.data()), text.size()), root);
  return text;
}

std::vector<std::string> Communicator::gather_strings(const std::string& text) {
  const auto bytes_of = all_gather(static_cast<std::int64_t>(text.size()));
  const std::vector<char> all = gather(std::vector<char>(text.begin(), text.end()), bytes_of);
  std::vector<std::string> texts;
  if (rank() != 0) return texts;
  auto at = all.begin();
  for (const std::int64_t bytes : bytes_of) {
    texts.emplace_back(at, at + bytes);
    at += bytes;
  }
  return texts;
}

}  // namespace tandem::comm
