#include "tandem/core/clock.hpp"

#include <chrono>

namespace tandem {

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace tandem
