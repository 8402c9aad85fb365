#include "run_owner.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/stop_signal.hpp"

namespace tandem::app {

metrics::LockSettings lock_settings(std::function<void()> touch) {
  metrics::LockSettings settings;
  settings.pause = [touch = std::move(touch)](double seconds) {
    touch();
    if (StopSignal::received() != 0) {
      throw Error(ExitCode::kStopped,
                  "stopped while another run's lock was watched; the same "
                  "command starts again");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  settings.on_wait = print_warning;
  if (comm::Runtime::allows_threads()) {
    settings.on_lost = [](const std::string& words) {
      print_error(words);
      comm::Runtime::abort(static_cast<int>(ExitCode::kCannotCreate));
    };
  }
  return settings;
}

}  // namespace tandem::app
