// tandem: prepares the process and runs the command line.
#include <malloc.h>

#include "commands/run.hpp"
#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/comm/launcher.hpp"
#include "tandem/core/host.hpp"

int main(int argc, char** argv) {
  tandem::prepare_process();
  tandem::comm::set_nccl_defaults();
  const tandem::comm::LauncherWatch launcher;
  // oneDNN's temporary buffers are larger than malloc's mmap threshold, so malloc would map, fault
  // in and unmap them in every step.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return tandem::app::run(tandem::app::Arguments(argv + 1, argv + argc));
}
