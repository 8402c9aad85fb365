// What: a thread that ends the job where a rank of it stops advancing, and says which, or where the
// connection of the GPUs fails while the main thread waits for it.
// Owns: the thread. Threads: make, use and destroy it on the main thread; MPI must allow calls from
// several. Throws: nothing; it ends the job with MPI_Abort (124, or the failure's code).
//
// Every rank has one, and one of them speaks: see Stall.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tandem/comm/collectives.hpp"
#include "tandem/comm/rank_board.hpp"

namespace tandem::comm {

struct WatchdogSettings {
  double warn_seconds = 60;        // 0: never
  double abort_seconds = 600;      // 0: never
  std::vector<std::string> hosts;  // by rank
  std::function<void(const std::string&)> warn;
  std::function<void(const std::string&)> report_end;  // the last words, before the job ends
};

class Watchdog {
 public:
  // `rank`: this one.
  Watchdog(RankBoard& board, int rank, WatchdogSettings settings);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Calls carrier.check() several times a second while it lives: what waits for a GPU does not.
  class Carrier {
   public:
    Carrier(Watchdog& watchdog, Collectives& carrier);
    ~Carrier();
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;

   private:
    Watchdog& watchdog_;
  };

 private:
  void watch();
  void check_carrier();
  void carry();

  RankBoard& board_;
  const WatchdogSettings settings_;
  const int rank_;
  bool carries_ = true;   // its thread's own
  int failed_looks_ = 0;  // likewise
  std::mutex mutex_;      // guards stopping_, carrier_
  std::condition_variable changed_;
  bool stopping_ = false;
  Collectives* carrier_ = nullptr;
  std::thread thread_;  // last
};

// "rank 1 (node8, process 4711) has not advanced for 5 s: …"
std::string describe_stall(const Stall& stall, const std::string& host);

}  // namespace tandem::comm
