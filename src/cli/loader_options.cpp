#include "loader_options.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxThreads = 1024;
constexpr std::uint64_t kMaxMb = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxLanes = 65536;
constexpr unsigned kMiBShift = 20;

}  // namespace

OptionSpec decode_option() {
  return {
      "decode",
      "NAME",
      "exact",
      "decoding of JPEG files of a set packed with --store encoded: exact; or scaled, at 1/2, 1/4 "
      "or 1/8 of their size, which is faster for large pictures and changes pixels a little",
      "what to train",
      kOfPictures,
      {"exact", "scaled"}};
}

OptionSpec eval_crop_option() {
  return {
      "eval-crop",
      "NAME",
      "none",
      "evaluation of a set packed with --store encoded: none, whole pictures, resized without "
      "keeping proportions; or center, a center crop as in torchvision's evaluation of ImageNet",
      "what to train",
      kOfPictures,
      {"none", "center"}};
}

OptionSpec loader_threads_option() {
  return {"loader-threads", "N",         "1", "threads of each rank that decode and augment images",
          "execution",      kOfExecution};
}

data::Decoding read_decoding(Options& options) {
  return options.choice("decode") == "scaled" ? data::Decoding::kScaled : data::Decoding::kExact;
}

data::Fit read_eval_crop(Options& options) {
  return options.choice("eval-crop") == "center" ? data::Fit::kCenterCrop : data::Fit::kStretch;
}

int read_loader_threads(Options& options) {
  return static_cast<int>(options.count("loader-threads", 1, kMaxThreads));
}

OptionSpec cache_option() {
  return {"cache-mb",
          "M",
          "",
          "memory of a host for picture files, in MiB; a larger set is read from the file during "
          "training; if not given: the whole set if it fits, else half of the free memory",
          "batch",
          kOfPlacement};
}

OptionSpec read_lanes_option() {
  OptionSpec spec{
      "read-lanes",
      "L",
      "64",
      "sequences of blocks of picture files that are read side by side; a global batch takes an "
      "equal share of each; 0: shuffle the set as a whole, which must fit into memory",
      "batch",
      kOfPictures};
  spec.earlier_value = "0";
  return spec;
}

OptionSpec shuffle_option() {
  return {"shuffle-mb", "M",
          "256",        "shuffle window for picture files, in MiB for all lanes together",
          "batch",      kOfPictures};
}

OptionSpec stage_option() {
  return {"stage",
          "DIR",
          "",
          "folder on a disk of each host for a copy of picture files that do not fit into memory; "
          "the copy has no name and ends with the job",
          "batch",
          kOfPlacement};
}

std::vector<std::string> describe_unused_by_pixels(const Options& options) {
  std::vector<std::string> sentences;
  for (const char* name : {"decode", "cache-mb", "read-lanes", "shuffle-mb", "stage"}) {
    if (options.value(name).origin != Origin::kCommandLine) continue;
    sentences.push_back("--" + std::string(name) + " has no effect on " + options.text("data") +
                        ", which has pixels of one size; leave it out, or pack with --store "
                        "encoded");
  }
  return sentences;
}

std::uint64_t read_cache_option(Options& options) {
  return options.is_set("cache-mb") ? options.count("cache-mb", 1, kMaxMb) << kMiBShift : 0;
}

void read_reading_options(Options& options, train::ReadingOptions& reading) {
  reading.cache_bytes = read_cache_option(options);
  reading.lanes = options.count("read-lanes", 0, kMaxLanes);
  reading.shuffle_bytes = options.count("shuffle-mb", 1, kMaxMb) << kMiBShift;
  reading.stage = options.text("stage");
}

}  // namespace tandem::app
