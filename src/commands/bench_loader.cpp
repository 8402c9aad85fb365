// tandem bench loader: how many images a second each rank's loader prepares while all do.
#include "bench_form.hpp"
#include "cli/execution_options.hpp"
#include "cli/loader_options.hpp"
#include "session/engine.hpp"
#include "tandem/comm/agree.hpp"

namespace tandem::app {
namespace {

LoaderRequest read_loader_request(Options& options) {
  LoaderRequest request;
  request.data = options.text("data");
  request.batch_size = options.count("batch-size", 1, std::uint64_t{1} << 20);
  request.steps = options.count("steps", 1, std::uint64_t{1} << 30);
  read_reading_options(options, request.reading);
  request.augment = options.parsed("augment", data::AugmentSpec::parse);
  request.decoding = read_decoding(options);
  request.threads = read_loader_threads(options);
  request.layout =
      options.flag("channels-last") ? data::Layout::kChannelsLast : data::Layout::kPlanar;
  request.json = options.flag("json");
  options.throw_faults("bench");
  return request;
}

int run_bench_loader(Job& job, Options& options, const std::vector<std::string>&) {
  LoaderRequest request;
  comm::agree(job.world, [&] { request = read_loader_request(options); });
  return open_engine(job).bench_loader(job, request);
}

}  // namespace

BenchForm bench_loader_form() {
  return {
      "loader",
      {{"data", "FILE.h5", "", "packed data set; without it, noise of 3x32x32 in memory", "loader"},
       {"augment", "SPEC", "standard", "none, standard (crop=4,flip), or a list as train has",
        "loader"},
       in_group("loader", cache_option()),
       in_group("loader", read_lanes_option()),
       in_group("loader", shuffle_option()),
       in_group("loader", stage_option()),
       in_group("loader", decode_option()),
       in_group("loader", loader_threads_option()),
       bench_batch_option(),
       bench_steps_option(),
       in_group(kStepAndLoader, channels_last_option()),
       bench_json_option()},
      run_bench_loader};
}

}  // namespace tandem::app
