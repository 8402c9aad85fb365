#include "tandem/app/model_file.hpp"

#include <algorithm>
#include <cmath>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/version.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/state_dict.hpp"

namespace tandem::app {
namespace {

model::InputShape input_shape(const data::ImageShape& shape) {
  return {shape.channels, shape.height, shape.width};
}

}  // namespace

std::map<std::string, std::string> ModelDescription::to_metadata() const {
  return {{"format", "tandem-model"},
          {"tandem_version", version()},
          {"model", model},
          {"dataset", dataset},
          {"dataset_digest", dataset_digest},
          {"input_shape", Json({shape.channels, shape.height, shape.width}).dump()},
          {"classes", Json(classes).dump()},
          {"mean", Json(mean).dump()},
          {"std", Json(std).dump()}};
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
  ModelDescription description;
  description.model = field("model");
  description.dataset = field("dataset");
  description.dataset_digest = field("dataset_digest");
  try {
    const Json shape = Json::parse(field("input_shape"));
    description.shape = {shape.at(0).get<int>(), shape.at(1).get<int>(), shape.at(2).get<int>()};
    description.classes = Json::parse(field("classes")).get<std::vector<std::string>>();
    description.mean = Json::parse(field("mean")).get<std::vector<double>>();
    description.std = Json::parse(field("std")).get<std::vector<double>>();
  } catch (const Json::exception& error) {
    throw DataError(path + ": its __metadata__ is malformed: " + error.what());
  }
  const data::ImageShape& shape = description.shape;
  const auto channels = static_cast<std::size_t>(shape.channels);
  constexpr int kMostPixels = 4096;
  const bool shape_fits = shape.channels >= 1 && shape.channels <= 64 && shape.height >= 1 &&
                          shape.height <= kMostPixels && shape.width >= 1 &&
                          shape.width <= kMostPixels;
  const bool spread = std::all_of(description.std.begin(), description.std.end(),
                                  [](double each) { return std::isfinite(each) && each > 0; });
  if (!shape_fits || !spread || description.mean.size() != channels ||
      description.std.size() != channels || description.classes.empty()) {
    throw DataError(path +
                    ": its __metadata__ contradicts itself: input_shape, classes, mean and std do "
                    "not fit together");
  }
  return description;
}

std::string find_model_file(const std::string& checkpoint) {
  if (!is_folder(checkpoint)) return checkpoint;
  const std::string path = checkpoint + "/model/model.safetensors";
  if (!file_exists(path)) {
    throw MissingInputError("--checkpoint " + checkpoint +
                            ": the folder holds no model/model.safetensors; it is written when a "
                            "run ends");
  }
  return path;
}

ModelFile read_model_file(const std::string& checkpoint) {
  const std::string path = find_model_file(checkpoint);
  model::SafetensorsFile file = model::read_safetensors(path);
  return {ModelDescription::from_metadata(file.metadata, path), std::move(file.tensors)};
}

model::NetworkPtr make_untrained(const ModelDescription& description) {
  return model::make_network(description.model, input_shape(description.shape),
                             static_cast<std::int64_t>(description.classes.size()));
}

model::NetworkPtr build_network(const ModelFile& file) {
  model::NetworkPtr network = make_untrained(file.description);
  model::load_state_dict(*network, file.tensors);
  return network;
}

}  // namespace tandem::app
