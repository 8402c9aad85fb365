#include "tandem/train/checkpoint_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/parse_json.hpp"
#include "tandem/core/text.hpp"
#include "tandem/train/finite.hpp"

namespace tandem::train {
namespace {

namespace fs = std::filesystem;
constexpr char kPrefix[] = "step-";
constexpr char kSuffix[] = ".safetensors";
constexpr char kBest[] = "best";

// The step of "step-00001234.safetensors"; nothing for any other name.
std::optional<std::uint64_t> step_of(const std::string& name) {
  const std::string prefix = kPrefix;
  if (name.rfind(prefix, 0) != 0 || !ends_with(name, kSuffix)) return std::nullopt;
  const std::string digits =
      name.substr(prefix.size(), name.size() - prefix.size() - std::strlen(kSuffix));
  const bool are_digits = !digits.empty() && digits.size() <= 18 &&
                          digits.find_first_not_of("0123456789") == std::string::npos;
  if (!are_digits) return std::nullopt;
  return std::stoull(digits);
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

Checkpoint read_checkpoint(const std::string& path) {
  model::SafetensorsFile file = model::read_safetensors(path);
  const auto format = file.metadata.find("format");
  const auto state = file.metadata.find("state");
  if (!file.sealed || format == file.metadata.end() || format->second != kCheckpointFormat ||
      state == file.metadata.end()) {
    throw DataError(path + ": is no checkpoint of tandem; one is runs/ID/checkpoints/step-N" +
                    std::string(kSuffix));
  }
  require_finite(path, file.tensors);
  Checkpoint checkpoint;
  try {
    checkpoint.state = TrainingState::from_json(parse_json(state->second));
  } catch (const std::exception& error) {
    throw DataError(path + ": " + error.what());
  }
  checkpoint.is_best = file.metadata.count(kBest) > 0;
  for (const char* field : {"format", "state", kBest}) file.metadata.erase(field);
  checkpoint.tensors = std::move(file.tensors);
  checkpoint.metadata = std::move(file.metadata);
  return checkpoint;
}

CheckpointStore::CheckpointStore(std::string folder) : folder_(std::move(folder)) {}

std::string CheckpointStore::path_of(std::uint64_t step) const {
  char name[48];
  std::snprintf(name, sizeof name, "/%s%08llu%s", kPrefix, static_cast<unsigned long long>(step),
                kSuffix);
  return folder_ + name;
}

std::string CheckpointStore::best_path() const { return folder_ + "/best" + kSuffix; }

std::vector<std::uint64_t> CheckpointStore::steps() const {
  std::vector<std::uint64_t> steps;
  for (const std::string& path : list_folder(folder_)) {
    if (const auto step = step_of(fs::path(path).filename())) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

void CheckpointStore::sweep() const { remove_temporaries(folder_); }

void CheckpointStore::write(const Checkpoint& checkpoint, Keep keep) const {
  std::error_code error;
  fs::create_directories(folder_, error);  // a failure is that of the file
  const std::string path = path_of(checkpoint.state.step);
  std::map<std::string, std::string> metadata = checkpoint.metadata;
  metadata["format"] = kCheckpointFormat;
  metadata["state"] = checkpoint.state.to_json().dump();
  if (checkpoint.is_best) metadata[kBest] = "true";
  require_finite(path, checkpoint.tensors);
  TrainingState::from_json(Json::parse(metadata["state"]));  // throws where none could resume
  model::write_safetensors(path, checkpoint.tensors, metadata);
  write_file_atomically(folder_ + "/latest", fs::path(path).filename().string() + "\n");
  keep_if_best(checkpoint);
  rotate(keep);
}

// A second name for the same file, so that it stays when the first name goes.
void CheckpointStore::keep_if_best(const Checkpoint& checkpoint) const {
  const std::string path = path_of(checkpoint.state.step);
  if (!checkpoint.is_best || !file_exists(path)) return;  // it went on from its second name
  const std::string best = best_path();
  const std::string temporary = folder_ + "/.best.tmp." + std::to_string(::getpid());
  ::unlink(temporary.c_str());
  if (::link(path.c_str(), temporary.c_str()) != 0 ||
      ::rename(temporary.c_str(), best.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    throw IoError(best + ": cannot be written: " + reason);
  }
  ::unlink(temporary.c_str());  // rename() leaves it where both were names of this file already
}

std::optional<Checkpoint> CheckpointStore::read_best() const {
  if (!file_exists(best_path())) return std::nullopt;
  try {
    return read_checkpoint(best_path());
  } catch (const DataError&) {
    return std::nullopt;  // a damaged one is there to be replaced
  }
}

std::optional<double> CheckpointStore::best_accuracy() const {
  const std::optional<Checkpoint> best = read_best();
  if (!best) return std::nullopt;
  const TrainResult& result = best->state.result;
  const auto& evaluation = result.last_validation ? result.last_validation : result.last_evaluation;
  if (!evaluation) return std::nullopt;
  return evaluation->accuracy;
}

void CheckpointStore::rotate(Keep keep) const {
  const std::vector<std::uint64_t> all = steps();
  for (std::size_t i = keep.last; i < all.size(); ++i) {
    if (keep.every > 0 && all[i] % keep.every == 0) continue;
    if (::unlink(path_of(all[i]).c_str()) != 0) {
      throw IoError(path_of(all[i]) + ": cannot be removed: " + std::strerror(errno));
    }
  }
}

std::size_t CheckpointStore::supersede_after(std::uint64_t step) const {
  std::vector<fs::path> later;
  for (const std::uint64_t each : steps()) {
    if (each > step) later.emplace_back(path_of(each));
  }
  if (file_exists(best_path())) {
    const std::optional<Checkpoint> best = read_best();
    if (!best || best->state.step > step) later.emplace_back(best_path());
  }
  if (later.empty()) return 0;
  int number = 1;
  while (is_folder(folder_ + "/superseded-" + std::to_string(number))) ++number;
  const fs::path target = folder_ + "/superseded-" + std::to_string(number);
  try {
    fs::create_directory(target);
    for (const fs::path& path : later) fs::rename(path, target / path.filename());
  } catch (const fs::filesystem_error& error) {
    throw IoError(target.string() +
                  ": later checkpoints cannot be moved there: " + error.code().message());
  }
  return later.size();
}

}  // namespace tandem::train
