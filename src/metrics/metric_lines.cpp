#include "tandem/metrics/metric_lines.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "line_reader.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"

namespace tandem::metrics {
namespace {

// Limits for files from outside.
constexpr std::size_t kMaxEvents = 32;
constexpr std::size_t kMaxFields = 64;
constexpr std::size_t kMaxNotes = 200;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The numbers and texts that an object holds itself. An event handler of the parser, because a tree
// for each of millions of lines takes several times as long.
class FlatObject final : public nlohmann::json_sax<Json> {
 public:
  bool read(std::string_view line) {
    numbers.clear();
    texts.clear();
    depth_ = 0;
    return Json::sax_parse(line.begin(), line.end(), this) && !is_array_;
  }
  double number(std::string_view name) const {
    for (const auto& [key, value] : numbers) {
      if (key == name) return value;
    }
    return kNone;
  }
  const std::string* text(std::string_view name) const {
    for (const auto& [key, value] : texts) {
      if (key == name) return &value;
    }
    return nullptr;
  }

  std::vector<std::pair<std::string, double>> numbers;
  std::vector<std::pair<std::string, std::string>> texts;

  bool null() override { return add(kNone); }
  bool boolean(bool value) override { return add(value ? 1 : 0); }
  bool number_integer(number_integer_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override {
    if (depth_ == 1) texts.emplace_back(key_, std::move(value));
    return depth_ > 0;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    if (depth_ == 0) is_array_ = false;
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == 1) key_ = std::move(name);
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override {
    if (depth_ == 0) is_array_ = true;
    ++depth_;
    return true;
  }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool add(double value) {
    if (depth_ == 1) numbers.emplace_back(key_, value);
    return depth_ > 0;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::string key_;
  int depth_ = 0;
  bool is_array_ = false;
};

bool is_of_every_line(const std::string& field) {
  return field == "step" || field == "epoch" || field == "time";
}

double steps_of_line(double step, double line_before, const std::vector<double>& starts) {
  const auto later = std::lower_bound(starts.begin(), starts.end(), step);
  const double start = later == starts.begin() ? 0 : *std::prev(later);
  return std::max(1.0, step - std::max(line_before, start));
}

void keep_note(Note note, MetricLines& lines) {
  lines.notes.push_back(std::move(note));
  if (lines.notes.size() <= kMaxNotes) return;
  lines.notes.pop_front();
  ++lines.earlier_notes;
}

// False: tandem did not write the line.
bool take(const FlatObject& line, const Reading& reading, MetricLines& lines) {
  const std::string* event = line.text("event");
  const double step = line.number("step");
  if (event == nullptr || !std::isfinite(step) || step < 0) return false;
  if (const std::string* text = line.text("text")) {
    keep_note({*event, step, line.number("time"), *text}, lines);
    return true;
  }
  auto found = lines.events.find(*event);
  if (found == lines.events.end()) {
    if (lines.events.size() == kMaxEvents) return false;
    found = lines.events.emplace(*event, EventLines()).first;
  }
  EventLines& of_event = found->second;
  const double steps = steps_of_line(step, of_event.last_step, reading.starts);
  of_event.last_step = step;
  of_event.last_epoch = line.number("epoch");
  of_event.steps += steps;
  const double time = line.number("time");
  for (const auto& [field, value] : line.numbers) {
    if (is_of_every_line(field)) continue;
    const auto series = of_event.fields.find(field);
    if (series != of_event.fields.end()) {
      series->second.add({step, of_event.last_epoch, value, time}, steps);
    } else if (of_event.fields.size() < kMaxFields) {
      of_event.fields[field].add({step, of_event.last_epoch, value, time}, steps);
    }
  }
  if (reading.see) {
    reading.see({*event, step, steps, [&](const char* field) { return line.number(field); }});
  }
  return true;
}

}  // namespace

const EventLines& MetricLines::event(const std::string& name) const {
  static const EventLines kNothing;
  const auto found = events.find(name);
  return found == events.end() ? kNothing : found->second;
}

const SampleSeries& MetricLines::series(const std::string& event, const std::string& field) const {
  static const SampleSeries kNothing;
  const auto& fields = this->event(event).fields;
  const auto found = fields.find(field);
  return found == fields.end() ? kNothing : found->second;
}

double MetricLines::last(const std::string& event, const std::string& field) const {
  const std::vector<Sample>& found = samples(event, field);
  return found.empty() ? kNone : found.back().value;
}

double MetricLines::last_step() const {
  double last = 0;
  for (const auto& [name, lines] : events) {
    last = std::max(last, lines.last_step);
  }
  return last;
}

MetricLines read_metric_lines(const std::string& path, const Reading& reading) {
  const File file = File::open_for_reading(path);
  const std::uint64_t end = file.size();  // later lines are left to the next reader
  MetricLines lines;
  FlatObject object;
  const std::uint64_t begin = end - std::min(end, reading.most_bytes);
  read_lines(file, begin, end, [&](std::string_view line, std::uint64_t) {
    lines.refused += !object.read(line) || !take(object, reading, lines);
    return true;
  });
  return lines;
}

void SampleSeries::add(const Sample& sample, double steps) {
  samples_.push_back(sample);
  if (std::isfinite(sample.value)) {
    ++count_;
    sum_ += sample.value;
    weight_ += steps;
    weighted_sum_ += steps * sample.value;
    highest_ = std::fmax(highest_, sample.value);
  }
  if (samples_.size() > kMax) thin();
}

// Thins to half of the limit, so that it is rare. The range grows only if the old one leaves too
// many samples, because the latest ones have not been thinned yet. This ends: a range as long as
// all steps leaves at most four.
void SampleSeries::thin() {
  for (;; stretch_ *= 2) {
    samples_ = keep_extremes(
        samples_, [&](const Sample& sample) { return std::floor(sample.step / stretch_); },
        [](const Sample& sample) { return sample.value; });
    if (samples_.size() <= kMax / 2) return;
  }
}

}  // namespace tandem::metrics
