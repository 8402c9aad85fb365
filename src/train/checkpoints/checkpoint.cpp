#include "tandem/train/checkpoint.hpp"

#include <cstring>
#include <filesystem>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"
#include "train/parameters/finite.hpp"

namespace tandem::train {
namespace {

constexpr char kBest[] = "best";

// The state in a file's metadata; null unless the file is a checkpoint.
const std::string* find_state(const std::map<std::string, std::string>& metadata) {
  const auto format = metadata.find("format"), state = metadata.find("state"), end = metadata.end();
  if (format == end || format->second != kCheckpointFormat || state == end) return nullptr;
  return &state->second;
}

void require_finite(const std::string& path, const std::vector<model::NamedTensor>& tensors) {
  for (const model::NamedTensor& each : tensors) {
    if (each.tensor.scalar_type() != torch::kFloat32) continue;
    const Span<const float> values(each.tensor.data_ptr<float>(),
                                   static_cast<std::size_t>(each.tensor.numel()));
    if (!all_finite(values)) {
      throw DataError(path + ": tensor '" + each.name + "' holds values that are not finite");
    }
  }
}

}  // namespace

std::optional<std::uint64_t> step_of_name(const std::string& name) {
  const std::string prefix = kCheckpointPrefix;
  if (!begins_with(name, prefix) || !ends_with(name, kCheckpointSuffix)) return std::nullopt;
  const std::string digits =
      name.substr(prefix.size(), name.size() - prefix.size() - std::strlen(kCheckpointSuffix));
  if (!is_digits(digits) || digits.size() > 18) return std::nullopt;
  return std::stoull(digits);
}

// If the header cannot be parsed, the step comes from the name. Throws if a read fails.
CheckpointFile look_at_checkpoint(const std::string& path) {
  CheckpointFile file{path, step_of_name(std::filesystem::path(path).filename()), false};
  try {
    const auto metadata = model::read_safetensors_metadata(path);
    const std::string* const state = find_state(metadata);
    if (state == nullptr) return file;
    file.step = TrainingState::from_json(parse_json_or_discard(*state)).step;
    file.is_best = metadata.count(kBest) > 0;
  } catch (const DataError&) {
    return file;  // read_checkpoint() reports the damage
  }
  return file;
}

Checkpoint read_checkpoint(const std::string& path, const Touch& touch) {
  model::SafetensorsFile file = model::read_safetensors(path, touch);
  const std::string* const state = find_state(file.metadata);
  if (!file.sealed || state == nullptr) {
    throw DataError(path + ": is not a checkpoint of tandem; one is runs/ID/checkpoints/step-N" +
                    std::string(kCheckpointSuffix));
  }
  require_finite(path, file.tensors);
  Checkpoint checkpoint;
  try {
    checkpoint.state = TrainingState::from_json(parse_json(*state));
  } catch (const std::exception& error) {
    throw DataError(path + ": " + error.what());
  }
  checkpoint.is_best = file.metadata.count(kBest) > 0;
  for (const char* field : {"format", "state", kBest}) file.metadata.erase(field);
  checkpoint.tensors = std::move(file.tensors);
  checkpoint.metadata = std::move(file.metadata);
  return checkpoint;
}

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint, const Touch& touch) {
  std::map<std::string, std::string> metadata = checkpoint.metadata;
  metadata["format"] = kCheckpointFormat;
  metadata["state"] = checkpoint.state.to_json().dump();
  if (checkpoint.is_best) metadata[kBest] = "true";
  require_finite(path, checkpoint.tensors);
  TrainingState::from_json(Json::parse(metadata["state"]));  // throws if no run could resume
  model::write_safetensors(path, checkpoint.tensors, metadata, touch);
}

}  // namespace tandem::train
