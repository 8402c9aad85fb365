// tandem export: a trained model as a file for other software.
#include "commands.hpp"
#include "model_file.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/pth_file.hpp"
#include "tandem/model/safetensors.hpp"
#include "tandem/model/script_network.hpp"
#include "tandem/train/checkpoint.hpp"

namespace tandem::app {
namespace {

int run_export(const Arguments& arguments) {
  Options options = resolve_alone(export_command(), arguments, false);
  options.require("checkpoint");
  options.require("output");
  const std::string output = options.text("output");
  const bool to_pth = ends_with(output, ".pth");
  const bool to_pt = ends_with(output, ".pt");
  if (!output.empty() && !to_pth && !to_pt && !ends_with(output, ".safetensors")) {
    options.add_fault("--output: '" + output + "' ends neither in .pth nor .safetensors nor .pt");
  }
  options.throw_faults("export");
  if (!to_pth && !to_pt && file_exists(output) && train::look_at_checkpoint(output).step) {
    throw CannotCreateError(output +
                            ": is a checkpoint, from which a run resumes; choose another --output");
  }

  const ModelFile file = read_model_file(options.text("checkpoint"));
  say_which_file(options.text("checkpoint"), file);
  if (to_pt && !file.description.is_script()) {
    throw UsageError("--output " + output + ": " + file.description.model +
                     " is no TorchScript; python/export_torchscript.py makes one of " + file.path);
  }
  const NetworkFile code = network_of(file);
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

}  // namespace

Command export_command() {
  return {"export",
          "--checkpoint PATH --output FILE",
          "write a trained model as .pth, .safetensors or .pt",
          "tandem export --checkpoint runs/demo --output net.pth",
          {{"checkpoint", "PATH", "", "run folder or model.safetensors", "input"},
           {"output", "FILE", "",
            ".pth for torch.load(weights_only=True), .safetensors, or .pt where --model was a file",
            "output"}},
          run_export,
          nullptr};
}

}  // namespace tandem::app
