// tandem bench allreduce: how long the sum of gradients over all ranks takes, and MPI's beside it.
#include "bench_form.hpp"
#include "cli/device_options.hpp"
#include "cli/execution_options.hpp"
#include "session/engine.hpp"
#include "tandem/comm/agree.hpp"

namespace tandem::app {
namespace {

AllReduceRequest read_all_reduce_request(Options& options) {
  AllReduceRequest request;
  const auto size = [&](const std::string& name) {
    return options.parsed(name,
                          [&](const std::string& text) { return parse_size(text, "--" + name); });
  };
  request.least = size("min-bytes") / sizeof(float) * sizeof(float);
  request.most = size("max-bytes") / sizeof(float) * sizeof(float);
  const bool are_read = request.least > 0 && request.most > 0;
  if (are_read && request.least > request.most) {
    options.add_fault("--min-bytes " + options.text("min-bytes") + " is more than --max-bytes " +
                      options.text("max-bytes"));
  }
  request.seconds = options.real("seconds", 0, 3600);
  request.algorithm = comm::all_reduce_algorithm_of(options.choice("all-reduce"));
  request.device = read_device_options(options);
  request.as_bf16 = options.choice("grad-dtype") == "bf16";
  if (options.choice("grad-dtype") == "powersgd") {
    options.add_fault(
        "--grad-dtype powersgd: compresses the matrices of a network, and these sums have none; "
        "measure it by tandem bench step");
  }
  if (request.as_bf16) require_bfloat16_sums(options, request.algorithm);
  request.json = options.flag("json");
  options.throw_faults("bench");
  return request;
}

int run_bench_allreduce(Job& job, Options& options, const std::vector<std::string>&) {
  AllReduceRequest request;
  comm::agree(job.world, [&] { request = read_all_reduce_request(options); });
  return open_engine(job).bench_allreduce(job, request);
}

}  // namespace

BenchForm bench_allreduce_form() {
  return {
      "allreduce",
      {{"min-bytes", "N", "1K", "the least that is summed, as fp32; K, M and G: KiB, MiB and GiB",
        "allreduce"},
       {"max-bytes", "N", "64M", "the most; in between steps of four times as much", "allreduce"},
       {"seconds", "S", "1", "for each size, at least five pairs", "allreduce"},
       {"all-reduce",
        "NAME",
        "flat",
        "flat, by all ranks alike; two-level, within each host first; mpi, by the MPI library",
        "allreduce",
        {},
        comm::all_reduce_algorithm_names(),
        {},
        {"sum-algorithm"}},
       in_group(kStepAndAllReduce, device_option()),
       in_group(kStepAndAllReduce, gpu_ids_option()),
       in_group(kStepAndAllReduce, share_gpu_option()),
       in_group(kStepAndAllReduce, backend_option()),
       in_group(kStepAndAllReduce, init_timeout_option()),
       bench_grad_dtype_option(),
       bench_json_option()},
      run_bench_allreduce};
}

}  // namespace tandem::app
