// Setup of this process, the name of this machine, the name of this thread for debuggers, and the
// CPUs that the thread may use. Needs no MPI. Does not throw.
#pragma once

#include <string>
#include <vector>

namespace tandem {

// "localhost" if the kernel has no answer.
std::string kernel_host_name();
// As `top -H` and gdb show it; at most 15 letters.
void name_this_thread(const char* name);
// The CPUs in this thread's affinity mask, which a batch system or mpirun narrows, in order; CPU 0
// if the kernel has no answer.
std::vector<int> allowed_cpus();
// The number of cores of these CPUs, by their siblings in `folder`; without that data each CPU is a
// core.
int cores_of(const std::vector<int>& cpus, const std::string& folder = "/sys/devices/system/cpu");

// Call it first in main(), before other threads exist. Reserves descriptors 0 to 2 if they are
// closed, so that no file or connection gets them and the output meant for them; reads and writes
// on them still fail. Ignores SIGPIPE and SIGXFSZ, so that such writes fail instead of ending the
// process. Lets signals end PID 1 of a container. Raises the limit of open files up to 65,536,
// because a rank connects to many others.
void prepare_process();

}  // namespace tandem
