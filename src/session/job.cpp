#include "job.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <future>
#include <thread>

#include "cli/stall_options.hpp"
#include "cuda_build.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"

namespace tandem::app {
namespace {

constexpr int kMaxThreads = 1024;

// If libtorch cannot start its threads, OpenMP ends the process with exit code 1, and pthreadpool
// (which starts one per processor) waits for ever. So as many are started here first. Throws
// std::system_error.
void require_threads(int count) {
  std::promise<void> all_tried;
  const std::shared_future<void> end = all_tried.get_future();
  std::vector<std::future<void>> started;  // joined first
  try {
    while (static_cast<int>(started.size()) < count) {
      started.push_back(std::async(std::launch::async, [end] { end.wait(); }));
    }
  } catch (...) {
    all_tried.set_value();
    throw;
  }
  all_tried.set_value();
}

// Option texts may hold any byte but a null.
std::string to_text(const Options& options) {
  std::string text;
  for (const OptionSpec& spec : options.table()) {
    const OptionValue& value = options.value(spec.name);
    text += spec.name + '\0' + value.text + '\0' + std::to_string(static_cast<int>(value.origin)) +
            '\0';
  }
  for (const Fault& fault : options.faults()) {
    text += '\0' + fault.text + '\0' + fault.without_value + '\0';
  }
  return text;
}

Options from_text(const std::string& text, const OptionTable& table) {
  std::map<std::string, OptionValue> values;
  Faults faults;
  const std::vector<std::string> parts = split(text, '\0');
  for (std::size_t i = 0; i + 2 < parts.size(); i += 3) {
    if (parts[i].empty()) {
      faults.emplace_back(parts[i + 1], parts[i + 2]);
    } else {
      values[parts[i]] = {parts[i + 1], static_cast<Origin>(std::stoi(parts[i + 2]))};
    }
  }
  return Options(table, std::move(values), {}, std::move(faults));
}

// Each rank's own command line, option by option, so that a difference can be named.
comm::Fields fields_of(const OptionTable& table, const CommandLine& line) {
  comm::Fields fields;
  for (const OptionSpec& spec : table) {
    const auto found = line.values.find(spec.name);
    fields.emplace_back("--" + spec.name, found == line.values.end() ? "" : found->second);
  }
  fields.emplace_back("words that are no options", join(texts_of(line.faults), "; "));
  return fields;
}

// Collective. The options that `resolve_here` gives on rank 0. Applies their --stall-… to the
// watchdog; a bad value is a fault of the options.
Options resolve_for_all(Job& job, const OptionTable& table,
                        const std::function<Options()>& resolve_here) {
  std::string text;
  comm::agree_on_rank_0(job.world, [&] { text = to_text(resolve_here()); });
  Options options = from_text(job.world.broadcast_string(text), table);
  if (find_option(table, stall_options("").front().name) != nullptr) {
    const comm::StallLimits limits = read_stall_limits(options);
    if (job.has_same_versions()) job.supervision().set_limits(limits);
  }
  return options;
}

}  // namespace

// Compares the versions before ranks share a table, which another version may lay out differently.
Job::Job(std::optional<Supervision>& watch, comm::StallLimits limits) : watch_(watch) {
  const std::string versions = describe_versions();
  const std::uint64_t mine = hash64(versions.data(), versions.size());
  std::uint64_t first = mine;
  world.broadcast(Span<std::uint64_t>(&first, 1));
  if (world.all_reduce_value<std::int64_t>(mine == first ? 0 : 1) > 0) return;
  watch_.emplace(world, node, topology, limits);
}

void Job::end() {
  if (!watch_) return;
  watch_->heartbeats().enter(comm::Phase::kShutdown);
  world.barrier();  // the last communication between hosts
  watch_->leave_mpi();
}

void Job::touch() { watch_->heartbeats().touch(); }

void Job::warn(const std::string& message) const {
  if (is_root()) print_warning(message);
}

Options resolve_together(Job& job, const std::string& command, const OptionTable& table,
                         const Arguments& arguments) {
  CommandLine line;
  comm::agree(job.world, [&] { line = parse_command_line(command, table, arguments, false); });
  comm::require_equal(job.world, {{"command", command},
                                  {"program version", version() + " " + source_version()},
                                  {"libtorch of the program", libtorch_of_build()},
                                  {"MPI version", comm::mpi_library_version()}});
  comm::require_equal(job.world, fields_of(table, line));
  return resolve_for_all(job, table, [&] { return resolve(table, line); });
}

Options resolve_on_rank_0(Job& job, const std::string& command, const OptionTable& table,
                          const Arguments& arguments) {
  return resolve_for_all(job, table, [&] {
    return resolve(table, parse_command_line(command, table, arguments, false));
  });
}

std::string describe_versions() {
  return version() + " " + source_version() + ", libtorch " + libtorch_of_build() + ", " +
         comm::mpi_library_version();
}

int rank_threads(int asked, int otherwise) {
  int threads = asked > 0 ? asked : otherwise;
  const char* environment = std::getenv("OMP_NUM_THREADS");
  const std::string first = trim(split(environment == nullptr ? "" : environment, ',').front());
  if (asked == 0 && !first.empty()) {
    threads = static_cast<int>(parse_integer(first, 1, kMaxThreads, "OMP_NUM_THREADS"));
  }
  require_threads(std::max(threads, static_cast<int>(std::thread::hardware_concurrency())) - 1);
  return threads;
}

}  // namespace tandem::app
