#include "tandem/comm/watchdog.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;
constexpr auto kBetweenLooks = 100ms;
constexpr auto kTimeForAbort = 2s;
// The host of the rank to blame can name it, so others let it speak first.
constexpr double kWaitForOtherHost = 3;

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// MPI_Abort itself may hang where a peer does.
[[noreturn]] void end_job() {
  constexpr int kCode = static_cast<int>(ExitCode::kStalled);
  std::thread([] {
    std::this_thread::sleep_for(kTimeForAbort);
    ::_exit(kCode);
  }).detach();
  Runtime::abort(kCode);
}

}  // namespace

std::string describe_stall(const Stall& stall, const std::string& host) {
  const std::string place = stall.culprit.step == 0 ? std::string(phase_name(stall.culprit.phase))
                                                    : "step " + std::to_string(stall.culprit.step) +
                                                          ", " + phase_name(stall.culprit.phase);
  const std::string time = format_fixed(stall.seconds, 0) + " s";
  if (stall.is_elsewhere) {
    return "every rank of " + host + " has waited for " + time + " in " + place +
           " for a rank of another host";
  }
  return "rank " + std::to_string(stall.culprit.rank) + " (" + host + ", process " +
         std::to_string(stall.culprit.process) + ") has not advanced for " + time + ": " + place +
         (stall.is_silent ? "; its process does not run" : "");
}

Watchdog::Watchdog(RankBoard& board, WatchdogSettings settings)
    : board_(board),
      settings_(std::move(settings)),
      process_(::getpid()),
      thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// The lowest rank of the host that is not to blame for being silent.
bool Watchdog::speaks(const std::vector<RankView>& ranks, const Stall& stall) const {
  for (const RankView& rank : ranks) {
    if (stall.is_silent && rank.process == stall.culprit.process) continue;
    return rank.process == process_;
  }
  return false;
}

void Watchdog::watch() {
  StallJudge judge(settings_.sees_all);
  bool warned = false;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenLooks, [this] { return stopping_; })) {
    board_.beat();
    const std::vector<RankView> ranks = board_.view();
    const std::optional<Stall> stall = judge.look(ranks, now_in_seconds());
    if (!stall || stall->seconds < 1) warned = false;
    if (!stall || !speaks(ranks, *stall)) continue;
    const double patience = stall->is_elsewhere ? kWaitForOtherHost : 0;
    if (settings_.abort_seconds > 0 && stall->seconds >= settings_.abort_seconds + patience) {
      settings_.report_end(describe_stall(*stall, settings_.host) +
                           "; the job ends, see --stall-abort");
      end_job();
    }
    if (!warned && settings_.warn_seconds > 0 &&
        stall->seconds >= settings_.warn_seconds + patience) {
      warned = true;
      settings_.warn(describe_stall(*stall, settings_.host));
    }
  }
}

}  // namespace tandem::comm
