// The engine of tandem inspect: what a model file holds.
#include "entry.hpp"
#include "model_file.hpp"

namespace tandem::app {

Json inspect_model(const std::string& path) {
  const ModelFile file = read_model_file(path);
  const data::ImageShape& shape = file.description.shape;
  Json tensors = Json::object();
  std::int64_t values = 0;
  for (const model::NamedTensor& tensor : file.tensors) {
    tensors[tensor.name] = tensor.tensor.sizes().vec();
    values += tensor.tensor.numel();
  }
  return {{"kind", "model"},
          {"model", file.description.model},
          {"data_set", file.description.dataset},
          {"data_set_digest", file.description.dataset_digest},
          {"shape", {shape.channels, shape.height, shape.width}},
          {"classes", file.description.classes},
          {"values", values},
          {"tensors", tensors}};
}

}  // namespace tandem::app
