// tandem verify: checks that packed data sets and model files are intact, each independently of the
// others, and ends with the code of the worst.
#include <algorithm>
#include <set>
#include <string>

#include "commands.hpp"
#include "fault_code.hpp"
#include "model_file.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/verify.hpp"
#include "tandem/train/checkpoint_store.hpp"
#include "unsealed.hpp"

namespace tandem::app {
namespace {

// Reports an error of one file and continues with the next. `said`: the messages so far, because
// the checkpoints of a run share a network, and its error is reported once.
template <typename Check>
ExitCode checked(std::set<std::string>& said, const Check& check) {
  try {
    return check();
  } catch (const Error& error) {
    if (said.insert(error.what()).second) print_error(error.what());
    return error.code();
  }
}

// A model or checkpoint. A TorchScript network is run only with `run_network`, because a file that
// is being verified is not trusted yet; otherwise only its digest is checked.
ExitCode verify_model(const std::string& path, bool run_network) {
  const ModelFile file = read_model_file(path);
  const NetworkFile code = network_of(file);
  const bool is_script = file.description.is_script();
  if (!is_script || run_network) build_network(file, code);
  if (file.is_checkpoint) train::read_checkpoint(path);
  print_line(path + ": whole; " + file.description.model + " for " + file.description.dataset +
             ", " + std::to_string(file.tensors.size()) + " tensors" +
             (is_script ? "; the code of " + code.path + " was " + (run_network ? "" : "not ") +
                              "run, its SHA-256 is " + code.sha256
                        : ""));
  return ExitCode::kDone;
}

// All that a run has saved: the model, and each checkpoint from which it could go on.
ExitCode verify_run(const std::string& folder, bool run_network) {
  const train::CheckpointStore store(folder + "/checkpoints");
  std::vector<std::string> paths;
  if (const std::string model = folder + "/model/model.safetensors"; file_exists(model)) {
    paths.push_back(model);
  }
  for (const train::CheckpointFile& file : store.files()) paths.push_back(file.path);
  if (paths.empty()) read_model_file(folder);  // throws: there is none
  ExitCode code = ExitCode::kDone;
  std::set<std::string> said;
  for (const std::string& path : paths) {
    code = worse_of(code, checked(said, [&] { return verify_model(path, run_network); }));
  }
  return code;
}

void verify_data(const std::string& path, bool seal) {
  const data::VerifyReport report = data::verify_dataset(path);
  print_line(path + ": whole; " + report.info.name + ", " +
             format_count(static_cast<std::int64_t>(report.info.train_count)) + " train and " +
             format_count(static_cast<std::int64_t>(report.info.test_count)) +
             " test images, digest " + report.info.digest.substr(0, 16));
  if (report.info.sealed) return;
  if (seal) {
    data::seal(path);
    print_line(path + ": sealed");
  } else {
    print_warning(unsealed_warning(path));
  }
}

int run_verify(const Arguments& arguments) {
  Options options = resolve_alone(verify_command(), arguments, true);
  const bool seal = options.flag("seal");
  const bool run_network = options.flag("run-network");
  if (options.positional().empty()) options.add_fault("FILE is missing");
  options.throw_faults("verify");
  ExitCode code = ExitCode::kDone;
  std::set<std::string> said;
  for (const std::string& path : options.positional()) {
    const ExitCode found = checked(said, [&] {
      if (is_folder(path)) return verify_run(path, run_network);
      if (ends_with(path, ".safetensors")) return verify_model(path, run_network);
      verify_data(path, seal);
      return ExitCode::kDone;
    });
    code = worse_of(code, found);
  }
  return static_cast<int>(code);
}

}  // namespace

Command verify_command() {
  return {"verify",
          "FILE... [--seal] [--run-network]",
          "check packed data sets and models completely",
          "tandem verify synthetic.h5",
          {{"seal", "", "false", "add the seal to a data set that was packed by other software",
            "what to do"},
           {"run-network", "", "false",
            "also run the code of a TorchScript network, and check that its tensors fit",
            "what to do"}},
          run_verify,
          nullptr};
}

}  // namespace tandem::app
