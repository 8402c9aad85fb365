#include "lock_record.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tandem::metrics {
namespace {

constexpr double kSilence = 30;

LockRecord record_of(const std::string& host, const std::string& boot) {
  LockRecord record;
  record.process = 4711;
  record.host = host;
  record.boot = boot;
  record.pid_namespace = "pid:[1]";
  record.started = 100;
  record.inode = 5;
  record.token = "t1";
  return record;
}

LockRecord self() {
  LockRecord record = record_of("here", "boot-here");
  record.process = 12;
  record.token = "t2";
  return record;
}

LockVerdict judge(const std::string& content, std::optional<std::uint64_t> owner_start = {},
                  double silent_seconds = 0) {
  return judge_lock({content, content, silent_seconds, owner_start}, self(), kSilence);
}

TEST(LockRecord, IsReadAsItWasWritten) {
  LockRecord record = record_of("node 8.site", "0b1f-22");
  record.beat = 7;
  const std::string before = record.text();
  const auto read = LockRecord::parse(before);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), before);
  EXPECT_EQ(read->host, "node 8.site");
  EXPECT_EQ(read->started, 100U);
  EXPECT_EQ(read->beat, 7U);
  EXPECT_EQ(read->inode, 5U);
  EXPECT_FALSE(read->released);
  record.beat = 123456;
  record.released = true;
  EXPECT_EQ(record.text().size(), before.size()) << "a beat is one write over the one before";
  EXPECT_TRUE(LockRecord::parse(record.text())->released);
}

TEST(LockRecord, TellsThisProcessFromAnyOther) {
  const LockRecord one = LockRecord::of_this_process();
  EXPECT_EQ(one.process, ::getpid());
  EXPECT_EQ(start_of_process(::getpid()), one.started);
  EXPECT_GT(one.started, 0U);
  EXPECT_FALSE(one.boot.empty());
  EXPECT_NE(one.token, LockRecord::of_this_process().token);
}

TEST(LockRecord, AProcessThatEndedDoesNotRun) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(start_of_process(child), std::nullopt) << "nobody has waited for it yet";
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(start_of_process(child), std::nullopt);
  EXPECT_EQ(start_of_process(0), std::nullopt);
}

TEST(JudgeLock, IsFreeWhereNobodyWroteOrWhoWroteHasEnded) {
  LockRecord released = record_of("there", "boot-there");
  released.released = true;
  for (const std::string& content :
       {std::string(), std::string(300, '\0'), released.text(),
        std::string("process 4711 on there\n")}) {  // as programs before wrote it
    EXPECT_EQ(judge(content, 100), LockVerdict::kFree) << content;
  }
}

TEST(JudgeLock, AsksTheKernelForAnOwnerOnThisHost) {
  const std::string content = record_of("here", "boot-here").text();
  EXPECT_EQ(judge(content, 100), LockVerdict::kHeld);
  EXPECT_EQ(judge(content, 100, kSilence), LockVerdict::kHeld) << "suspended, it is still there";
  EXPECT_EQ(judge(content, std::nullopt), LockVerdict::kFree);
  EXPECT_EQ(judge(content, 101), LockVerdict::kFree) << "another process has its number";
  EXPECT_EQ(judge(content, 0), LockVerdict::kUnclear) << "the kernel does not tell";
}

TEST(JudgeLock, WatchesTheOwnerOfAFolderThatMayBeACopy) {
  LockRecord copied = record_of("here", "boot-here");
  copied.inode = 6;
  EXPECT_EQ(judge(copied.text(), 100), LockVerdict::kUnclear);
  EXPECT_EQ(judge(copied.text(), 100, kSilence), LockVerdict::kFree);
  EXPECT_EQ(judge(copied.text(), std::nullopt), LockVerdict::kFree);
}

TEST(JudgeLock, WatchesAnOwnerThatThisHostCannotSee) {
  LockRecord container = record_of("here", "boot-here");
  container.pid_namespace = "pid:[2]";
  LockRecord unknown = record_of("here", "");
  LockRecord nobody = self();
  nobody.boot.clear();
  for (const std::string& content :
       {record_of("there", "boot-there").text(), record_of("here", "boot-before").text(),
        container.text(), unknown.text(), std::string("%\x01what a crash left")}) {
    EXPECT_EQ(judge(content, std::nullopt), LockVerdict::kUnclear) << content;
    EXPECT_EQ(judge(content, 100), LockVerdict::kUnclear) << content;
    EXPECT_EQ(judge(content, std::nullopt, kSilence - 1), LockVerdict::kUnclear) << content;
    EXPECT_EQ(judge(content, std::nullopt, kSilence), LockVerdict::kFree) << content;
  }
  EXPECT_EQ(judge_lock({unknown.text(), unknown.text(), 0, {}}, nobody, kSilence),
            LockVerdict::kUnclear)
      << "two hosts that do not know their boots are not one";
}

TEST(JudgeLock, ABeatOrAnotherOwnerEndsTheWatch) {
  LockRecord owner = record_of("there", "boot-there");
  const std::string first = owner.text();
  ++owner.beat;
  EXPECT_EQ(judge_lock({first, owner.text(), 1, {}}, self(), kSilence), LockVerdict::kHeld);
  EXPECT_EQ(judge_lock({first, owner.text(), kSilence, {}}, self(), kSilence), LockVerdict::kHeld);
  owner.token = "another's";
  EXPECT_EQ(judge_lock({first, owner.text(), 1, {}}, self(), kSilence), LockVerdict::kHeld);
  owner.released = true;
  EXPECT_EQ(judge_lock({first, owner.text(), 1, {}}, self(), kSilence), LockVerdict::kFree);
}

TEST(JudgeBeat, IsLostToAnotherOwnerAlone) {
  LockRecord record = record_of("there", "boot-there");
  EXPECT_EQ(judge_beat(record.text(), "t1", ""), BeatVerdict::kOwned);
  EXPECT_EQ(judge_beat(record.text(), "t2", ""), BeatVerdict::kLost);
  EXPECT_EQ(judge_beat(record.text(), "t2", "t1"), BeatVerdict::kOwned)
      << "it woke in the middle of a beat and learns at its next one";
  EXPECT_EQ(judge_beat("process 4711 on there\n", "t2", ""), BeatVerdict::kLost);
  EXPECT_EQ(judge_beat("", "t2", ""), BeatVerdict::kOwned);
  EXPECT_EQ(judge_beat("proc", "t2", ""), BeatVerdict::kUnclear);
}

}  // namespace
}  // namespace tandem::metrics
