// A thread that ends the job if a rank stalls, and names that rank. It also ends the job if the
// GPUs' connection fails while the main thread waits for it. Every rank has a watchdog, and one of
// them reports (see Stall). It may outlive MPI, so that a rank that hangs in MPI_Finalize is named,
// too.
//
// Construct, use and destroy it on the main thread; MPI must allow calls from several threads. The
// constructor throws std::system_error if no thread can start. It ends the job by MPI_Abort with
// 124 or the code of the failure.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tandem/comm/collectives.hpp"
#include "tandem/comm/heartbeat_table.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {

// The duration of a stall before a warning, and before the job ends; 0: never.
struct StallLimits {
  double warn_seconds = 60;
  double abort_seconds = 600;
};

struct WatchdogSettings {
  StallLimits limits;
  std::vector<std::string> hosts;  // by rank
  std::function<void(const std::string&)> warn;
  std::function<void(const std::string&)> report_end;  // the error message before the job ends
};

class Watchdog {
 public:
  // `rank`: this one.
  Watchdog(HeartbeatTable& heartbeats, int rank, WatchdogSettings settings);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set_limits(StallLimits limits);
  // The last line of the message before a stall ends the job, until leave_mpi().
  void set_fix(const std::string& fix);
  // Stops the exchange with other hosts. Call it after an error, before freeing memory
  // that MPI still receives into: any MPI call may write there.
  void stop_exchange();
  // From now on it makes no MPI calls and ends the job by this rank's exit code. No ConnectionCheck
  // may exist.
  void leave_mpi();

  // Calls connection.check() several times a second while it exists, because a thread that waits
  // for a GPU cannot.
  class ConnectionCheck {
   public:
    ConnectionCheck(Watchdog& watchdog, Collectives& connection);
    ~ConnectionCheck();
    ConnectionCheck(const ConnectionCheck&) = delete;
    ConnectionCheck& operator=(const ConnectionCheck&) = delete;

   private:
    Watchdog& watchdog_;
  };

 private:
  void watch();
  void check_connection();
  void exchange_heartbeats();
  // The code with which another rank ends the job, if one does.
  std::optional<ExitCode> end_by_another(const std::vector<RankStatus>& ranks) const;
  [[noreturn]] void report_and_end_job(const std::string& words, ExitCode code);
  [[noreturn]] void end_job(ExitCode code) const;

  HeartbeatTable& heartbeats_;
  WatchdogSettings settings_;
  const int rank_;
  int failed_looks_ = 0;  // used by its thread only
  std::mutex mutex_;      // guards the members below and settings_.limits
  std::string fix_;       // empty: none is known
  bool exchanges_ = true;
  bool has_left_mpi_ = false;
  std::condition_variable changed_;
  bool stopping_ = false;
  Collectives* connection_ = nullptr;
  std::thread thread_;  // last
};

// "rank 1 (node8, process 4711) has not advanced for 5 s: …"
std::string describe_stall(const Stall& stall, const std::string& host);

}  // namespace tandem::comm
