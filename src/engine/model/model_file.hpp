// Reads a trained network from a file or a run folder, with everything needed to use it: its
// description, its weights and, for a TorchScript network, its code. Main thread. Throws DataError,
// MissingInputError, UsageError, IoError.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/touch.hpp"
#include "tandem/data/augment.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/model/hidden_widths.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/safetensors.hpp"
#include "tandem/model/stem.hpp"

namespace tandem::app {

// The name of a run's copy of its TorchScript file, in the folder `model`. Metadata name such a
// network by it.
constexpr char kNetworkFile[] = "network.pt";

struct NetworkFile {
  std::string path;
  std::string bytes;   // empty: the network is one of tandem's own
  std::string sha256;  // likewise
};

// Reads the TorchScript file that --model names. Verifies the digest unless it is empty.
NetworkFile read_network_file(const std::string& path, const std::string& expected_sha256 = "");

// The warning to print before the file is run: TorchScript is code with the user's permissions.
std::string code_notice(const NetworkFile& file);

// The "__metadata__" of a model.safetensors (docs/formats.md).
struct ModelDescription {
  std::string model;
  std::string dataset;  // its name
  std::string dataset_digest;
  data::ImageShape shape;
  std::vector<std::string> classes;
  std::vector<double> mean;
  std::vector<double> std;
  // SHA-256 of the network's file; `model` is then kNetworkFile. Empty for a network of the
  // registry.
  std::string network_sha256;
  // Whether predict turns pictures upright by EXIF, as pack did for the model's data set.
  bool exif_orientation = false;
  model::HiddenWidths hidden = {};  // of mlp; empty: the default, as in files of earlier versions
  model::Stem stem = model::Stem::kCifar;  // of networks that have one
  bool multi_label = false;                // a logit says whether the image has the class

  data::Fit fit = data::Fit::kStretch;  // of pictures in eval and predict

  bool is_script() const { return !network_sha256.empty(); }
  std::map<std::string, std::string> to_metadata() const;
  // `path` is named in the DataError of a field that is missing or malformed.
  static ModelDescription from_metadata(const std::map<std::string, std::string>& metadata,
                                        const std::string& path);
};

// The widths of mlp in metadata, whatever wrote them; empty where there are none, as in files of
// earlier versions. DataError naming `path` if they are malformed.
model::HiddenWidths hidden_widths_of(const std::map<std::string, std::string>& metadata,
                                     const std::string& path);

// The stem in metadata, whatever wrote them; absent where there is none, as in files of earlier
// versions. DataError naming `path` if it is not known.
std::optional<model::Stem> stem_of(const std::map<std::string, std::string>& metadata,
                                   const std::string& path);

// The file that `checkpoint` refers to: itself, or a run folder's best checkpoint, model or newest
// checkpoint. The folders `checkpoints` and `model` of a run are taken as well.
std::string find_model_file(const std::string& checkpoint);

struct ModelFile {
  std::string path;
  ModelDescription description;
  std::vector<model::NamedTensor> tensors;  // without those of an optimizer
  bool is_checkpoint = false;
};
// Refuses layers of `hidden` that the file does not hold, before one of that size is allocated.
void require_layers(const std::string& path, const ModelDescription& description,
                    const std::vector<model::NamedTensor>& tensors);
ModelFile read_model_file(const std::string& checkpoint, const Touch& touch = {});
// Prints which file of a run folder is read; nothing if `checkpoint` is the file itself.
void note_which_file(const std::string& checkpoint, const ModelFile& file);

// Removes the tensors of an optimizer.
void drop_optimizer(std::vector<model::NamedTensor>& tensors);

// The run's copy of its TorchScript file, found near `file` and verified; without bytes for a
// network of the registry.
NetworkFile network_file_of(const ModelFile& file);

// The network that a description names, with initial weights.
model::NetworkPtr make_untrained(const ModelDescription& description, const NetworkFile& network,
                                 torch::Device device = torch::kCPU);
// The network that a file describes, with its weights; DataError if they do not match.
model::NetworkPtr build_network(const ModelFile& file, const NetworkFile& network,
                                torch::Device device = torch::kCPU);

}  // namespace tandem::app
