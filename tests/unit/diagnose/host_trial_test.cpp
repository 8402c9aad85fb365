#include "diagnose/host_trial.hpp"

#include <gtest/gtest.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "diagnose/host_agent.hpp"
#include "diagnose/host_session.hpp"
#include "support/temp_dir.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"

namespace tandem::app {
namespace {

using Words = std::vector<std::string>;

std::string script(const std::string& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

const Finding* find(const std::vector<Finding>& findings, const std::string& code) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.code == code; });
  return found == findings.end() ? nullptr : &*found;
}

TEST(RemoteShell, IsTheFirstAgentWithItsWords) {
  EXPECT_EQ(remote_shell_of("ssh : rsh"), Words{"ssh"});
  EXPECT_EQ(remote_shell_of("/usr/bin/ssh  -q:rsh"), (Words{"/usr/bin/ssh", "-q"}));
  EXPECT_EQ(remote_shell_of("rsh"), Words{"rsh"});
  EXPECT_EQ(remote_shell_of(""), Words{"ssh"});
}

TEST(Network, HasTheAddressesWithItsPrefix) {
  EXPECT_TRUE(is_in_network("10.0.3.7", "10.0.0.0/22"));
  EXPECT_FALSE(is_in_network("10.0.4.7", "10.0.0.0/22"));
  EXPECT_TRUE(is_in_network("10.0.4.7", "0.0.0.0/0"));
  EXPECT_TRUE(is_in_network("10.0.4.7", "10.0.4.7"));
  EXPECT_FALSE(is_in_network("10.0.4.7", "eth0"));
  EXPECT_THROW(is_in_network("10.0.4.7", "10.0.0.0/33"), UsageError);
}

TEST(HostTrial, AnSshOfAnyPathIsToldToAskNothing) {
  const testing::TempDir folder;
  HostTrial trial;
  trial.hosts = {"203.0.113.1"};  // of no host (RFC 5737)
  trial.program = "tandem";
  for (const std::string name : {"ssh", "rsh"}) {
    const std::string asked = folder / (name + ".asked");
    trial.remote_shell = {script(folder / name, "echo \"$@\" > " + asked + "; exit 255"), "-q"};
    EXPECT_NE(find(try_hosts(trial), "E132"), nullptr);
    std::ifstream file(asked);
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    const std::string options = name == "ssh" ? "-o BatchMode=yes -o ConnectTimeout=5 " : "";
    EXPECT_EQ(words.rfind("-q " + options + "203.0.113.1 ", 0), 0U) << words;
  }
}

// The time for one silent host is that for forty.
TEST(HostTrial, ManySilentHostsTakeAsLongAsOne) {
  const testing::TempDir folder;
  HostTrial trial;
  for (int i = 1; i <= 40; ++i) trial.hosts.push_back("203.0.113." + std::to_string(i));
  trial.remote_shell = {script(folder / "rsh", "exec sleep 60")};
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Finding> findings = try_hosts(trial);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  ASSERT_EQ(findings.size(), 40U);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.code, "E132");
    EXPECT_TRUE(ends_with(finding.what, "no answer in time")) << finding.what;
  }
}

TEST(Names, AreFoundAtOnceAndInOrder) {
  const std::vector<HostName> found = look_up_all({"localhost", "no..name", "127.0.0.2"});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "localhost");
  ASSERT_FALSE(found[0].addresses.empty());
  EXPECT_EQ(found[0].addresses.front(), "127.0.0.1");
  EXPECT_FALSE(found[1].error.empty());
  EXPECT_EQ(found[2].addresses, Words{"127.0.0.2"});
}

TEST(HostTrial, NamesAHostThatAnswersNonsenseLate) {
  const testing::TempDir folder;
  HostFacts facts;
  facts.version = build_version();
  facts.interfaces = {{"eth0", "192.0.2.1", 24}};
  HostTrial trial;
  trial.hosts = {"localhost"};
  trial.program =
      script(folder / "tandem", "echo '" + Json(facts).dump() + "'; read line; echo nonsense");
  const std::vector<Finding> findings = try_hosts(trial);
  ASSERT_NE(find(findings, "E133"), nullptr);
  EXPECT_EQ(find(findings, "E133")->what, "localhost: " + trial.program + " answers 'nonsense'");
}

TEST(HostSession, KeepsItsDeadlineWhenASignalInterrupts) {
  struct sigaction action {};
  struct sigaction former {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &action, &former), 0);
  HostSession session({"sleep", "5"});
  const itimerval soon{{0, 0}, {0, 50'000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &soon, nullptr), 0);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(session.receive(start + std::chrono::milliseconds(300)));
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, std::chrono::milliseconds(300));
  EXPECT_LT(took, std::chrono::seconds(3));
  ::sigaction(SIGALRM, &former, nullptr);
}

}  // namespace
}  // namespace tandem::app
