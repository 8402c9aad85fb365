// The engine of tandem export, inspect and verify, which take a model's file and no data.
#include <set>
#include <string>

#include "engine/entry.hpp"
#include "model_file.hpp"
#include "session/fault_code.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/pth_file.hpp"
#include "tandem/model/safetensors.hpp"
#include "tandem/model/script_network.hpp"
#include "tandem/train/checkpoint.hpp"
#include "tandem/train/checkpoint_store.hpp"

namespace tandem::app {
namespace {

// A model or checkpoint. A TorchScript network is run only with `run_network`, because a file that
// is being verified is not trusted yet; otherwise only its digest is checked.
ExitCode verify_file(const std::string& path, bool run_network) {
  const ModelFile file = read_model_file(path);
  const NetworkFile code = network_file_of(file);
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
ExitCode verify_run(const std::string& folder, bool run_network, std::set<std::string>& reported) {
  const train::CheckpointStore store(folder + "/checkpoints");
  std::vector<std::string> paths;
  if (const std::string model = folder + "/model/model.safetensors"; file_exists(model)) {
    paths.push_back(model);
  }
  for (const train::CheckpointFile& file : store.files()) paths.push_back(file.path);
  if (paths.empty()) read_model_file(folder);  // throws: there is none
  ExitCode code = ExitCode::kDone;
  for (const std::string& path : paths) {
    code = worse_of(code, checked(reported, [&] { return verify_file(path, run_network); }));
  }
  return code;
}

}  // namespace

int export_model_file(const std::string& checkpoint, const std::string& output) {
  const bool to_pth = ends_with(output, ".pth");
  const bool to_pt = ends_with(output, ".pt");
  if (!to_pth && !to_pt && is_regular_file(output) && train::look_at_checkpoint(output).step) {
    throw CannotCreateError(output +
                            ": is a checkpoint, from which a run resumes; choose another --output");
  }

  const ModelFile file = read_model_file(checkpoint);
  note_which_file(checkpoint, file);
  if (to_pt && !file.description.is_script()) {
    throw UsageError("--output " + output + ": " + file.description.model +
                     " is not a TorchScript file; python/export_torchscript.py makes one of " +
                     file.path);
  }
  const NetworkFile code = network_file_of(file);
  if (file.description.is_script()) print_warning(code_notice(code));
  const model::NetworkPtr network = build_network(file, code);
  if (to_pt) {
    write_file_atomically(output, model::to_script(*network));
  } else if (to_pth) {
    model::write_pth(output, model::state_dict(*network));
  } else {
    model::write_safetensors(output, model::state_dict(*network), file.description.to_metadata());
  }
  show_line(output + ": " + file.description.model + ", " + std::to_string(file.tensors.size()) +
            " tensors");
  return 0;
}

Json inspect_model(const std::string& path) {
  const ModelFile file = read_model_file(path);
  const data::ImageShape& shape = file.description.shape;
  Json tensors = Json::object();
  std::int64_t values = 0;
  for (const model::NamedTensor& tensor : file.tensors) {
    tensors[tensor.name] = tensor.tensor.sizes().vec();
    values += tensor.tensor.numel();
  }
  Json shown{{"kind", "model"},
             {"model", file.description.model},
             {"data_set", file.description.dataset},
             {"data_set_digest", file.description.dataset_digest},
             {"shape", {shape.channels, shape.height, shape.width}},
             {"classes", file.description.classes},
             {"values", values},
             {"tensors", tensors}};
  const auto metadata = file.description.to_metadata();
  if (metadata.count("hidden") > 0) shown["hidden"] = parse_json(metadata.at("hidden"));
  for (const char* name : {"stem", "targets"}) {
    if (metadata.count(name) > 0) shown[name] = metadata.at(name);
  }
  return shown;
}

ExitCode verify_model(const std::string& path, bool run_network, std::set<std::string>& reported) {
  return is_folder(path) ? verify_run(path, run_network, reported) : verify_file(path, run_network);
}

}  // namespace tandem::app
