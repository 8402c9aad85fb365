#include "reading_options.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxMb = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxLanes = 65536;
constexpr unsigned kMiBShift = 20;

}  // namespace

OptionSpec cache_option(const std::string& group) {
  return {"cache-mb",
          "M",
          "",
          "memory of a host for picture files, in MiB; if they are more, they are read from the "
          "file as they are needed; if not given: all where they fit, else half of what is free",
          group,
          kOfPlacement};
}

OptionSpec read_lanes_option(const std::string& group) {
  OptionSpec spec{
      "read-lanes",
      "L",
      "64",
      "lanes to which each epoch deals the blocks of picture files; a global batch takes "
      "an equal share of each; 0: shuffle the set as a whole, which must fit into memory",
      group,
      kOfResult};
  spec.earlier_value = "0";
  return spec;
}

OptionSpec shuffle_option(const std::string& group) {
  return {
      "shuffle-mb", "M",
      "256",        "picture files over which a block's pictures are spread, in MiB of all lanes",
      group,        kOfResult};
}

std::uint64_t read_cache_option(Options& options) {
  return options.is_set("cache-mb") ? options.count("cache-mb", 1, kMaxMb) << kMiBShift : 0;
}

void read_reading_options(Options& options, train::ReadingOptions& reading) {
  reading.cache_bytes = read_cache_option(options);
  reading.lanes = options.count("read-lanes", 0, kMaxLanes);
  reading.shuffle_bytes = options.count("shuffle-mb", 1, kMaxMb) << kMiBShift;
}

}  // namespace tandem::app
