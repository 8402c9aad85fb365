#include "tandem/metrics/json_lines.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "line_reader.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"

namespace tandem::metrics {
namespace {

// The limit of open files of ranks: opening one takes a shared file system milliseconds, and
// systems allow a process about a thousand.
constexpr std::size_t kMaxOpenFiles = 256;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

File open_to_append(const std::string& path) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor < 0) {
    throw CannotCreateError(path + ": cannot be created: " + errno_text());
  }
  return File(descriptor, path);
}

Json line_for(const char* event, std::uint64_t step, double epoch) {
  return {{"event", event}, {"step", step}, {"epoch", epoch}, {"time", unix_seconds()}};
}

bool is_of_training(const Json& line) {
  const std::string event = text_of(line, "event");
  return event == "step" || event == "epoch" || event == "eval";
}

bool is_written_again(const Json& line, const ResumePoint& point) {
  // Other lines may be out of order: a `checkpoint` line carries the step at which the write began.
  if (!is_of_training(line)) return false;
  const double step = number_of(line, "step");
  const auto last = static_cast<double>(point.step);
  return step > last || (text_of(line, "event") == "eval" && point.evaluation_due && step == last);
}

void copy_part(const File& from, std::uint64_t begin, std::uint64_t end, const std::string& to) {
  AtomicFile copy(to);
  std::string chunk(kBlockBytes, '\0');
  while (begin < end) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBytes, end - begin));
    const std::size_t got = from.read_at(begin, chunk.data(), wanted);
    if (got == 0) throw IoError(from.path() + ": became shorter while it was read");
    copy.write({chunk.data(), got});
    begin += got;
  }
  copy.commit();
}

void add_straggler(Json& line, const std::vector<RankRecord>& ranks) {
  const auto straggler = find_straggler(ranks);
  if (!straggler) return;
  line["slowest_rank"] = straggler->rank;
  line["slowest_by_seconds"] = straggler->seconds;
  line["slowest_in"] = straggler->is_in_data ? "data" : "compute";
}

// Spread over the ranks of a value whose sum is the job's.
void add_spread(Json& line, const std::vector<RankRecord>& ranks) {
  if (ranks.empty()) return;
  const auto slower = [](const RankRecord& one, const RankRecord& other) {
    return one.images_per_second < other.images_per_second;
  };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), slower);
  double sum = 0;
  for (const RankRecord& rank : ranks) sum += rank.images_per_second;
  line["rank_images_per_second"] = {{"min", least->images_per_second},
                                    {"mean", sum / static_cast<double>(ranks.size())},
                                    {"max", most->images_per_second}};
}

void add_system(Json& line, const SystemUsage& system) {
  for (std::size_t i = 0; i < kSystemValues; ++i) {
    const double value = system.values[i];
    if (!SystemUsage::is_present(value)) continue;
    const SystemValueSpec& spec = kSystemValueSpecs[i];
    if (spec.is_whole) {
      line[spec.name] = static_cast<std::uint64_t>(value);
    } else {
      line[spec.name] = value;
    }
  }
}

}  // namespace

JsonLinesSink::JsonLinesSink(const std::string& path, std::vector<std::string> rank_paths,
                             Warn warn)
    : warn_(std::move(warn)), all_{path, open_to_append(path)} {
  for (std::string& each : rank_paths) {
    File file = open_to_append(each);  // each, so that it is known that it can be
    ranks_.push_back({std::move(each), std::nullopt});
    if (ranks_.size() <= kMaxOpenFiles) ranks_.back().file = std::move(file);
  }
}

void JsonLinesSink::supersede_after(const std::string& path, const ResumePoint& point,
                                    Superseded& aside, const std::string& name) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return;
  if (descriptor < 0) throw IoError(path + ": cannot be opened: " + errno_text());
  const File file(descriptor, path);
  const std::uint64_t size = file.size();
  std::uint64_t kept = 0;
  bool has_zeros = false;
  read_lines(file, 0, size, [&](std::string_view text, std::uint64_t end) {
    const Json line = parse_json_or_discard(text);
    if (is_written_again(line, point)) return false;
    // A power failure can leave zeros in place of lines that were not durable. Notes after the
    // zeros were written later than those lines.
    has_zeros = has_zeros || text.find('\0') != std::string_view::npos;
    if (!has_zeros || is_of_training(line)) kept = end;
    return true;
  });
  if (kept == size) return;
  copy_part(file, kept, size, aside.place_of(name));
  copy_part(file, 0, kept, path);
}

