#include "cli/plan_options.hpp"

#include <gtest/gtest.h>

#include "support/train_options.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

TEST(ParseLink, ReadsRateLatencyAndOversubscription) {
  EXPECT_DOUBLE_EQ(parse_link("25gbit").bytes_per_second, 25e9 / 8);
  EXPECT_DOUBLE_EQ(parse_link("25gbit").latency, 20e-6);
  EXPECT_DOUBLE_EQ(parse_link("25gbit").oversubscription, 1);
  EXPECT_DOUBLE_EQ(parse_link("100Mbit,0us").bytes_per_second, 100e6 / 8);
  EXPECT_DOUBLE_EQ(parse_link("100Mbit,0us").latency, 0);
  EXPECT_DOUBLE_EQ(parse_link("2.5GBIT,0.5ms").latency, 500e-6);
  const comm::Link link = parse_link("25gbit,2:1,5us");
  EXPECT_DOUBLE_EQ(link.latency, 5e-6);
  EXPECT_DOUBLE_EQ(link.oversubscription, 2);
}

TEST(ParseLink, RefusesOtherUnits) {
  for (const char* text : {"25", "25gb", "25gbyte", "gbit", "0gbit", "-1gbit", "25gbit,5", "5us",
                           "25gbit,", "25gbit,0.5:1", "25gbit,2:2", "nangbit", "25 gbit"}) {
    EXPECT_THROW(parse_link(text), UsageError) << text;
  }
}

// The faults of a command line, or "".
std::string faults_of(const Arguments& arguments) {
  try {
    testing::request_of(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(PlanOptions, DescribeHosts) {
  const TrainRequest request =
      testing::request_of({"--plan", "--hosts", "4", "--ranks-per-host", "8", "--link", "25gbit"});
  const auto& target = request.reporting.plan_target;
  ASSERT_TRUE(target);
  EXPECT_EQ(target->placement.ranks(), 32);
  EXPECT_EQ(faults_of({"--plan", "--hosts", "1", "--ranks-per-host", "8"}), "")
      << "one host needs no link";
  EXPECT_EQ(faults_of({"--plan"}), "");
}

TEST(PlanOptions, AFaultHasItsFix) {
  const auto has = [](const std::vector<std::string>& arguments, const std::string& fix) {
    return faults_of(arguments).find(fix) != std::string::npos;
  };
  EXPECT_TRUE(has({"--plan", "--link", "25gbit"}, "--link describes the hosts of a plan; add"));
  EXPECT_TRUE(has({"--plan", "--ranks-per-host", "2"}, "add --hosts"));
  EXPECT_TRUE(has({"--hosts", "1", "--ranks-per-host", "2"}, "add --plan"));
  EXPECT_TRUE(has({"--hosts", "a,b"}, "add --plan"));
  EXPECT_FALSE(has({"--hosts", "a,b"}, "is not a whole number")) << "one fault, one message";
  const auto with = [&](std::vector<std::string> more, const std::string& fix) {
    more.insert(more.begin(), {"--plan", "--hosts"});
    return has(more, fix);
  };
  EXPECT_TRUE(with({"0", "--ranks-per-host", "2"}, "--hosts: '0' is not a whole number from 1"));
  EXPECT_TRUE(with({"0", "--ranks-per-host", "2", "--global-batch-size", "64"}, "'0' is not"));
  EXPECT_TRUE(with({"2", "--link", "25gbit"}, "add, for example, --ranks-per-host 8"));
  EXPECT_TRUE(with({"2", "--ranks-per-host", "2"}, "add, for example, --link 25gbit"));
  EXPECT_TRUE(with({"2", "--ranks-per-host", "2", "--link", "25gb"}, "'25gb' is not a rate"));
  EXPECT_TRUE(with({"9999", "--ranks-per-host", "9999", "--link", "1gbit"}, "65,536 ranks"));
  EXPECT_TRUE(
      with({"1", "--ranks-per-host", "8", "--global-batch-size", "256"}, "--batch-size 32"));
  EXPECT_TRUE(with({"1", "--ranks-per-host", "8", "--all-reduce", "mpi"}, "flat or two-level"));
  EXPECT_TRUE(with({"1", "--ranks-per-host", "8", "--virtual-ranks", "8"}, "leave out --virtual"));
  EXPECT_TRUE(with({"1", "--ranks-per-host", "8", "--grad-dtype", "powersgd"}, "fp32 or bf16"));
}

}  // namespace
}  // namespace tandem::app
