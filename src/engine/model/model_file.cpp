#include "model_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/version.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/script_network.hpp"
#include "tandem/model/state_dict.hpp"
#include "tandem/train/checkpoint_store.hpp"
#include "tandem/train/snapshot.hpp"

namespace tandem::app {
namespace {

constexpr char kFormat[] = "tandem-model";
constexpr char kApplied[] = "applied";
constexpr char kMultiLabel[] = "multi-label";
constexpr char kEvalCrop[] = "eval_crop";
constexpr char kCenter[] = "center";
constexpr int kMaxImageSide = 1'000'000;  // so that their product fits

model::InputShape input_shape(const data::ImageShape& shape) {
  return {shape.channels, shape.height, shape.width};
}

[[noreturn]] void throw_malformed(const std::string& path, const Json::exception& error) {
  throw DataError(path + ": its __metadata__ is malformed: " + error.what());
}

}  // namespace

NetworkFile read_network_file(const std::string& path, const std::string& expected_sha256) {
  NetworkFile file{path, read_file(path), ""};
  if (file.bytes.empty()) throw DataError(path + ": is empty, a TorchScript file was expected");
  file.sha256 = sha256_hex(file.bytes);
  if (!expected_sha256.empty() && file.sha256 != expected_sha256) {
    throw DataError(path + ": has the SHA-256 " + file.sha256 + ", the run was trained with " +
                    expected_sha256 + "; restore the file with which the run started");
  }
  return file;
}

std::string code_notice(const NetworkFile& file) {
  return file.path +
         ": TorchScript is code and runs with your permissions; this file's SHA-256 is " +
         file.sha256;
}

model::HiddenWidths hidden_widths_of(const std::map<std::string, std::string>& metadata,
                                     const std::string& path) {
  const auto found = metadata.find("hidden");
  if (found == metadata.end()) return {};
  try {
    return parse_json(found->second).get<model::HiddenWidths>();
  } catch (const Json::exception& error) {
    throw_malformed(path, error);
  }
}

std::optional<model::Stem> stem_of(const std::map<std::string, std::string>& metadata,
                                   const std::string& path) {
  const auto found = metadata.find("stem");
  if (found == metadata.end()) return std::nullopt;
  try {
    return model::parse_stem(found->second);
  } catch (const UsageError& error) {
    throw DataError(path + ": its __metadata__ is malformed: " + error.what());
  }
}

namespace {

// DataError if the field has another value than `value`.
bool has_field(const std::map<std::string, std::string>& metadata, const std::string& field,
               const std::string& value, const std::string& path) {
  const auto found = metadata.find(field);
  if (found == metadata.end() || found->second == value) return found != metadata.end();
  throw DataError(path + ": its __metadata__ has the " + field + " '" + found->second + "', '" +
                  value + "' was expected; it may need a newer tandem");
}

// Files of earlier versions have no such field.
bool turns_upright(const std::map<std::string, std::string>& metadata) {
  const auto orientation = metadata.find("exif_orientation");
  return orientation != metadata.end() && orientation->second == kApplied;
}

}  // namespace

std::map<std::string, std::string> ModelDescription::to_metadata() const {
  std::map<std::string, std::string> metadata{
      {"format", kFormat},
      {"tandem_version", version()},
      {"model", model},
      {"dataset", dataset},
      {"dataset_digest", dataset_digest},
      {"input_shape", Json({shape.channels, shape.height, shape.width}).dump()},
      {"classes", Json(classes).dump()},
      {"mean", Json(mean).dump()},
      {"std", Json(std).dump()},
      {"exif_orientation", exif_orientation ? kApplied : "ignored"}};
  if (is_script()) metadata["network_sha256"] = network_sha256;
  if (model == model::kNetworkWithHiddenLayers) {
    metadata["hidden"] = Json(model::widths_or_default(hidden)).dump();
  }
  if (model::has_stem(model)) metadata["stem"] = model::name_of(stem);
  if (multi_label) metadata["targets"] = kMultiLabel;
  if (fit == data::Fit::kCenterCrop) metadata[kEvalCrop] = kCenter;
  return metadata;
}

ModelDescription ModelDescription::from_metadata(const std::map<std::string, std::string>& metadata,
                                                 const std::string& path) {
  const auto field = [&](const std::string& name) {
    const auto found = metadata.find(name);
    if (found == metadata.end()) {
      throw DataError(path + ": its __metadata__ has no '" + name +
                      "'; a model.safetensors written by tandem was expected");
    }
    return found->second;
  };
  if (field("format") != kFormat && field("format") != train::kCheckpointFormat) {
    throw DataError(path + ": its format is '" + field("format") + "', '" + kFormat + "' or '" +
                    train::kCheckpointFormat + "' was expected");
  }
  ModelDescription description;
  description.model = field("model");
  description.dataset = field("dataset");
  description.dataset_digest = field("dataset_digest");
  try {
    const Json shape = parse_json(field("input_shape"));
    // A side above the range of int fits no data set either and gets the same message.
    const auto side = [&shape](std::size_t place) {
      const Json& value = shape.at(place);
      const bool is_side = value.is_number_integer() && value <= kMaxImageSide && value >= 1;
      return is_side ? value.get<int>() : 0;
    };
    description.shape = {side(0), side(1), side(2)};
    description.classes = parse_json(field("classes")).get<std::vector<std::string>>();
    description.mean = parse_json(field("mean")).get<std::vector<double>>();
    description.std = parse_json(field("std")).get<std::vector<double>>();
  } catch (const Json::exception& error) {
    throw_malformed(path, error);
  }
  description.hidden = hidden_widths_of(metadata, path);
  const std::optional<model::Stem> stem = stem_of(metadata, path);
  description.stem = stem.value_or(model::Stem::kCifar);
  if (metadata.count("network_sha256") > 0) description.network_sha256 = field("network_sha256");
  description.exif_orientation = turns_upright(metadata);
  description.multi_label = has_field(metadata, "targets", kMultiLabel, path);
  if (has_field(metadata, kEvalCrop, kCenter, path)) description.fit = data::Fit::kCenterCrop;
  const data::ImageShape& shape = description.shape;
  const auto channels = static_cast<std::size_t>(shape.channels);
  const bool shape_fits = shape.channels > 0 && shape.height > 0 && shape.width > 0 &&
                          shape.pixels() <= data::kMaxPixels;
  const bool spread = std::all_of(description.std.begin(), description.std.end(),
                                  [](double each) { return std::isfinite(each) && each > 0; });
  const bool has_possible_widths =
      metadata.count("hidden") == 0 || (description.model == model::kNetworkWithHiddenLayers &&
                                        model::are_possible(description.hidden));
  if (!shape_fits || !spread || !has_possible_widths ||
      (stem && !model::has_stem(description.model)) || description.mean.size() != channels ||
      description.std.size() != channels || description.classes.empty() ||
      description.classes.size() > data::kMaxClasses) {
    throw DataError(
        path +
        ": its __metadata__ contradicts itself: input_shape, classes, mean, std, hidden and stem "
        "do not fit together");
  }
  return description;
}

std::string find_model_file(const std::string& checkpoint) {
  if (!is_folder(checkpoint)) return checkpoint;
  std::string folder = checkpoint;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  // A run's folder; or the one of its checkpoints, or of its model.
  const std::vector<std::pair<std::string, std::string>> places{
      {folder + "/checkpoints", folder + "/model"}, {folder, folder}};
  for (const auto& [checkpoints, model] : places) {
    const train::CheckpointStore store(checkpoints);
    for (const std::string& path : {store.best_path(), model + "/model.safetensors"}) {
      if (file_exists(path)) return path;
    }
    if (const auto files = store.files(); !files.empty()) return files.front().path;
  }
  throw MissingInputError(checkpoint +
                          ": the folder holds neither a model/model.safetensors nor a "
                          "checkpoint; give the folder of a run that has saved one");
}

void require_layers(const std::string& path, const ModelDescription& description,
                    const std::vector<model::NamedTensor>& tensors) {
  model::HiddenWidths widths = description.hidden;
  if (widths.empty()) return;
  widths.push_back(static_cast<std::int64_t>(description.classes.size()));
  auto inputs = static_cast<std::int64_t>(description.shape.pixels());
  std::size_t number = 0;
  for (const std::int64_t outputs : widths) {
    const std::string name = "fc" + std::to_string(++number) + ".weight";
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const auto& each) { return each.name == name; });
    if (found == tensors.end() || found->tensor.sizes() != torch::IntArrayRef{outputs, inputs}) {
      throw DataError(path + ": its __metadata__ has a layer of " + std::to_string(outputs) +
                      " units with " + std::to_string(inputs) + " inputs, and '" + name +
                      "' does not hold them; it is damaged");
    }
    inputs = outputs;
  }
}

