// The main of every test program that runs under mpirun: the ranks run the same tests in the same
// order, a test passes only where it passes on all ranks, and rank 0 prints for all.
//
// It calls MPI itself: the harness must not depend on the code that it tests.

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/mpi_test.hpp"

namespace tandem::testing {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

namespace {

// How long a rank whose test failed waits for the others, which may wait for it in a collective.
constexpr std::chrono::seconds kPatience{10};

std::string failures_of(const ::testing::TestResult& result) {
  std::string text;
  for (int i = 0; i < result.total_part_count(); ++i) {
    const ::testing::TestPartResult& part = result.GetTestPartResult(i);
    if (!part.failed()) continue;
    const char* file = part.file_name() == nullptr ? "unknown file" : part.file_name();
    text += std::string(file) + ":" + std::to_string(part.line_number()) + ": " + part.message();
    text += "\n";
  }
  return text;
}

// At the end of every test and suite, a collective that all ranks reach, each rank takes over the
// failures of all others. So the ranks agree on every result, and rank 0's printer shows them all.
class SharedFailures : public ::testing::EmptyTestEventListener {
 public:
  // Its own communicator, on which nothing else is sent.
  SharedFailures() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
  }
  ~SharedFailures() override { MPI_Comm_free(&comm_); }

  void OnTestEnd(const ::testing::TestInfo& test) override { share(failures_of(*test.result())); }
  void OnTestSuiteEnd(const ::testing::TestSuite& suite) override {
    share(failures_of(suite.ad_hoc_test_result()));
  }

 private:
  void share(const std::string& own) {
    wait_for_all(own);
    const std::vector<std::string> texts = gather(own);
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      if (texts[rank].empty() || static_cast<int>(rank) == world_rank()) continue;
      ADD_FAILURE() << "[rank " << rank << "] " << texts[rank];
    }
  }

  // Ranks that passed wait as long as mpirun lets them; a rank that failed ends them all.
  void wait_for_all(const std::string& own) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &request);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    int all_here = 0;
    while (MPI_Test(&request, &all_here, MPI_STATUS_IGNORE), all_here == 0) {
      if (!own.empty() && std::chrono::steady_clock::now() > deadline) {
        std::fprintf(stderr, "[rank %d] %s[rank %d] the other ranks did not end this test\n",
                     world_rank(), own.c_str(), world_rank());
        MPI_Abort(comm_, 1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::vector<std::string> gather(const std::string& own) {
    const int bytes = static_cast<int>(own.size());
    std::vector<int> bytes_of(static_cast<std::size_t>(world_size()));
    MPI_Allgather(&bytes, 1, MPI_INT, bytes_of.data(), 1, MPI_INT, comm_);
    std::vector<int> offsets(bytes_of.size());
    std::exclusive_scan(bytes_of.begin(), bytes_of.end(), offsets.begin(), 0);
    std::string all(static_cast<std::size_t>(offsets.back() + bytes_of.back()), '\0');
    MPI_Allgatherv(own.data(), bytes, MPI_CHAR, all.data(), bytes_of.data(), offsets.data(),
                   MPI_CHAR, comm_);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < bytes_of.size(); ++i) {
      texts.push_back(
          all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(bytes_of[i])));
    }
    return texts;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Which tests run, and in which order, is rank 0's decision: launchers do not forward GTEST_*
// variables to other hosts, and each rank would draw its own shuffle seed.
void take_over_selection_of_rank_0() {
  std::string filter = GTEST_FLAG_GET(filter);
  std::array<int, 4> values{static_cast<int>(filter.size()), GTEST_FLAG_GET(shuffle),
                            GTEST_FLAG_GET(random_seed), GTEST_FLAG_GET(repeat)};
  if (values[2] == 0) values[2] = static_cast<int>(1 + std::time(nullptr) % 99999);
  MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_INT, 0, MPI_COMM_WORLD);
  filter.resize(static_cast<std::size_t>(values[0]));
  MPI_Bcast(filter.data(), values[0], MPI_CHAR, 0, MPI_COMM_WORLD);
  GTEST_FLAG_SET(filter, filter);
  GTEST_FLAG_SET(shuffle, values[1] != 0);
  GTEST_FLAG_SET(random_seed, values[2]);
  GTEST_FLAG_SET(repeat, values[3]);
}

int run_tests() {
  take_over_selection_of_rank_0();
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (world_rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
  }
  // Last in the list: events that end something reach listeners in reverse, so rank 0's printer
  // hears of a test's end after the failures of the others.
  auto* shared = new SharedFailures;
  listeners.Append(shared);
  const int own = RUN_ALL_TESTS();
  delete listeners.Release(shared);  // while MPI is still there; GoogleTest would do it at exit

  // They differ where a rank failed outside of its tests, which only that rank can tell.
  int of_rank_0 = own;
  MPI_Bcast(&of_rank_0, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (own != of_rank_0) {
    std::fprintf(stderr, "[rank %d] ended with %d, rank 0 with %d\n", world_rank(), own, of_rank_0);
  }
  int any = own;
  MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any;
}

}  // namespace
}  // namespace tandem::testing

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // as the product does
  ::testing::InitGoogleTest(&argc, argv);
  const int result = tandem::testing::run_tests();
  MPI_Finalize();
  return result;
}