void JsonLinesSink::on_step(const StepRecord& record) {
  Json line = line_for("step", record.step, record.epoch);
  line["loss"] = record.loss;
  if (record.accuracy) line["accuracy"] = *record.accuracy;
  line["lr"] = record.learning_rate;
  if (record.gradient_norm) line["grad_norm"] = *record.gradient_norm;
  line["images_per_second"] = record.images_per_second;
  add_spread(line, record.ranks);
  add_straggler(line, record.ranks);
  write(all_, line);
  const std::size_t ranks = std::min(record.ranks.size(), ranks_.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const RankRecord& each = record.ranks[rank];
    Json rank_line = line_for("step", record.step, record.epoch);
    rank_line["images"] = each.images;
    rank_line["loss"] = each.loss;
    rank_line["step_seconds"] = each.step_seconds;
    rank_line["data_seconds"] = each.data_seconds;
    rank_line["compute_seconds"] = each.compute_seconds;
    rank_line["comm_seconds"] = each.exchange_seconds;
    rank_line["images_per_second"] = each.images_per_second;
    add_system(rank_line, each.system);
    write(ranks_[rank], rank_line);
  }
}

void JsonLinesSink::on_epoch(const EpochRecord& record) {
  Json line = line_for("epoch", record.step, record.epoch);
  line["images"] = record.images;
  line["loss"] = record.loss;
  if (record.accuracy) line["accuracy"] = *record.accuracy;
  line["train_seconds"] = record.train_seconds;
  add_straggler(line, record.ranks);
  write(all_, line);
}

void JsonLinesSink::on_evaluation(const EvaluationRecord& record) {
  Json line = line_for("eval", record.step, record.epoch);
  line[record.of + "_loss"] = record.loss;
  line[record.of + "_" + record.score_name()] = record.score();
  if (record.top5_accuracy) line[record.of + "_accuracy_top5"] = *record.top5_accuracy;
  if (record.views_accuracy) line["test_accuracy_tta"] = *record.views_accuracy;
  line["images"] = record.images;
  line["seconds"] = record.seconds;
  write(all_, line);
}

void JsonLinesSink::on_note(const NoteRecord& record) {
  Json line = line_for(record.event.c_str(), record.step, record.epoch);
  line["text"] = record.text;
  write(all_, line);
}

void JsonLinesSink::sync() {
  const auto sync_one = [](Output& output) {
    if (output.file) return output.file->sync();
    File file = open_to_append(output.path);
    file.sync();
    file.close();
  };
  warn_of_failure([&] { sync_one(all_); });
  for (Output& each : ranks_) warn_of_failure([&] { sync_one(each); });
  if (names_are_durable_) return;
  warn_of_failure([&] {
    sync_folder(folder_of(all_.path));
    if (!ranks_.empty()) sync_folder(folder_of(ranks_.front().path));
    names_are_durable_ = true;
  });
}

void JsonLinesSink::write(Output& output, const Json& line) {
  const std::string text = dump_any_bytes(line) + "\n";
  warn_of_failure([&] {
    if (output.file) return output.file->append_whole(text);
    File file = open_to_append(output.path);
    file.append_whole(text);
    file.close();
  });
}

void JsonLinesSink::warn_of_failure(const std::function<void()>& call) {
  const auto warn = [this](const std::exception& error) {
    if (has_warned_.exchange(true)) return;
    warn_(std::string(error.what()) +
          "; training continues, and lines are missing there; check that the folder exists "
          "and has space");
  };
  try {
    call();
  } catch (const CannotCreateError& error) {
    warn(error);
  } catch (const IoError& error) {
    warn(error);
  }
}

}  // namespace tandem::metrics
