// tandem export: a trained model as a file for other software.
#include "commands.hpp"
#include "session/engine.hpp"
#include "tandem/core/mark.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

int run_export(const Arguments& arguments) {
  Options options = resolve_alone(export_command(), arguments, false);
  options.require("checkpoint");
  options.require("output");
  const std::string output = options.text("output");
  const bool is_known =
      ends_with(output, ".pth") || ends_with(output, ".pt") || ends_with(output, ".safetensors");
  if (!output.empty() && !is_known) {
    options.add_fault("--output: '" + output + "' ends neither in .pth nor .safetensors nor .pt");
  }
  const bool replaces_any_file = options.flag("force");
  options.throw_faults("export");
  if (!replaces_any_file) require_replaceable(output);
  return open_engine().export_model(options.text("checkpoint"), output);
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
            "output"},
           {"force", "", "false", "replace also a file that tandem did not write", "output"}},
          run_export,
          nullptr};
}

}  // namespace tandem::app
