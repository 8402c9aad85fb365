// Ranks that run one command of tandem after another, so that a test pays once for mpirun, MPI_Init
// and loading libtorch. tests/support/kept_ranks.py sends the requests.
//
// Each rank reads requests from a named pipe: argv[1] with the rank's number appended. A request is
// a line of JSON with `folder` (to work in), `output`, `errors` (files) and `arguments`. Rank 0
// prints the exit code as a line. Between requests ranks wait in read(), because MPI would spin.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "commands/run.hpp"
#include "tandem/comm/mpi_communicator.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/host.hpp"

namespace {

// Redirects a descriptor to the end of a file, until the destructor.
class Redirection {
 public:
  Redirection(int descriptor, const std::string& path)
      : descriptor_(descriptor), original_(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (original_ < 0 || file < 0 || ::dup2(file, descriptor) < 0) std::abort();
    ::close(file);
  }
  ~Redirection() {
    ::dup2(original_, descriptor_);
    ::close(original_);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

 private:
  const int descriptor_;
  const int original_;
};

int run(const nlohmann::json& request, const tandem::comm::Runtime& runtime) {
  const Redirection output(STDOUT_FILENO, request.at("output"));
  const Redirection errors(STDERR_FILENO, request.at("errors"));
  if (::chdir(request.at("folder").get<std::string>().c_str()) != 0) std::abort();
  return tandem::app::run(request.at("arguments"), runtime);
}

}  // namespace

int main(int /*count*/, char** arguments) {
  tandem::prepare_process();
  const tandem::comm::Runtime runtime;
  tandem::comm::MpiCommunicator world = tandem::comm::MpiCommunicator::world();
  std::ifstream requests(arguments[1] + std::to_string(runtime.rank()));
  std::string line;
  while (std::getline(requests, line)) {
    std::int64_t code = run(nlohmann::json::parse(line), runtime);
    code = world.all_reduce_value(code, tandem::comm::Reduction::kMax);
    if (runtime.rank() == 0) std::cout << code << std::endl;
  }
}
