#include "register.hpp"

#include "call.hpp"

namespace tandem::gpu {
namespace {

template <Operator* operation>
void boxed(const c10::OperatorHandle& /*unused*/, torch::jit::Stack* stack) {
  operation(*stack);
}

template <Operator* operation>
torch::CppFunction function() {
  return torch::CppFunction::makeFromBoxedFunction<&boxed<operation>>();
}

}  // namespace

void register_operators(torch::Library& library) {
  library.impl("augment", function<augment>());
  library.impl("norm_forward", function<norm_forward>());
  library.impl("norm_backward", function<norm_backward>());
  library.impl("bias_activation", function<bias_activation>());
  library.impl("bias_gradient", function<bias_gradient>());
  library.impl("cross_entropy", function<cross_entropy>());
  library.impl("unscale_and_clip", function<unscale_and_clip>());
  library.impl("add_up", function<add_up>());
  library.impl("restore_where", function<restore_where>());
  library.impl("muon_begin", function<muon_begin>());
  library.impl("muon_stack", function<muon_stack>());
  library.impl("muon_end", function<muon_end>());
}

}  // namespace tandem::gpu
