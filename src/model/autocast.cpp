#include "tandem/model/autocast.hpp"

#include <ATen/autocast_mode.h>

namespace tandem::model {

AutocastScope::AutocastScope(Precision precision, torch::DeviceType device)
    : device_(device), before_(autocast_on(device)) {
  set_autocast_on(device_, {precision == Precision::kBf16 || precision == Precision::kFp16,
                            precision == Precision::kFp16 ? torch::kFloat16 : torch::kBFloat16});
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  set_autocast_on(device_, before_);
}

}  // namespace tandem::model
