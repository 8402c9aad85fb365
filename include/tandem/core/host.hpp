// The name of this machine, the name of this thread for debuggers, and the CPUs that the thread may
// use. Needs no MPI. Does not throw.
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

}  // namespace tandem
