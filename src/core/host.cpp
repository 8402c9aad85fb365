#include "tandem/core/host.hpp"

#include <unistd.h>

#include <array>

namespace tandem {

std::string kernel_host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace tandem
