#include "tandem/core/host.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>

namespace tandem {

std::string kernel_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

std::vector<int> allowed_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return {0};
  std::vector<int> cpus;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &mask)) cpus.push_back(static_cast<int>(i));
  }
  return cpus;
}

int cores_of(const std::vector<int>& cpus, const std::string& folder) {
  std::set<std::string> cores;
  for (const int cpu : cpus) {
    const std::string name = "cpu" + std::to_string(cpu);
    std::ifstream file(folder + "/" + name + "/topology/thread_siblings_list");
    std::string siblings;
    std::getline(file, siblings);
    cores.insert(siblings.empty() ? name : siblings);
  }
  return static_cast<int>(cores.size());
}

}  // namespace tandem
