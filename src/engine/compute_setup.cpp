#include "compute_setup.hpp"

namespace tandem::app {
namespace {

constexpr char kRanks[] = "world_size";
constexpr char kThreads[] = "threads";
constexpr char kDevice[] = "device";
constexpr char kBackend[] = "backend";
constexpr char kAlgorithm[] = "all_reduce";
constexpr char kEarlierAlgorithm[] = "sum_algorithm";  // of checkpoints until 2026-11-25
constexpr char kGradients[] = "grad_dtype";
constexpr char kConvolution[] = "convolution";

// "; 1 rank then, 2 now"; "" where that did not change or is not known.
std::string change(const std::map<std::string, std::string>& metadata, const char* key,
                   const std::string& now, const std::string& unit = "",
                   const std::string& units = "") {
  const auto found = metadata.find(key);
  if (found == metadata.end() || found->second == now) return "";
  const std::string& before = found->second;
  const std::string& what = before == "1" ? unit : units;
  return "; " + before + what + " then, " + now + " now";
}

std::string change_of_convolutions(std::map<std::string, std::string> metadata,
                                   const ComputeSetup& now) {
  if (now.device != "cpu") return "";
  metadata.emplace(kConvolution, "direct");  // checkpoints until 2026-11-26 have none
  return change(metadata, kConvolution, now.convolution, "", " convolution");
}

}  // namespace

std::map<std::string, std::string> ComputeSetup::to_metadata() const {
  return {{kRanks, std::to_string(ranks)},
          {kThreads, std::to_string(threads)},
          {kDevice, device},
          {kBackend, backend},
          {kAlgorithm, algorithm + " sums"},
          {kGradients, gradients + " gradients"},
          {kConvolution, convolution}};
}

std::string describe_change(const std::map<std::string, std::string>& metadata,
                            const ComputeSetup& now, std::uint64_t global_batch) {
  const std::string ranks = change(metadata, kRanks, std::to_string(now.ranks), " rank", " ranks");
  const std::string threads = change(metadata, kThreads, std::to_string(now.threads),
                                     " thread per rank", " threads per rank");
  // Another device usually has another backend, too, which is then not mentioned.
  std::string place = change(metadata, kDevice, now.device);
  if (place.empty()) place = change(metadata, kBackend, now.backend);
  const char* algorithm = metadata.count(kAlgorithm) > 0 ? kAlgorithm : kEarlierAlgorithm;
  const std::string sums = change(metadata, algorithm, now.algorithm + " sums") +
                           change(metadata, kGradients, now.gradients + " gradients") +
                           change_of_convolutions(metadata, now);
  const std::string changes = ranks + threads + place + sums;
  if (changes.empty()) return "";
  const bool same_bits = now.are_virtual && threads.empty() && place.empty() && sums.empty();
  return changes.substr(2) + ": the same global batch of " + std::to_string(global_batch) +
         " and the same images in each step, " +
         (same_bits ? "and the same bits" : "sums round differently");
}

}  // namespace tandem::app
