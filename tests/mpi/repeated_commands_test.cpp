// Each rank runs several commands in one process, which starts MPI once. Two trainings with one
// seed must give the same weights, and an error of a command must not affect the next.
// Argument: a folder to work in.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "commands/run.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/metrics/run_record.hpp"

namespace tandem::app {
namespace {

void require(bool holds, const std::string& what) {
  if (holds) return;
  print_error(what);
  comm::Runtime::abort(EXIT_FAILURE);
}

void run_all(const comm::Runtime& runtime, const std::string& folder) {
  const auto expect = [&](ExitCode expected, const Arguments& arguments) {
    const int code = run(arguments, runtime);
    require(code == static_cast<int>(expected),
            arguments.front() + " returned " + std::to_string(code));
  };
  const std::string data = folder + "/data.h5";
  const auto train = [&](const std::string& run_id) -> Arguments {
    return {"train",    "--data", data,         "--epochs", "1",      "--no-json",
            "--run-id", run_id,   "--runs-dir", folder,     "--quiet"};
  };
  expect(ExitCode::kDone, {"pack", "--input", "synthetic", "--images", "300", "--output", data});
  expect(ExitCode::kDone, train("first"));
  expect(ExitCode::kUsage, {"train", "--epoch", "1"});
  expect(ExitCode::kUsage, {"trian"});
  expect(ExitCode::kMissingInput, {"eval", "--data", data, "--checkpoint", folder + "/none"});
  expect(ExitCode::kDone, {"--version"});
  expect(ExitCode::kDone, train("second"));
  expect(ExitCode::kDone, {"eval", "--data", data, "--checkpoint", folder + "/second"});
  if (runtime.rank() != 0) return;
  const auto weights = [&](const char* run_id) {
    return metrics::read_run(folder + "/" + run_id).summary.at("weights_sha256").dump();
  };
  require(weights("first") == weights("second"), "the second training gave other weights");
}

}  // namespace
}  // namespace tandem::app

int main(int /*count*/, char** arguments) {
  const std::string folder = arguments[1];
  const tandem::comm::Runtime runtime;
  if (runtime.rank() == 0) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  tandem::app::run_all(runtime, folder);
}
