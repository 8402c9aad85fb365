// tandem: prepares the process and runs the command line.
#include <malloc.h>
#include <signal.h>

#include "commands/run.hpp"
#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/comm/launcher.hpp"
#include "tandem/core/host.hpp"

namespace {
// Open MPI may be linked to UCX, whose constructor handles SIGHUP before main(), although nohup had
// the process ignore it. Functions in an executable's .preinit_array run before constructors of its
// libraries (System V ABI, "Initialization and Termination Functions").
struct sigaction hangup_at_start {};
void remember_hangup() { sigaction(SIGHUP, nullptr, &hangup_at_start); }
[[gnu::section(".preinit_array"), gnu::used]] void (*const kRunsFirst)() = remember_hangup;

void keep_ignoring_hangup() {
  if (hangup_at_start.sa_handler == SIG_IGN) sigaction(SIGHUP, &hangup_at_start, nullptr);
}
}  // namespace

int main(int argc, char** argv) {
  keep_ignoring_hangup();
  tandem::prepare_process();
  tandem::comm::set_nccl_defaults();
  const tandem::comm::LauncherWatch launcher;
  // oneDNN's temporary buffers are larger than malloc's mmap threshold, so malloc would map, fault
  // in and unmap them in every step.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return tandem::app::run(tandem::app::Arguments(argv + 1, argv + argc));
}
