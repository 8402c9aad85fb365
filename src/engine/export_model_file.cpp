// The engine of tandem export: a trained model as a file for other software.
#include "entry.hpp"
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

int export_model_file(const std::string& checkpoint, const std::string& output) {
  const bool to_pth = ends_with(output, ".pth");
  const bool to_pt = ends_with(output, ".pt");
  if (!to_pth && !to_pt && file_exists(output) && train::look_at_checkpoint(output).step) {
    throw CannotCreateError(output +
                            ": is a checkpoint, from which a run resumes; choose another --output");
  }

  const ModelFile file = read_model_file(checkpoint);
  say_which_file(checkpoint, file);
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

}  // namespace tandem::app
