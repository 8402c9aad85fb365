#include "tandem/core/host.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>

namespace tandem {

std::string kernel_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace tandem
