#include "fault_code.hpp"

namespace tandem::app {
namespace {

int weight_of(ExitCode code) {
  switch (code) {
    case ExitCode::kDone:
      return -4;
    case ExitCode::kMissingInput:
      return -3;
    case ExitCode::kIo:
      return -2;
    case ExitCode::kBadData:
      return -1;
    default:
      return static_cast<int>(code);
  }
}

}  // namespace

ExitCode worse_of(ExitCode one, ExitCode other) {
  return weight_of(one) >= weight_of(other) ? one : other;
}

}  // namespace tandem::app
