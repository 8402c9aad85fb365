#include "tandem/train/checkpoint_store.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <tuple>

#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::train {
namespace {

namespace fs = std::filesystem;
constexpr char kSuperseded[] = "superseded-";
constexpr int kMaxLooks = 3;

std::string name_of(const std::string& path) { return fs::path(path).filename(); }

// Files that a user put there count, too; temporary files do not.
bool is_candidate(const std::string& path) {
  const std::string name = name_of(path);
  return name.front() != '.' && ends_with(name, kCheckpointSuffix);
}

bool is_superseded(const std::string& path) {
  return begins_with(name_of(path), kSuperseded) && is_folder(path);
}

// Repeats `look` if a file disappears meanwhile. A listed file that cannot be found is not damage.
template <typename Look>
auto look_until_settled(const Look& look) -> decltype(look()) {
  for (int count = 1;; ++count) {
    try {
      return look();
    } catch (const MissingInputError& error) {
      if (count == kMaxLooks) throw IoError(error.what());
    }
  }
}

// Collects the failure of a step that the checkpoint does not depend on.
void note_failure(std::vector<std::string>& failures, const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    failures.emplace_back(error.what());
  }
}

}  // namespace

CheckpointStore::CheckpointStore(std::string folder, Touch touch)
    : folder_(std::move(folder)), touch_(std::move(touch)) {}

std::string CheckpointStore::path_of(std::uint64_t step) const {
  char name[48];
  std::snprintf(name, sizeof name, "/%s%08llu%s", kCheckpointPrefix,
                static_cast<unsigned long long>(step), kCheckpointSuffix);
  return folder_ + name;
}

std::string CheckpointStore::best_path() const { return folder_ + "/best" + kCheckpointSuffix; }

std::vector<CheckpointFile> CheckpointStore::files() const {
  auto files = look_until_settled([this] {
    std::vector<CheckpointFile> found;
    for (const std::string& path : list_folder(folder_)) {
      if (is_candidate(path)) found.push_back(look_at_checkpoint(path));
    }
    return found;
  });
  // Newest first; files without a step last; of equal steps the name path_of() first.
  const auto place = [this](const CheckpointFile& file) {
    const bool has_own_name = file.step && name_of(file.path) == name_of(path_of(*file.step));
    return std::make_tuple(!file.step, ~file.step.value_or(0), !has_own_name,
                           name_of(file.path) == name_of(best_path()), file.path);
  };
  std::sort(files.begin(), files.end(),
            [&place](const CheckpointFile& one, const CheckpointFile& other) {
              return place(one) < place(other);
            });
  return files;
}

std::vector<std::uint64_t> CheckpointStore::steps() const {
  std::vector<std::uint64_t> steps;
  for (const std::string& path : list_folder(folder_)) {
    const auto step = step_of_name(name_of(path));
    if (step && name_of(path) == name_of(path_of(*step))) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

CheckpointStore::Newest CheckpointStore::newest_whole() const {
  return look_until_settled([this] {
    Newest newest;
    for (const CheckpointFile& file : files()) {
      try {
        newest.checkpoint = read_checkpoint(file.path, touch_);
        newest.path = file.path;
        break;
      } catch (const DataError& error) {
        newest.refused.emplace_back(error.what());
      }
    }
    return newest;
  });
}

bool CheckpointStore::has_superseded() const {
  for (const std::string& path : list_folder(folder_)) {
    if (!is_superseded(path)) continue;
    const std::vector<std::string> held = list_folder(path);
    if (std::any_of(held.begin(), held.end(), is_candidate)) return true;
  }
  return false;
}

void CheckpointStore::sweep() const {
  remove_temporaries(folder_);
  for (const std::string& path : list_folder(folder_)) {
    if (!is_superseded(path)) continue;
    remove_temporaries(path);
    for (const std::string& each : list_folder(path)) {
      if (is_folder(each)) remove_temporaries(each);
    }
  }
}

std::vector<std::string> CheckpointStore::write(const Checkpoint& checkpoint, KeepRules keep) {
  make_folders_durably(folder_);
  const std::uint64_t step = checkpoint.state.step;
  const std::string path = path_of(step);
  write_checkpoint(path, checkpoint, touch_);

  // The checkpoint is durable; later failures are only reported.
  std::vector<std::string> failures;
  if (checkpoint.is_best) best_due_ = step;
  const std::string without_best = name_best();
  if (!without_best.empty()) failures.push_back(without_best);
  const auto name_latest = [&] { write_latest(path); };
  std::vector<std::string> unnamed;
  note_failure(unnamed, name_latest);
  note_failure(failures, [&] { rotate(keep, step); });
  if (!unnamed.empty()) note_failure(failures, name_latest);  // the disk may have space now
  return failures;
}

std::string CheckpointStore::name_best() {
  if (!best_due_) return "";
  try {
    give_second_name(path_of(*best_due_), best_path(), touch_);
    best_due_.reset();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::optional<Checkpoint> CheckpointStore::read_best() const {
  try {
    return read_checkpoint(best_path(), touch_);
  } catch (const MissingInputError&) {
    return std::nullopt;
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
  return evaluation->score();
}

// Never removes a file whose name the run did not choose.
void CheckpointStore::rotate(KeepRules keep, std::uint64_t written) const {
  const std::vector<std::uint64_t> all = steps();
  for (std::size_t i = keep.last; i < all.size(); ++i) {
    const bool is_needed = all[i] == written || all[i] == best_due_;
    const bool is_kept = is_needed || (keep.every > 0 && all[i] % keep.every == 0);
    if (!is_kept) remove_if_there(path_of(all[i]));
  }
}

void CheckpointStore::go_on_from(const std::string& path, std::uint64_t step,
                                 metrics::Superseded& aside) const {
  const std::string own = path_of(step);
  std::vector<std::string> later;
  for (const CheckpointFile& file : files()) {
    const bool is_later =
        std::max(file.step.value_or(0), step_of_name(name_of(file.path)).value_or(0)) > step;
    const bool may_be_damaged = file.path == best_path() && file.path != path;
    if (is_later || (may_be_damaged && !read_best())) later.push_back(file.path);
  }
  const auto move_aside = [&aside](const std::string& each) { aside.move(each, name_of(each)); };
  if (!have_equal_bytes(path, own, touch_)) {
    if (file_exists(own)) move_aside(own);  // damaged or different
    give_second_name(path, own, touch_);
  }
  sync_folder(folder_);
  // The newest first, so that a run killed in between resumes from the newest one left.
  for (const std::string& each : later) move_aside(each);
  restore_best(step);
  if (!later.empty()) write_latest(own);
}

void CheckpointStore::write_latest(const std::string& path) const {
  write_file_atomically(folder_ + "/latest", name_of(path) + "\n");
}

// Also finds a best checkpoint whose process was killed before it could link best.safetensors.
void CheckpointStore::restore_best(std::uint64_t step) const {
  const std::vector<CheckpointFile> all = files();
  const auto best = std::find_if(all.begin(), all.end(), [this](const CheckpointFile& file) {
    return file.path == best_path();
  });
  for (const CheckpointFile& file : all) {
    if (!file.is_best || !file.step || *file.step > step) continue;
    if (best != all.end() && best->step >= file.step) return;
    try {
      read_checkpoint(file.path, touch_);
    } catch (const DataError&) {
      continue;  // an older best one may still be valid
    }
    give_second_name(file.path, best_path(), touch_);
    return;
  }
}

}  // namespace tandem::train
