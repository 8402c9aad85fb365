#include "tandem/comm/communicator.hpp"

#include <numeric>

namespace tandem::comm {

std::string Communicator::broadcast_string(std::string text, int root) {
  auto length = static_cast<std::uint64_t>(text.size());
  broadcast(Span<std::uint64_t>(&length, 1), root);
  text.resize(length);
  broadcast(Span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(text.data()), text.size()), root);
  return text;
}

std::vector<std::string> Communicator::gather_strings(const std::string& text) {
  std::vector<std::int64_t> bytes_of(static_cast<std::size_t>(size()), 0);
  bytes_of[static_cast<std::size_t>(rank())] = static_cast<std::int64_t>(text.size());
  all_reduce(Span<std::int64_t>(bytes_of));
  const auto total = std::accumulate(bytes_of.begin(), bytes_of.end(), std::int64_t{0});
  std::string all(rank() == 0 ? static_cast<std::size_t>(total) : 0, '\0');
  do_gather(text.data(), text.size(), all.data(), bytes_of);
  std::vector<std::string> texts;
  if (rank() != 0) return texts;
  std::size_t at = 0;
  for (const std::int64_t bytes : bytes_of) {
    texts.push_back(all.substr(at, static_cast<std::size_t>(bytes)));
    at += static_cast<std::size_t>(bytes);
  }
  return texts;
}

}  // namespace tandem::comm
