#include "examination.hpp"

#include <algorithm>
#include <numeric>

#include "session/cuda_build.hpp"
#include "session/device_choice.hpp"
#include "session/engine.hpp"
#include "stale_memory.hpp"
#include "start_checks.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/packed_set.hpp"
#include "tandem/metrics/system_sampler.hpp"
#include "transport.hpp"

namespace tandem::app {
namespace {

// This rank's own arguments, without those that only affect rank 0's output. Other ranks' arguments
// may not even parse.
std::string command_line_of(Arguments arguments) {
  arguments.erase(std::remove(arguments.begin(), arguments.end(), "--json"), arguments.end());
  return join(arguments, " ");
}

// Collective. On rank 0 who runs which version where, and nothing else.
std::vector<RankFacts> gather_versions(Job& job, const std::string& versions) {
  const std::vector<std::string> hosts = job.world.gather_strings(job.topology.host);
  const std::vector<std::string> texts = job.world.gather_strings(versions);
  std::vector<RankFacts> facts(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    facts[i].rank = static_cast<int>(i);
    facts[i].world = job.topology.world;
    facts[i].host = hosts[i];
    facts[i].versions = texts[i];
  }
  return facts;
}

// The GPU that `train` would give to this rank.
void look_at_own_gpu(const device::GpuBinding& binding, RankFacts& facts) {
  if (cuda_of_build() == 0 || !binding.gpu) return;
  const device::Gpu& gpu = *binding.gpu;
  facts.drives_gpu = true;
  // Containers of one machine may differ in their host names.
  facts.gpu = gpu.uuid.empty() ? facts.host + " " + gpu.bus_id : gpu.uuid;
  facts.gpu_name = binding.text();
  facts.nvml_error = metrics::why_gpu_is_silent(gpu.bus_id);
}

// Collective. The pairs of hosts by the first rank of each, so that no two measure over one link at
// a time, then the pairs of ranks of each host.
std::vector<PairSpeed> measure_all_pairs(Job& job, comm::Progress& progress) {
  std::vector<std::int64_t> is_first(static_cast<std::size_t>(job.topology.world), 0);
  is_first[static_cast<std::size_t>(job.topology.rank)] = job.topology.local_rank == 0 ? 1 : 0;
  job.world.all_reduce(Span<std::int64_t>(is_first));
  std::vector<int> first_ranks;
  for (std::size_t rank = 0; rank < is_first.size(); ++rank) {
    if (is_first[rank] != 0) first_ranks.push_back(static_cast<int>(rank));
  }
  std::vector<PairSpeed> pairs = measure_pairs(job.world, first_ranks, progress, 0);

  std::vector<std::int64_t> world_ranks(static_cast<std::size_t>(job.node.size()), 0);
  world_ranks[static_cast<std::size_t>(job.node.rank())] = job.topology.rank;
  job.node.all_reduce(Span<std::int64_t>(world_ranks));
  std::vector<int> local_ranks(world_ranks.size());
  std::iota(local_ranks.begin(), local_ranks.end(), 0);
  const std::uint64_t rounds = first_ranks.size();  // or one fewer
  for (const PairSpeed& pair : measure_pairs(job.node, local_ranks, progress, rounds)) {
    pairs.push_back({static_cast<int>(world_ranks[static_cast<std::size_t>(pair.first)]),
                     static_cast<int>(world_ranks[static_cast<std::size_t>(pair.second)]),
                     pair.bytes_per_second});
  }
  return pairs;
}

// The file of a path as one rank sees it.
struct FileView {
  std::string start;  // SHA-256 of the first bytes, which hold the seal's digest
  std::string digest;
  std::string error;
  std::uint64_t image_bytes = 0;
  std::uint64_t unread_bytes = 0;
};
TANDEM_JSON_STRUCT(FileView, start, digest, error, image_bytes, unread_bytes)

// Its beginning alone, which every rank can afford.
FileView glance_at(const std::string& path) {
  FileView view;
  try {
    view.start = sha256_hex(data::start_of_packed(path));
  } catch (const std::exception& error) {
    view.error = message_of(error);
  }
  return view;
}

FileView read_through(const std::string& path, const Touch& touch) {
  FileView view = glance_at(path);
  if (!view.error.empty()) return view;
  try {
    const data::PackedSet file(path, touch);
    const data::DatasetInfo& info = file.info();
    view.digest = info.digest.substr(0, 16);
    // Picture files may stay in the file.
    view.image_bytes = data::MemoryLayout(info, !info.is_encoded()).all;
    view.unread_bytes = info.train_bytes + info.test_bytes;  // 0 unless they are picture files
  } catch (const std::exception& error) {
    view.error = message_of(error);
  }
  return view;
}

// Of the first file that cannot be locked.
std::string lock_error_of_set(const std::string& files) {
  std::vector<std::string> paths;
  try {
    paths = data::packed_paths(files);
  } catch (const Error&) {  // named by data_error
  }
  for (const std::string& path : paths) {
    const std::string error = lock_error_of(path);
    if (!error.empty()) return paths.size() == 1 ? error : path + ": " + error;
  }
  return "";
}

// Collective over the ranks of each host. The first of them proves the file, and so does each that
// finds another one under this path. Faults of the file are facts.
void look_at_data(Job& job, const std::string& path, RankFacts& facts, const Touch& touch) {
  FileView mine = job.node.rank() == 0 ? read_through(path, touch) : glance_at(path);
  const std::string text = dump_any_bytes(Json(mine));
  const auto first = Json::parse(job.node.broadcast_string(text)).get<FileView>();
  if (job.node.rank() != 0) mine = mine.start == first.start ? first : read_through(path, touch);
  facts.data_digest = mine.digest;
  facts.data_error = mine.error;
  facts.data_bytes = mine.image_bytes;
  facts.data_unread_bytes = mine.unread_bytes;
  facts.lock_error = lock_error_of_set(path);
}

}  // namespace

Examination examine(Job& job, const ExaminationRequest& request, const Arguments& arguments) {
  Examination result;
  const std::string versions = describe_versions();
  if (!job.has_same_versions()) {
    result.facts = gather_versions(job, versions);
    return result;
  }
  comm::Progress& progress = job.supervision().heartbeats();
  RankFacts mine = look_at_start(job, request.threads);
  mine.versions = versions + ", loaded libtorch " + open_engine().libtorch_version();
  if (job.topology.local_rank == 0) {
    const StaleMemory stale = find_stale_memory();
    mine.stale_files = stale.files;
    mine.stale_bytes = stale.bytes;
    mine.stale_command = stale.command;
  }
  mine.command_line = command_line_of(arguments);
  const device::RankGpus seen = look_at_gpus(job);
  progress.report(0, comm::Phase::kData);
  const std::vector<device::RankGpus> gpus = gather_gpus(job, seen);
  look_at_own_gpu(gpu_by_place(job, gpus), mine);
  if (!request.data.empty()) {
    look_at_data(job, request.data, mine, [&] { progress.touch(); });
  }
  progress.report(0, comm::Phase::kExchange);
  result.measurements.pairs = job.world.gather(measure_all_pairs(job, progress));
  mine.transport = describe_transport();
  result.facts = gather_facts(job, mine);
  if (job.is_root()) result.measurements.gpu_warnings = decide_by_default(gpus).warnings;
  return result;
}

Json pairs_to_json(const std::vector<PairSpeed>& pairs) {
  Json list = Json::array();
  for (const PairSpeed& pair : pairs) {
    list.push_back(
        {{"ranks", {pair.first, pair.second}}, {"bytes_per_second", pair.bytes_per_second}});
  }
  return list;
}

}  // namespace tandem::app
