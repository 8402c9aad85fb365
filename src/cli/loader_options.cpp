#include "loader_options.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxThreads = 1024;

}  // namespace

OptionSpec decode_option(const std::string& group) {
  return {
      "decode",
      "NAME",
      "exact",
      "decoding of JPEG files of a set packed with --store encoded: exact; or scaled, at 1/2, 1/4 "
      "or 1/8 of their size, which is faster for large pictures and changes pixels a little",
      group,
      kOfResult,
      {"exact", "scaled"}};
}

OptionSpec loader_threads_option(const std::string& group) {
  return {"loader-threads", "N", "1", "threads of each rank that decode and augment images", group,
          kOfExecution};
}

data::Decoding read_decoding(Options& options) {
  return options.choice("decode") == "scaled" ? data::Decoding::kScaled : data::Decoding::kExact;
}

int read_loader_threads(Options& options) {
  return static_cast<int>(options.count("loader-threads", 1, kMaxThreads));
}

}  // namespace tandem::app
