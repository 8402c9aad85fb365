#include "tandem/core/random.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace tandem {
namespace {
constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, odd
}

std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

CounterRandom::CounterRandom(std::initializer_list<std::uint64_t> key) : state_(0) {
  for (const std::uint64_t part : key) state_ = mix64(state_ + kGoldenGamma + mix64(part));
}

std::uint64_t CounterRandom::next() {
  state_ += kGoldenGamma;
  return mix64(state_);
}

std::uint32_t CounterRandom::below(std::uint32_t bound) {
  return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
}

double CounterRandom::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double CounterRandom::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

std::vector<std::uint32_t> permutation(std::uint32_t count, std::uint64_t seed,
                                       std::uint64_t epoch) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  CounterRandom random{seed, epoch};
  for (std::uint32_t left = count; left > 1; --left) {  // Fisher-Yates
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

}  // namespace tandem
