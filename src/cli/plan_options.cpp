#include "plan_options.hpp"

#include <algorithm>

#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kMaxOversubscription = 1000;
constexpr int kMaxPlannedRanks = 65536;  // counting the messages of more would take long

// `text` without `unit` as a number; absent if it has another unit.
std::optional<double> number_in(const std::string& text, const std::string& unit, double lowest,
                                double highest) {
  if (!ends_with(text, unit)) return std::nullopt;
  return parse_real(text.substr(0, text.size() - unit.size()), lowest, highest, "");
}

// A sum that the plan has no messages of, and a batch that depends on the ranks.
void refuse_unplanned(Options& options, const train::TrainConfig& config, int ranks) {
  if (config.virtual_ranks > 0) {
    options.add_fault(
        "--hosts and --virtual-ranks exclude each other: the plan cannot count the messages of "
        "virtual ranks; leave out --virtual-ranks");
  }
  if (config.all_reduce == comm::AllReduceAlgorithm::kLibrary) {
    options.add_fault(
        "--hosts and --all-reduce mpi exclude each other: the plan cannot count the messages of "
        "the MPI library; give --all-reduce flat or two-level");
  }
  if (config.powersgd_rank > 0) {
    options.add_fault(
        "--hosts and --grad-dtype powersgd exclude each other: the plan cannot count the messages "
        "of compressed gradients; give --grad-dtype fp32 or bf16");
  }
  if (config.global_batch_size > 0) {
    // Values with a fault of their own are 0.
    const std::uint64_t shares =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(ranks) * config.accumulate);
    const std::uint64_t images = std::max<std::uint64_t>(1, config.global_batch_size / shares);
    options.add_fault("--hosts and --global-batch-size " +
                      std::to_string(config.global_batch_size) +
                      " exclude each other: the plan times the images of one rank; give "
                      "--batch-size " +
                      std::to_string(images));
  }
}

}  // namespace

comm::Link parse_link(const std::string& text) {
  comm::Link link;
  try {
    for (const std::string& part : split(to_lower(text), ',')) {
      if (const auto gigabits = number_in(part, "gbit", 1e-3, 1e6)) {
        link.bytes_per_second = *gigabits * 1e9 / kBitsPerByte;
      } else if (const auto megabits = number_in(part, "mbit", 1e-3, 1e9)) {
        link.bytes_per_second = *megabits * 1e6 / kBitsPerByte;
      } else if (const auto micros = number_in(part, "us", 0, 1e9)) {
        link.latency = *micros / 1e6;
      } else if (const auto millis = number_in(part, "ms", 0, 1e6)) {
        link.latency = *millis / 1e3;
      } else if (const auto ratio = number_in(part, ":1", 1, kMaxOversubscription)) {
        link.oversubscription = *ratio;
      } else {
        link.bytes_per_second = 0;
        break;
      }
    }
  } catch (const UsageError&) {
    link.bytes_per_second = 0;
  }
  if (link.bytes_per_second == 0) {
    throw UsageError("--link: '" + text +
                     "' is not a rate in gbit or mbit (per second), with a latency in us or ms and "
                     "an oversubscription if known; write it as 25gbit, 100mbit,50us or "
                     "25gbit,5us,2:1");
  }
  return link;
}

std::optional<PlanTarget> read_plan_target(Options& options, const train::TrainConfig& config) {
  const bool has_hosts = options.is_set("hosts");
  for (const char* name : {"ranks-per-host", "link"}) {
    if (options.is_set(name) && !has_hosts) {
      options.add_fault("--" + std::string(name) +
                        " describes the hosts of a plan; add --hosts, such as --plan --hosts 4 "
                        "--ranks-per-host 8 --link 25gbit");
    }
  }
  if (!has_hosts) return std::nullopt;
  if (!options.flag("plan")) {
    options.add_fault("--hosts is for --plan, which predicts and does not train; add --plan");
    return std::nullopt;
  }
  PlanTarget target;
  target.placement.hosts = static_cast<int>(options.count("hosts", 1, kMaxPlannedRanks));
  if (options.is_set("ranks-per-host")) {
    target.placement.ranks_per_host =
        static_cast<int>(options.count("ranks-per-host", 1, kMaxPlannedRanks));
  } else {
    options.add_fault("--hosts needs --ranks-per-host; add, for example, --ranks-per-host 8");
  }
  const std::int64_t ranks = std::int64_t{target.placement.hosts} * target.placement.ranks_per_host;
  if (ranks > kMaxPlannedRanks) {
    options.add_fault("--hosts and --ranks-per-host: a plan has at most " +
                      format_count(kMaxPlannedRanks) + " ranks, and these are " +
                      format_count(ranks) + "; give fewer");
    return std::nullopt;
  }
  if (options.is_set("link")) {
    target.link = options.parsed("link", parse_link);
  } else if (target.placement.hosts > 1) {
    options.add_fault("--hosts " + options.text("hosts") +
                      " needs --link, the rate of a host's link; add, for example, --link 25gbit");
  }
  refuse_unplanned(options, config, static_cast<int>(ranks));
  return target;
}

}  // namespace tandem::app
