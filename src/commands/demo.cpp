// tandem demo: packs the built-in data set, trains on it with mpirun and evaluates the result.
// `make -f Makefile.hpc demo` compiles the program and runs this.

#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

#include "commands.hpp"
#include "run_program.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/spawn.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

namespace fs = std::filesystem;

int run_on_ranks(std::uint64_t ranks, const Arguments& words) {
  Arguments all{"-np", std::to_string(ranks), "--bind-to", "none", own_program()};
  all.insert(all.end(), words.begin(), words.end());
  return run_mpirun(all);
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0) {
    error.assign(errno, std::system_category());
  }
  if (!error) return;
  throw CannotCreateError(folder + ": cannot be " + (is_folder(folder) ? "written" : "created") +
                          ": " + error.message() + "; choose another folder with --dir DIR");
}

std::string run_name() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "demo-%Y%m%d-%H%M%S", &local));
}

// Prints the accuracy, the path of the report and the next command.
void print_end(const std::string& run) {
  const Json summary = parse_json_or_discard(read_file(run + "/summary.json"));
  print_line("test accuracy " + format_fixed(number_of(summary, "test_accuracy"), 4));
  print_line("report: " + fs::absolute(run + "/report.html").lexically_normal().string());
  const fs::path installed =
      fs::path(own_program()).parent_path().parent_path() / "share/tandem/data/fetch_cifar10.sh";
  const std::string fetch = file_exists(installed) ? installed.string() : "data/fetch_cifar10.sh";
  print_line("next: " + fetch + " && " + program_invocation_name +
             " pack --input cifar-10-binary.tar.gz --output cifar10.h5");
}

int run_demo(const Arguments& arguments) {
  Options options = resolve_alone(demo_command(), arguments, false);
  const std::string folder = options.text("dir");
  const std::uint64_t ranks = options.count("ranks", 1, 4'096);
  const std::string epochs = std::to_string(options.count("epochs", 1, 1'000'000));
  options.throw_faults("demo");

  const std::string data = folder + "/synthetic.h5";
  const bool is_new = !output_exists(data);
  if (is_new) {
    make_folder(folder);
    const int code = run_program({own_program(), "pack", "--input", "synthetic", "--output", data},
                                 "install tandem as a whole");
    if (code != 0) return code;
  }
  const std::string name = run_name();
  const std::string runs = folder + "/runs";
  const int trained = run_on_ranks(ranks, {"train", "--data", data, "--model", "simple", "--epochs",
                                           epochs, "--run-id", name, "--runs-dir", runs});
  if (trained == static_cast<int>(ExitCode::kBadData) && !is_new) {
    print_note("this data set was there before; fix: rm " + shell_word(data) +
               ", and repeat the command");
  }
  if (trained != 0) return trained;
  const std::string run = (fs::path(runs) / name).string();
  const int evaluated = run_on_ranks(ranks, {"eval", "--data", data, "--checkpoint", run});
  if (evaluated == 0) print_end(run);
  return evaluated;
}

}  // namespace

Command demo_command() {
  return {"demo",
          "[options]",
          "pack the built-in data set, train on it and evaluate: a first run",
          "tandem demo --dir demo",
          {{"dir", "DIR", "demo", "folder for synthetic.h5 and runs/", "output"},
           {"ranks", "N", "2", "ranks that mpirun starts", "training"},
           {"epochs", "N", "5", "times that each image is used", "training"}},
          run_demo,
          nullptr};
}

}  // namespace tandem::app
