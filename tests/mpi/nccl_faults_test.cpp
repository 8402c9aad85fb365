// What goes wrong between GPUs, done by the stand-in.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "nccl_subject.hpp"
#include "support/failing_calls.hpp"
#include "support/mpi_test.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/runtime.hpp"

namespace tandem::comm {
namespace {

using Clock = std::chrono::steady_clock;

class NcclFaults : public ::testing::Test {
 protected:
  int rank() const { return subject_.world.rank(); }
  int last() const { return subject_.world.size() - 1; }
  testing::NcclStandIn& stand_in() { return *subject_.stand_in; }

  // The agreed failure to connect, empty where it does connect.
  std::string failure_to_connect(ExitCode expected = ExitCode::kUnavailable) {
    try {
      subject_.connect();
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.code(), expected);
      return error.what();
    }
    return "";
  }
  std::string place() const {
    return "rank " + std::to_string(last()) + " (" + host_name() + "): ";
  }

  std::string gpu(int of) const { return "GPU " + std::to_string(of) + ": "; }
  std::string gpu() const { return gpu(rank()); }

  NcclSubject subject_;
};

template <typename Step>
std::string failure_of(const Step& step) {
  try {
    step();
  } catch (const UnavailableError& error) {
    return error.what();
  }
  return "";
}

TEST_F(NcclFaults, TheIdIsMadeOnRankZeroAlone) {
  if (rank() != 0) stand_in().faults.returns["ncclGetUniqueId"] = ncclSystemError;
  EXPECT_EQ(failure_to_connect(), "");
  if (rank() == 0) stand_in().faults.returns["ncclGetUniqueId"] = ncclSystemError;
  EXPECT_EQ(failure_to_connect().rfind("ncclGetUniqueId failed: ", 0), 0U);
}

TEST_F(NcclFaults, ARankThatDoesNotConnectEndsAllWithOneMessage) {
  ASSERT_EQ(setenv("NCCL_TEST_SETTING", std::to_string(rank()).c_str(), 1), 0);
  stand_in().faults.hangs_in_init = last();
  subject_.settings.init_timeout = 0.2;
  const auto start = Clock::now();
  const std::string failure = failure_to_connect();
  ASSERT_EQ(unsetenv("NCCL_TEST_SETTING"), 0);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));
  EXPECT_NE(failure.find(" within 0.2 s (--init-timeout)"), std::string::npos) << failure;
  for (int each = 0; each <= last(); ++each) {
    const std::string number = std::to_string(each);
    const std::size_t line =
        failure.find("\n  rank " + number + " waits: " + host_name() + ", GPU " + number + ", ");
    ASSERT_NE(line, std::string::npos) << failure;
    EXPECT_NE(failure.find("NCCL_TEST_SETTING=" + number, line), std::string::npos) << failure;
  }
  EXPECT_EQ(stand_in().living(), 1);  // of the thread that is left behind
}

TEST_F(NcclFaults, APeerThatComesTooLateFindsNobody) {
  const std::shared_ptr<const GpuApi>& library = stand_in().gpu().api;
  const auto users = library.use_count();
  stand_in().faults.hangs_in_init = last();
  subject_.settings.init_timeout = 0.2;
  EXPECT_NE(failure_to_connect().find(" within 0.2 s"), std::string::npos);
  EXPECT_EQ(library.use_count(), users + 1) << "the thread that is left behind has its own share";
  subject_.world.barrier();  // Once the last rank connects, the threads of the others end, too.
  stand_in().let_late_ranks_connect();
  while (library.use_count() > users) std::this_thread::yield();
  EXPECT_EQ(stand_in().living(), 0) << "the thread ends what it has made";
}

TEST_F(NcclFaults, RanksWithAnotherNcclAreRefusedByName) {
  REQUIRE_RANKS(2);
  if (rank() == last()) stand_in().faults.version = 22705;
  const std::string failure = failure_to_connect(ExitCode::kDisagreement);
  const std::string expected = "rank 0 (" + host_name() + ") has NCCL " +
                               nccl_version_text(NCCL_VERSION_CODE) + ", rank " +
                               std::to_string(last()) + " (" + host_name() +
                               ") has NCCL 2.27.5; NCCL connects ranks of one version only";
  EXPECT_EQ(failure.rfind(expected, 0), 0U) << failure;
}

TEST_F(NcclFaults, AFailureToConnectIsThatOfAllRanksAtOnce) {
  if (rank() == last()) stand_in().faults.returns["ncclCommInitRankConfig"] = ncclSystemError;
  const std::string failure = failure_to_connect();
  const std::string expected =
      "ncclCommInitRankConfig failed: an error of the stand-in (its last words)";
  EXPECT_EQ(failure.rfind((last() == 0 ? "" : place()) + expected, 0), 0U) << failure;
  EXPECT_EQ(stand_in().living(), rank() == last() ? 0 : 1);
}

TEST_F(NcclFaults, AGpuThatCannotBeUsedIsNamed) {
  if (rank() == last()) stand_in().faults.returns["cudaSetDevice"] = cudaErrorInvalidDevice;
  const std::string failure = failure_to_connect();
  EXPECT_EQ(failure.rfind((last() == 0 ? "" : place()) + gpu(last()) + "cudaSetDevice failed: ", 0),
            0U)
      << failure;
}

