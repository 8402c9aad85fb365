#include "tandem/core/error.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <system_error>

namespace tandem {
namespace {

const std::error_code kNoMore = std::make_error_code(std::errc::resource_unavailable_try_again);

TEST(Error, CarriesItsCode) {
  EXPECT_EQ(code_of(IoError("x")), ExitCode::kIo);
  EXPECT_EQ(code_of(std::runtime_error("x")), ExitCode::kInternal);
}

TEST(Error, AThreadThatIsNotGrantedIsNamedWithTheLimits) {
  const std::system_error refused(kNoMore);
  EXPECT_EQ(code_of(refused), ExitCode::kUnavailable);
  EXPECT_NE(message_of(refused).find("ulimit -u"), std::string::npos) << message_of(refused);
  const std::filesystem::filesystem_error of_a_file("x", kNoMore);
  EXPECT_EQ(code_of(of_a_file), ExitCode::kInternal);
  EXPECT_EQ(message_of(of_a_file).find("ulimit"), std::string::npos);
}

}  // namespace
}  // namespace tandem
