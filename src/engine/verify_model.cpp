// The engine of tandem verify: whether models and checkpoints are whole.
#include <set>
#include <string>

#include "entry.hpp"
#include "model_file.hpp"
#include "session/fault_code.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/train/checkpoint_store.hpp"

namespace tandem::app {
namespace {

// A model or checkpoint. A TorchScript network is run only with `run_network`, because a file that
// is being verified is not trusted yet; otherwise only its digest is checked.
ExitCode verify_file(const std::string& path, bool run_network) {
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
ExitCode verify_run(const std::string& folder, bool run_network, std::set<std::string>& said) {
  const train::CheckpointStore store(folder + "/checkpoints");
  std::vector<std::string> paths;
  if (const std::string model = folder + "/model/model.safetensors"; file_exists(model)) {
    paths.push_back(model);
  }
  for (const train::CheckpointFile& file : store.files()) paths.push_back(file.path);
  if (paths.empty()) read_model_file(folder);  // throws: there is none
  ExitCode code = ExitCode::kDone;
  for (const std::string& path : paths) {
    code = worse_of(code, checked(said, [&] { return verify_file(path, run_network); }));
  }
  return code;
}

}  // namespace

ExitCode verify_model(const std::string& path, bool run_network, std::set<std::string>& said) {
  return is_folder(path) ? verify_run(path, run_network, said) : verify_file(path, run_network);
}

}  // namespace tandem::app