ModelFile read_model_file(const std::string& checkpoint, const Touch& touch) {
  const std::string path = find_model_file(checkpoint);
  model::SafetensorsFile file = model::read_safetensors(path, touch);
  const ModelDescription description = ModelDescription::from_metadata(file.metadata, path);
  const bool is_checkpoint = file.metadata.at("format") == train::kCheckpointFormat;
  if (!file.sealed && is_checkpoint) {
    throw DataError(path + ": is a checkpoint without its digest; it is damaged, take another one");
  }
  drop_optimizer(file.tensors);
  require_layers(path, description, file.tensors);
  return {path, description, std::move(file.tensors), is_checkpoint};
}

void note_which_file(const std::string& checkpoint, const ModelFile& file) {
  if (file.path != checkpoint) print_note("--checkpoint " + checkpoint + ": reads " + file.path);
}

void drop_optimizer(std::vector<model::NamedTensor>& tensors) {
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(),
                               [](const model::NamedTensor& each) {
                                 return train::is_optimizer_tensor(each.name);
                               }),
                tensors.end());
}

NetworkFile network_file_of(const ModelFile& file) {
  if (!file.description.is_script()) return {};
  const std::string& sha256 = file.description.network_sha256;
  // The copy is beside model.safetensors. For checkpoints, also those in superseded-N, it is in the
  // folder `model` beside checkpoints/.
  const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
  for (const auto& place : {folder, folder / "../model", folder / "../../model"}) {
    const std::string path = (place / kNetworkFile).lexically_normal();
    if (file_exists(path)) return read_network_file(path, sha256);
  }
  throw MissingInputError(file.path + ": its network is not there; put the run's model/" +
                          kNetworkFile + ", with the SHA-256 " + sha256 + ", beside it");
}

model::NetworkPtr make_untrained(const ModelDescription& description, const NetworkFile& network,
                                 torch::Device device) {
  const model::InputShape shape = input_shape(description.shape);
  const auto classes = static_cast<std::int64_t>(description.classes.size());
  if (!description.is_script()) {
    return model::make_network(description.model, shape, classes, description.hidden,
                               description.stem);
  }
  auto made = model::make_script_network(network.path, network.bytes, shape, classes, device);
  for (const model::NamedTensor& each : model::state_dict(*made)) {
    if (!train::is_optimizer_tensor(each.name)) continue;
    throw DataError(network.path + ": its '" + each.name +
                    "' has a name that checkpoints give to the optimizer's state; rename it");
  }
  return made;
}

model::NetworkPtr build_network(const ModelFile& file, const NetworkFile& network,
                                torch::Device device) {
  try {
    model::NetworkPtr made = make_untrained(file.description, network, device);
    model::load_state_dict(*made, file.tensors);
    return made;
  } catch (const Error& error) {  // a name or shape that no network has, tensors that don't fit
    throw DataError(file.path + ": " + error.what());
  }
}

}  // namespace tandem::app
