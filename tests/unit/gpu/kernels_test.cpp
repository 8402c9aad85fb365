// Every kernel is compiled for every GPU that the compiler of libtorch's CUDA knows.
#include <gtest/gtest.h>

#include "gpu/compiler.hpp"

namespace tandem::gpu {
namespace {

TEST(Kernels, CompileWithoutWarningsForEveryArchitecture) {
  const Compiler compiler;
  const std::vector<int> all = compiler.architectures();
  ASSERT_FALSE(all.empty());
  EXPECT_LE(all.front(), 75);
  for (const int architecture : all) {
    const Compiled compiled = compiler.compile(architecture);
    EXPECT_EQ(compiled.log, "") << "sm_" << architecture;
    EXPECT_EQ(compiled.binary.substr(1, 3), "ELF") << "sm_" << architecture;
    // Each kernel is there for each of its types.
    for (const char* name :
         {"augment_half", "norm_statistics_bfloat16_10", "norm_apply_float_21",
          "norm_gradient_sums_half_02", "norm_of_x_bfloat16_12", "cross_entropy_bfloat16",
          "gradient_norm_all", "scale_gradients_all", "add_step_all", "copy_where_all",
          "muon_begin_all", "muon_stack_bfloat16", "muon_end_float"}) {
      EXPECT_NE(compiled.binary.find(name), std::string::npos) << name;
    }
  }
}

TEST(Kernels, AreTranslatedByTheDriverForGpusThatTheCompilerDoesNotKnow) {
  const Compiled compiled = Compiler().compile(999);
  EXPECT_NE(compiled.binary.find(".visible .entry augment_half"), std::string::npos);
}

TEST(Kernels, AreRefusedForGpusThatAreTooOld) { EXPECT_ANY_THROW(Compiler().compile(30)); }

}  // namespace
}  // namespace tandem::gpu
