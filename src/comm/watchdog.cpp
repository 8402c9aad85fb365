#include "tandem/comm/watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/thread.hpp"

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;
constexpr auto kBetweenLooks = 100ms;
// The main thread reports a failure itself if it can; several ranks that see one report it in turn.
constexpr int kLooksForMainThread = 10;
constexpr int kMaxTurns = 50;
// Ranks of the culprit's host see more, so others let them report first.
constexpr double kWaitForReporter = 2;
// A launcher that no longer reaches this host never ends this rank after another one has ended the
// job, so the rank does it itself.
constexpr double kWaitForLauncher = 2;

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool has_several_hosts(const std::vector<std::string>& hosts) {
  return std::adjacent_find(hosts.begin(), hosts.end(), std::not_equal_to<>()) != hosts.end();
}

}  // namespace

std::string describe_stall(const Stall& stall, const std::string& host) {
  std::string place = phase_name(stall.culprit.phase);
  if (stall.culprit.step > 0) place.insert(0, "step " + std::to_string(stall.culprit.step) + ", ");
  std::string text = "rank " + std::to_string(stall.culprit.rank) + " (" + host + ", process " +
                     std::to_string(stall.culprit.process) + ") has not advanced for " +
                     format_fixed(stall.seconds, 0) + " s: " + place;
  if (stall.is_silent) text += "; its process does not run";
  if (stall.reporter < 0) text += ", or its host is out of reach";
  return text;
}

Watchdog::Watchdog(HeartbeatTable& heartbeats, int rank, WatchdogSettings settings)
    : heartbeats_(heartbeats),
      settings_(std::move(settings)),
      rank_(rank),
      thread_([this] { watch(); }) {}

Watchdog::~Watchdog() { stop_and_join(thread_, mutex_, changed_, stopping_); }

void Watchdog::set_limits(StallLimits limits) {
  const std::lock_guard<std::mutex> lock(mutex_);
  settings_.limits = limits;
}

void Watchdog::set_fix(const std::string& fix) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fix_ = "\n  fix: " + fix;
}

void Watchdog::stop_exchange() {
  const std::lock_guard<std::mutex> lock(mutex_);
  exchanges_ = false;
}

void Watchdog::leave_mpi() {
  const std::lock_guard<std::mutex> lock(mutex_);
  exchanges_ = false;
  has_left_mpi_ = true;
  fix_.clear();
}

// After MPI has ended, the exit code of this rank makes the launcher end the others.
void Watchdog::end_job(ExitCode code) const {
  if (has_left_mpi_) ::_exit(static_cast<int>(code));
  Runtime::abort(static_cast<int>(code));
}

void Watchdog::report_and_end_job(const std::string& words, ExitCode code) {
  heartbeats_.announce_end(code);
  exchange_heartbeats();
  settings_.report_end(words);
  end_job(code);
}

std::optional<ExitCode> Watchdog::end_by_another(const std::vector<RankStatus>& ranks) const {
  const auto found = std::find_if(ranks.begin(), ranks.end(), [this](const RankStatus& each) {
    return each.end_code != 0 && each.rank != rank_;
  });
  if (found == ranks.end()) return std::nullopt;
  return static_cast<ExitCode>(found->end_code);
}

// An unreachable host falls silent and is then reported like any other.
void Watchdog::exchange_heartbeats() {
  if (!exchanges_) return;
  try {
    heartbeats_.exchange();
  } catch (const std::exception& error) {
    exchanges_ = false;
    settings_.warn(std::string("the ranks of other hosts are no longer watched: ") + error.what());
  }
}

void Watchdog::check_connection() {
  if (connection_ == nullptr) return;
  try {
    connection_->check();
  } catch (const Error& error) {
    if (++failed_looks_ < kLooksForMainThread + std::min(rank_, kMaxTurns)) return;
    report_and_end_job("rank " + std::to_string(rank_) + " (" +
                           settings_.hosts[static_cast<std::size_t>(rank_)] + "): " + error.what(),
                       error.code());
  }
}

Watchdog::ConnectionCheck::ConnectionCheck(Watchdog& watchdog, Collectives& connection)
    : watchdog_(watchdog) {
  const std::lock_guard<std::mutex> lock(watchdog_.mutex_);
  watchdog_.connection_ = &connection;
}

Watchdog::ConnectionCheck::~ConnectionCheck() {
  const std::lock_guard<std::mutex> lock(watchdog_.mutex_);
  watchdog_.connection_ = nullptr;
}

void Watchdog::watch() {
  name_this_thread("watchdog");
  StallDetector detector(rank_);
  bool warned = false;
  std::optional<double> ends_at;  // this rank, unless the launcher does before
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenLooks, [this] { return stopping_; })) {
    heartbeats_.beat();
    exchange_heartbeats();
    const std::vector<RankStatus> ranks = heartbeats_.view();
    if (const std::optional<ExitCode> code = end_by_another(ranks)) {
      if (!ends_at) ends_at = now_in_seconds() + kWaitForLauncher;
      if (now_in_seconds() >= *ends_at) end_job(*code);
      continue;
    }
    check_connection();
    const std::optional<Stall> stall = detector.look(ranks, now_in_seconds());
    if (!stall || stall->seconds < 1) warned = false;
    if (!stall || (stall->reporter != rank_ && stall->fallback_reporter != rank_)) continue;
    const double seconds = stall->seconds - (stall->reporter == rank_ ? 0 : kWaitForReporter);
    const bool waits_for_another_host =
        has_left_mpi_ && !stall->is_silent && has_several_hosts(settings_.hosts);
    const auto words = [&] {
      return describe_stall(*stall,
                            settings_.hosts[static_cast<std::size_t>(stall->culprit.rank)]) +
             (waits_for_another_host ? "; a rank of another host may not end" : "");
    };
    const auto [warn_seconds, abort_seconds] = settings_.limits;
    if (abort_seconds > 0 && seconds >= abort_seconds) {
      report_and_end_job(words() + "; the job ends, see --stall-abort" + fix_, ExitCode::kStalled);
    }
    if (!warned && warn_seconds > 0 && seconds >= warn_seconds) {
      warned = true;
      settings_.warn(words());
    }
  }
}

}  // namespace tandem::comm
