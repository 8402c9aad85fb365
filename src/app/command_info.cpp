// tandem info: what a bug report needs.
#include <filesystem>

#include "tandem/app/commands.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/torch_compat.hpp"

namespace tandem::app {
namespace {

std::string shared_memory() {
  std::error_code error;
  const auto space = std::filesystem::space("/dev/shm", error);
  return error ? "none (" + error.message() + ")" : format_bytes(space.available) + " free";
}

std::string gpu_libraries() {
  const std::string found = comm::gpu_libraries_found();
  return "built " + comm::gpu_libraries_built() + (found.empty() ? "" : "; found " + found);
}

std::vector<std::vector<std::string>> program_rows() {
  return {{"tandem", version() + " (" + source_version() + ")"},
          {"build", build_summary()},
          {"libtorch", model::torch_version()},
          {"gpu libraries", gpu_libraries()},
          {"mpi", comm::mpi_library_version()},
          {"hdf5", data::hdf5_version()},
          {"models", join(model::network_names(), ", ")},
          {"shared memory", shared_memory()}};
}

int run_info(Job& job, const Arguments& arguments) {
  Options options = resolve_together(job, "info", info_command().options, arguments);
  bool json = false;
  int threads = 1;
  comm::agree(job.world, job.topology.host, [&] {
    json = options.flag("json");
    options.throw_faults("info");
    threads = use_threads(0, job.topology.default_threads());
  });
  const RankTable ranks = make_rank_table(job, threads);
  if (!job.is_root()) return 0;
  if (!json) {
    print_line(format_table(program_rows()) + "\n\n" + ranks.text);
  } else {
    Json object;
    for (const auto& row : program_rows()) object[row[0]] = row[1];
    for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
      const comm::Topology& rank = ranks.ranks[i];
      object["ranks"].push_back({{"rank", rank.rank},
                                 {"host", rank.host},
                                 {"local_rank", rank.local_rank},
                                 {"device", "cpu"},
                                 {"allowed_cpus", rank.allowed_cpus},
                                 {"host_cpus", rank.host_cpus},
                                 {"threads", ranks.threads[i]}});
    }
    print_line(object.dump());
  }
  for (const std::string& warning : ranks.warnings) print_warning(warning);
  return 0;
}

}  // namespace

Command info_command() {
  return {"info",
          "[--json]",
          "ranks, hosts, CPUs, threads and versions: what a bug report needs",
          "mpirun -np 2 tandem info",
          {{"json", "", "false", "one JSON object on standard output", "reporting"}},
          nullptr,
          run_info};
}

}  // namespace tandem::app
