// tandem info: what a bug report needs.
#include <filesystem>
#include <map>

#include "commands.hpp"
#include "diagnose/start_checks.hpp"
#include "session/device_choice.hpp"
#include "session/engine.hpp"
#include "session/rank_table.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/model/network_names.hpp"

namespace tandem::app {
namespace {

std::string shared_memory() {
  std::error_code error;
  const auto space = std::filesystem::space("/dev/shm", error);
  return error ? "none (" + error.message() + ")" : format_bytes(space.available) + " free";
}

std::vector<std::vector<std::string>> program_rows(const Engine& engine) {
  return {{"tandem", version() + " (" + source_version() + ")"},
          {"build", build_summary()},
          {"libtorch", engine.libtorch_version()},
          {"gpu libraries", comm::describe_gpu_libraries()},
          {"mpi", comm::mpi_library_version()},
          {"hdf5", data::hdf5_version()},
          {"models", join(model::network_names(), ", ")},
          {"shared memory", shared_memory()}};
}

// "supports CUDA 12.4", and why it shows no GPU, if so.
std::string describe_driver(const device::GpuView& view) {
  if (view.driver_version == 0) return view.reason;
  return "supports CUDA " + comm::cuda_version_text(view.driver_version) +
         (view.reason.empty() ? "" : "; " + view.reason);
}

// Each GPU once, with the ranks that see it; "" if there is none.
std::string gpu_table(const std::vector<device::RankGpus>& ranks) {
  std::map<std::vector<std::string>, std::vector<std::string>> seen_by;
  for (const device::RankGpus& rank : ranks) {
    for (const device::Gpu& gpu : rank.view.gpus) {
      seen_by[{rank.host, gpu.bus_id, gpu.name, format_bytes(gpu.memory_bytes), gpu.uuid}]
          .push_back(std::to_string(rank.rank) + " as " + std::to_string(gpu.index));
    }
  }
  if (seen_by.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"host", "gpu", "name", "memory", "seen by rank"}};
  for (const auto& [gpu, ranks_of_gpu] : seen_by) {
    rows.push_back({gpu[0], gpu[1], gpu[2], gpu[3], join(ranks_of_gpu, ", ")});
  }
  return "\n\n" + format_table(rows);
}

int run_info(Job& job, const Arguments& arguments) {
  Options options = resolve_together(job, "info", info_command().options, arguments);
  bool json = false;
  bool libraries = false;
  int threads = 1;
  comm::agree(job.world, [&] {
    json = options.flag("json");
    libraries = options.flag("libraries");
    if (json && libraries) options.add_fault("--json and --libraries are two forms; give one");
    options.throw_faults("info");
    threads = rank_threads(0, job.topology.default_threads());
  });
  if (libraries) {
    comm::agree_on_rank_0(job.world, [&] { print_line(join(libraries_opened(), "\n")); });
    return 0;
  }
  const std::vector<device::RankGpus> gpus = gather_gpus(job, look_at_gpus(job));
  device::GpuDecision decision;
  std::vector<std::string> devices;
  if (job.is_root()) decision = decide_by_default(gpus);
  for (const device::GpuBinding& binding : decision.bindings) devices.push_back(binding.text());
  const RankTable ranks = make_rank_table(job, threads, devices);
  const RankFacts facts = look_at_start(job, threads);
  warn_of_start(job, facts);
  if (!job.is_root()) return 0;
  std::vector<std::vector<std::string>> rows = program_rows(open_engine());
  rows.push_back({"gpu driver", describe_driver(gpus.front().view)});
  if (!json) {
    print_line(format_table(rows) + "\n\n" + full_rank_table(ranks) + gpu_table(gpus));
  } else {
    Json object;
    for (const auto& row : rows) object[row[0]] = row[1];
    for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
      const comm::Topology& rank = ranks.ranks[i];
      object["ranks"].push_back({{"rank", rank.rank},
                                 {"host", rank.host},
                                 {"local_rank", rank.local_rank},
                                 {"device", ranks.devices[i]},
                                 {"gpus", gpus_to_json(gpus[i].view.gpus)},
                                 {"allowed_cpus", rank.allowed_cpus},
                                 {"host_cpus", rank.host_cpus},
                                 {"threads", ranks.threads[i]}});
    }
    print_line(object.dump());
  }
  for (const std::string& warning : decision.warnings) print_warning(warning);
  return 0;
}

}  // namespace

Command info_command() {
  return {"info",
          "[--json | --libraries]",
          "ranks, hosts, CPUs, threads and versions: what a bug report needs",
          "mpirun -np 2 tandem info",
          {{"json", "", "false", "one JSON object on standard output", "reporting"},
           {"libraries", "", "false",
            "paths of the libraries that are opened at run time, one a line", "reporting"}},
          nullptr,
          run_info};
}

}  // namespace tandem::app
