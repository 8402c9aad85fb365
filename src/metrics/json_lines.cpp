#include "tandem/metrics/json_lines.hpp"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>

#include "tandem/core/error.hpp"

namespace tandem::metrics {
namespace {

File open_to_append(const std::string& path) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor < 0) {
    throw CannotCreateError(path + ": cannot be created: " + std::strerror(errno));
  }
  return File(descriptor, path);
}

Json line_for(const char* event, std::uint64_t step, double epoch) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return {{"event", event}, {"step", step}, {"epoch", epoch}, {"time", now.count()}};
}

}  // namespace

JsonLinesSink::JsonLinesSink(const std::string& path) : file_(open_to_append(path)) {}

void JsonLinesSink::drop_after(const std::string& path, std::uint64_t step) {
  if (!file_exists(path)) return;
  std::istringstream lines(read_file(path));
  std::string kept;
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    const Json json = Json::parse(line, nullptr, false);
    const bool is_ours =
        json.is_object() && json.contains("step") && json["step"].is_number_unsigned();
    if (is_ours && json["step"].get<std::uint64_t>() <= step) kept += line + "\n";
  }
  write_file_atomically(path, kept);
}

void JsonLinesSink::on_step(const StepRecord& record) {
  Json line = line_for("step", record.step, record.epoch);
  line["loss"] = record.loss;
  line["accuracy"] = record.accuracy;
  line["lr"] = record.learning_rate;
  line["images_per_second"] = record.images_per_second;
  write(line);
}

void JsonLinesSink::on_epoch(const EpochRecord& record) {
  Json line = line_for("epoch", record.step, record.epoch);
  line["images"] = record.images;
  line["loss"] = record.loss;
  line["accuracy"] = record.accuracy;
  line["train_seconds"] = record.train_seconds;
  write(line);
}

void JsonLinesSink::on_evaluation(const EvaluationRecord& record) {
  Json line = line_for("eval", record.step, record.epoch);
  line["test_loss"] = record.test_loss;
  line["test_accuracy"] = record.test_accuracy;
  line["images"] = record.images;
  line["seconds"] = record.seconds;
  write(line);
}

void JsonLinesSink::on_note(const NoteRecord& record) {
  Json line = line_for(record.event.c_str(), record.step, record.epoch);
  line["text"] = record.text;
  write(line);
}

void JsonLinesSink::write(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  file_.write(text.data(), text.size());
}

}  // namespace tandem::metrics