TEST_F(NcclFaults, ACollectiveThatFailsIsNamed) {
  subject_.connect();
  NcclSubject::Memory<float> memory(subject_, {1});
  stand_in().faults.returns["ncclAllReduce"] = ncclUnhandledCudaError;
  EXPECT_EQ(failure_of([&] {
              subject_.nccl->iall_reduce(memory.span());
            }).rfind(gpu() + "ncclAllReduce failed: ", 0),
            0U);
  stand_in().faults.returns = {{"cudaStreamWaitEvent", cudaErrorLaunchFailure}};
  EXPECT_EQ(failure_of([&] {
              subject_.nccl->all_reduce(memory.span());
            }).rfind(gpu() + "cudaStreamWaitEvent failed: ", 0),
            0U);
  stand_in().faults.returns.clear();
  subject_.nccl.reset();
  EXPECT_EQ(stand_in().living(), 0);
}

TEST_F(NcclFaults, PeersConnectAtTheStartUnlessTheUserSaysOtherwise) {
  ASSERT_EQ(unsetenv("NCCL_RUNTIME_CONNECT"), 0);
  subject_.connect();
  EXPECT_STREQ(getenv("NCCL_RUNTIME_CONNECT"), "0");
  ASSERT_EQ(setenv("NCCL_RUNTIME_CONNECT", "1", 1), 0);
  subject_.nccl.reset();
  subject_.connect();
  EXPECT_STREQ(getenv("NCCL_RUNTIME_CONNECT"), "1");
}

// Where the main thread waits for a GPU.
TEST_F(NcclFaults, AnotherThreadMayCheckMeanwhile) {
  subject_.connect();
  NcclSubject::Memory<float> memory(subject_, {1});
  std::atomic<bool> done{false};
  std::atomic<int> noticed{0};
  std::thread other([&] {
    while (!done) {
      try {
        subject_.nccl->check();
      } catch (const UnavailableError&) {
        ++noticed;
      }
    }
  });
  for (int i = 0; i < 100; ++i) subject_.nccl->all_reduce(memory.span());
  memory.read();  // after all of them
  EXPECT_EQ(noticed, 0);
  stand_in().report_asynchronous_error(ncclRemoteError);
  while (noticed == 0) std::this_thread::yield();
  done = true;
  other.join();
}

TEST_F(NcclFaults, AnAsynchronousErrorIsThrownByWhateverAsksNext) {
  subject_.connect();
  NcclSubject::Memory<float> memory(subject_, {1});
  {
    const auto request = subject_.nccl->iall_reduce(memory.span());
    stand_in().report_asynchronous_error(ncclRemoteError);
    const std::string expected =
        gpu() +
        "an NCCL collective failed: remote process exited or there was a network error (its last "
        "words); another rank may have printed the reason";
    EXPECT_EQ(failure_of([&] { request->wait(); }).rfind(expected, 0), 0U);
    EXPECT_EQ(failure_of([&] { request->test(); }).rfind(expected, 0), 0U);
    EXPECT_EQ(failure_of([&] { subject_.nccl->check(); }).rfind(expected, 0), 0U);
  }
  subject_.nccl.reset();
  EXPECT_EQ(stand_in().living(), 0);
}

TEST_F(NcclFaults, ALostPeerThatIsNoticedIsAnError) {
  REQUIRE_RANKS(2);
  subject_.connect();
  NcclSubject::Memory<float> memory(subject_, {1});
  stand_in().faults.hangs_in_collective = last();
  stand_in().faults.lost = true;
  const auto exchange = [&] {
    const auto request = subject_.nccl->iall_reduce(memory.span());
    while (rank() != last() && !request->test()) {
    }
  };
  const std::string failure = failure_of(exchange);
  if (rank() != last()) {
    EXPECT_NE(failure.find("remote process exited"), std::string::npos) << failure;
  }
}

// Or is lost within a host, which NCCL does not notice. The watchdog ends such a job; nothing may
// hang until then.
TEST_F(NcclFaults, APeerThatHangsHoldsUpNoDestructor) {
  subject_.connect();
  NcclSubject::Memory<float> memory(subject_, {1});
  stand_in().faults.hangs_in_collective = last();
  const auto start = Clock::now();
  EXPECT_FALSE(subject_.nccl->iall_reduce(memory.span())->test());
  subject_.nccl.reset();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(stand_in().living(), 0);
}

// Also that of a CUDA graph that holds collectives: NCCL waits for the graph's end.
TEST_F(NcclFaults, AnEndThatHangsIsLeft) {
  subject_.connect();
  stand_in().report_asynchronous_error(ncclSystemError);
  EXPECT_THROW(subject_.nccl->check(), UnavailableError);
  stand_in().faults.abort_hangs = true;
  const auto start = Clock::now();
  subject_.nccl.reset();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

TEST_F(NcclFaults, AnEndWithoutAThreadLeavesTheConnectionAsItIs) {
  subject_.connect();
  {
    const testing::FailingCalls refused("pthread_create", "", EAGAIN);
    subject_.nccl.reset();
    EXPECT_EQ(refused.count(), 1);
  }
  EXPECT_EQ(stand_in().living(), 1);
}

TEST_F(NcclFaults, AnExceptionLeavesTheConnectionAsItIs) {
  const auto fail = [&] {
    const NcclCommunicator nccl(stand_in().gpu().api, subject_.world, subject_.settings);
    throw DataError("damaged");
  };
  EXPECT_THROW(fail(), DataError);
  EXPECT_EQ(stand_in().living(), 1);
}

}  // namespace
}  // namespace tandem::comm
