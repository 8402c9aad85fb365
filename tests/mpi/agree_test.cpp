#include "tandem/comm/agree.hpp"

#include <gtest/gtest.h>

#include "support/mpi_test.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/runtime.hpp"

namespace tandem::comm {
namespace {

// What every rank must catch.
template <typename Step>
std::pair<ExitCode, std::string> failure_of(const Step& step) {
  try {
    step();
  } catch (const AgreedError& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::kDone, ""};
}

TEST(Agree, PassesWhereAllPass) {
  auto comm = MpiCommunicator::world();
  int calls = 0;
  agree(comm, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(Agree, OneFailureIsEverybodys) {
  REQUIRE_RANKS(2);
  auto comm = MpiCommunicator::world();
  const int last = comm.size() - 1;
  const auto found = failure_of([&] {
    agree(comm, [&] {
      if (comm.rank() == last) throw MissingInputError("train.h5: not there");
    });
  });
  EXPECT_EQ(found.first, ExitCode::kMissingInput);
  EXPECT_EQ(found.second,
            "rank " + std::to_string(last) + " (" + host_name() + "): train.h5: not there");
}

TEST(Agree, FailingAlikeNamesNoRank) {
  auto comm = MpiCommunicator::world();
  const auto found = failure_of([&] { agree(comm, [] { throw DataError("damaged"); }); });
  EXPECT_EQ(found.first, ExitCode::kBadData);
  EXPECT_EQ(found.second, "damaged");
}

TEST(Agree, TheLowestFailingRankSpeaks) {
  REQUIRE_RANKS(3);
  auto comm = MpiCommunicator::world();
  const auto found = failure_of([&] {
    agree(comm, [&] {
      if (comm.rank() == 1) throw IoError("one");
      if (comm.rank() == 2) throw DataError("two");
    });
  });
  EXPECT_EQ(found.first, ExitCode::kIo);
  EXPECT_EQ(found.second, "rank 1 (" + host_name() + "): one");
}

TEST(Agree, ForeignExceptionsAreInternalErrors) {
  auto comm = MpiCommunicator::world();
  const auto found =
      failure_of([&] { agree(comm, [] { throw std::runtime_error("from elsewhere"); }); });
  EXPECT_EQ(found.first, ExitCode::kInternal);
}

TEST(Agree, RankZeroAloneWorksAndFailsForAll) {
  auto comm = MpiCommunicator::world();
  int calls = 0;
  agree_on_rank_0(comm, [&] { ++calls; });
  EXPECT_EQ(calls, comm.rank() == 0 ? 1 : 0);
  const auto found =
      failure_of([&] { agree_on_rank_0(comm, [] { throw CannotCreateError("no folder"); }); });
  EXPECT_EQ(found.first, ExitCode::kCannotCreate);
  EXPECT_EQ(found.second, "no folder");
}

TEST(RequireEqual, PassesWhereFieldsAreEqual) {
  auto comm = MpiCommunicator::world();
  EXPECT_EQ(failure_of([&] {
              require_equal(comm, {{"--lr", "0.1"}, {"data", "abc"}});
            }).first,
            ExitCode::kDone);
}

TEST(RequireEqual, NamesFieldRanksAndValues) {
  REQUIRE_RANKS(3);
  auto comm = MpiCommunicator::world();
  const std::string lr = comm.rank() == 0 ? "0.1" : "0.2";
  const auto found = failure_of([&] { require_equal(comm, {{"--seed", "1"}, {"--lr", lr}}); });
  EXPECT_EQ(found.first, ExitCode::kDisagreement);
  const std::string ranks = "ranks 1-" + std::to_string(comm.size() - 1);
  EXPECT_NE(found.second.find("--lr: " + ranks + " have '0.2', rank 0 has '0.1'"),
            std::string::npos)
      << found.second;
  EXPECT_EQ(found.second.find("--seed"), std::string::npos) << found.second;
}

TEST(RequireEqual, SpeaksOfOneRankAndOfNothing) {
  REQUIRE_RANKS(2);
  auto comm = MpiCommunicator::world();
  const int last = comm.size() - 1;
  const bool is_last = comm.rank() == last;
  const auto found = failure_of([&] {
    require_equal(comm, {{"--data", is_last ? "" : "a.h5"}, {"--seed", is_last ? "2" : ""}});
  });
  const std::string who = ": rank " + std::to_string(last) + " has ";
  EXPECT_EQ(
      found.second.substr(found.second.find('\n')),
      "\n  --data" + who + "none, rank 0 has 'a.h5'\n  --seed" + who + "'2', rank 0 has none");
}

TEST(RequireEqual, SaysWhichFieldARankDoesNotKnow) {
  REQUIRE_RANKS(2);
  auto comm = MpiCommunicator::world();
  Fields fields{{"program", "1"}, {"--new", "on"}};
  if (comm.rank() == 1) fields.pop_back();
  const auto found = failure_of([&] { require_equal(comm, fields); });
  EXPECT_NE(found.second.find("--new: rank 1 has"), std::string::npos) << found.second;
}

}  // namespace
}  // namespace tandem::comm
