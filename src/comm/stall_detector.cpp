#include "tandem/comm/stall_detector.hpp"

#include <algorithm>
#include <tuple>

#include "tandem/core/named_values.hpp"

namespace tandem::comm {
namespace {

constexpr double kSuspended = 1.0;  // a longer gap between two looks is a suspension
constexpr double kSilent = 1.5;     // beats come several times a second, also between hosts

constexpr NamedValues<Phase, 10> kPhases{{{Phase::kStartUp, "start-up"},
                                          {Phase::kData, "data"},
                                          {Phase::kCompute, "compute"},
                                          {Phase::kExchange, "exchange"},
                                          {Phase::kUpdate, "update"},
                                          {Phase::kEvaluation, "evaluation"},
                                          {Phase::kCheckpoint, "checkpoint"},
                                          {Phase::kExport, "export"},
                                          {Phase::kShutdown, "shutdown"},
                                          {Phase::kDone, "end"}}};

}  // namespace

const char* phase_name(Phase phase) {
  for (const auto& [value, name] : kPhases) {
    if (value == phase) return name;
  }
  return "";
}

void StallDetector::update(const std::vector<RankStatus>& ranks, double now) {
  if (seen_.empty()) {
    for (const RankStatus& rank : ranks) seen_.push_back({rank.reports, rank.beats, now, now});
    last_look_ = now;
  }
  const double gap = now - last_look_;
  last_look_ = now;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Seen& seen = seen_[i];
    if (gap > kSuspended) {
      seen.report_at += gap;
      seen.beat_at += gap;
    }
    if (ranks[i].reports != seen.reports) seen.report_at = now;
    if (ranks[i].beats != seen.beats) seen.beat_at = now;
    seen.reports = ranks[i].reports;
    seen.beats = ranks[i].beats;
  }
}

bool StallDetector::is_silent(std::size_t index, double now) const {
  return now - seen_[index].beat_at >= kSilent;
}

std::optional<Stall> StallDetector::look(const std::vector<RankStatus>& ranks, double now) {
  update(ranks, now);
  std::optional<Stall> worst;
  const int own_table = ranks[static_cast<std::size_t>(rank_)].table;
  double own_report_at = 0;   // last report of a rank of this host
  double last_report_at = 0;  // and of any rank
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].table == own_table) own_report_at = std::max(own_report_at, seen_[i].report_at);
    last_report_at = std::max(last_report_at, seen_[i].report_at);
  }
  const auto blame_order = [own_table](const Stall& stall) {
    const bool is_seen_silent = stall.is_silent && stall.culprit.table == own_table;
    return std::make_tuple(!is_seen_silent, !stall.is_silent, stall.culprit.step,
                           stall.culprit.phase);
  };
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].phase == Phase::kDone) continue;
    Stall stall{ranks[i], 0, is_silent(i, now)};
    // A running rank may wait for another one as long as that one advances. If no rank advances and
    // then a rank of this host falls silent, the stall counts from the last report of any rank.
    const double alive_at = std::max(seen_[i].report_at, seen_[i].beat_at);
    const bool is_seen = ranks[i].table == own_table;
    const double silent_since = is_seen ? std::min(alive_at, last_report_at) : alive_at;
    stall.seconds = now - (stall.is_silent ? silent_since : last_report_at);
    // While ranks of this host advance, so do all others, although no news of them come.
    if (stall.is_silent && ranks[i].table != own_table) {
      stall.seconds = std::min(stall.seconds, now - own_report_at);
    }
    if (stall.seconds <= 0) continue;
    if (!worst || blame_order(stall) < blame_order(*worst)) worst = stall;
  }
  if (!worst) return worst;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (is_silent(i, now)) continue;
    int& reporter =
        ranks[i].table == worst->culprit.table ? worst->reporter : worst->fallback_reporter;
    if (reporter < 0) reporter = ranks[i].rank;
  }
  return worst;
}

}  // namespace tandem::comm
