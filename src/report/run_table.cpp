#include "tandem/report/run_table.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/metric_lines.hpp"
#include "tandem/metrics/run_record.hpp"

namespace tandem::report {
namespace {

// The bytes read from the end of metrics.jsonl, because a table of many runs cannot read all of
// each.
constexpr std::uint64_t kTail = std::uint64_t{1} << 18;
// … but for an evaluation that lies further back.
constexpr std::uint64_t kLongestTail = std::uint64_t{1} << 24;

// ISO 8601, which every spreadsheet takes for a time; null where there is none.
Json as_time(double unix_seconds) {
  const std::string text = format_utc(unix_seconds, "%Y-%m-%dT%H:%M:%SZ");
  return text.empty() ? Json() : Json(text);
}

Json as_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  constexpr double kLargestWhole = 9e15;
  if (std::floor(value) != value || std::abs(value) > kLargestWhole) return value;
  return static_cast<std::int64_t>(value);
}

Json as_text(const std::string& text) { return text.empty() ? Json() : Json(text); }

// Start-up, steps and evaluations of a run with a summary; else the time until its last line.
double duration_of(const metrics::RunRecord& run) {
  if (run.summary.is_object()) {
    return number_of(run.summary, "startup_seconds") + number_of(run.summary, "train_seconds") +
           number_of(run.summary, "evaluation_seconds");
  }
  struct stat status {};
  const bool is_known = ::stat(run.metrics_path().c_str(), &status) == 0;
  if (!is_known || !std::isfinite(run.started())) return std::nan("");
  return std::max(0.0, static_cast<double>(status.st_mtim.tv_sec) - run.started());
}

metrics::MetricLines tail_of(metrics::RunRecord& run) {
  try {
    if (!file_exists(run.metrics_path())) return {};
    const std::uint64_t size = File::open_for_reading(run.metrics_path()).size();
    const bool evaluates = run.option("eval-every") != "0";
    for (std::uint64_t bytes = kTail;; bytes *= 4) {
      metrics::MetricLines lines = metrics::read_metric_lines(run.metrics_path(), {bytes});
      // A run with a validation split is tested at its end only.
      const bool is_found = lines.events.count("eval") > 0;
      if (is_found || !evaluates || bytes >= std::min(size, kLongestTail)) return lines;
    }
  } catch (const Error& error) {
    run.faults.push_back(error.what());
  }
  return {};
}

Json row_of(metrics::RunRecord& run) {
  const Json& summary = run.summary;
  const bool has_ended = summary.is_object();
  const metrics::MetricLines lines = has_ended ? metrics::MetricLines() : tail_of(run);
  const auto value = [&](const char* field, double otherwise) {
    return as_number(has_ended ? number_of(summary, field) : otherwise);
  };
  const Json& ranks = member(run.manifest, "ranks");
  return {
      {"run", std::filesystem::path(run.path).filename().string()},
      {"state", run.state()},
      {"started", as_time(run.started())},
      {"ranks", ranks.is_array() ? Json(ranks.size()) : Json()},
      {"model", as_text(run.option("model"))},
      {"data", as_text(text_of(member(run.manifest, "data"), "name"))},
      {"steps", value("steps", lines.last_step())},
      {"epochs", value("epochs", lines.event("step").last_epoch)},
      {"images_per_second", value("images_per_second", lines.last("step", "images_per_second"))},
      {"train_loss", value("train_loss", lines.last("step", "loss"))},
      {"test_loss", value("test_loss", lines.last("eval", "test_loss"))},
      {"test_accuracy", value("test_accuracy", lines.last("eval", "test_accuracy"))},
      {"train_seconds", value("train_seconds", std::nan(""))},
      {"duration_seconds", as_number(std::round(duration_of(run)))},
      {"test_map", value("test_map", lines.last("eval", "test_map"))}};
}

// A column of the table for people, and its place in the order in which columns are left out;
// 0: it stays; -1: it stays if any run has a value.
struct ShortColumn {
  const char* name;
  const char* head;
  int leaves;
};
constexpr ShortColumn kShortColumns[] = {{"run", "run", 0},
                                         {"state", "state", 0},
                                         {"started", "started (UTC)", 5},
                                         {"duration_seconds", "duration", 0},
                                         {"ranks", "ranks", 1},
                                         {"model", "model", 4},
                                         {"data", "data", 3},
                                         {"epochs", "epochs", 2},
                                         {"test_accuracy", "test_accuracy", 0},
                                         {"test_map", "test_map", -1}};
constexpr int kLeaving = 5;

// Of the table that format_table() makes, in bytes: no more columns of a terminal than these.
std::size_t width_of(const std::vector<std::vector<std::string>>& cells) {
  constexpr std::size_t kGap = 2;
  std::size_t width = 0;
  for (std::size_t i = 0; i < cells.front().size(); ++i) {
    std::size_t widest = 0;
    for (const auto& row : cells) widest = std::max(widest, row[i].size());
    width += widest + (i > 0 ? kGap : 0);
  }
  return width;
}

// The text of a cell in a short column.
std::string cell_of(const std::string& column, const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return escape_for_terminal(value.get<std::string>());
  const double number = value.get<double>();
  if (column == "test_accuracy" || column == "test_map") return format_fixed(number, 4);
  if (column == "duration_seconds") return format_duration(number);
  if (value.is_number_integer()) return format_count(value.get<std::int64_t>());
  return format_fixed(number, 2);
}

// Whether a spreadsheet would take it for a formula (OWASP, "CSV Injection"), the full-width forms
// of = + - @ included.
bool looks_like_formula(const std::string& text) {
  const std::string_view begin = std::string_view(text).substr(0, 3);
  const bool is_full_width = begin == "\xEF\xBC\x9D" || begin == "\xEF\xBC\x8B" ||
                             begin == "\xEF\xBC\x8D" || begin == "\xEF\xBC\xA0";
  const std::size_t first = text.find_first_not_of(" \"'");
  return is_full_width || (first != std::string::npos &&
                           std::string_view("=+-@|%").find(text[first]) != std::string_view::npos);
}

}  // namespace

const std::vector<std::string>& run_columns() {
  static const std::vector<std::string> kColumns = split(
      "run state started ranks model data steps epochs images_per_second train_loss test_loss "
      "test_accuracy train_seconds duration_seconds test_map",
      ' ');
  return kColumns;
}

RunList list_runs(const std::string& runs_dir) {
  if (!is_folder(runs_dir)) {
    constexpr char kExpected[] =
        "; expected the folder of runs that `tandem train --runs-dir` names";
    if (file_exists(runs_dir)) throw DataError(runs_dir + ": is a file" + kExpected);
    throw MissingInputError(runs_dir + ": is not there" + kExpected);
  }
  if (metrics::is_run_folder(runs_dir)) {
    throw DataError(runs_dir +
                    ": is a run, expected the folder of runs; `tandem inspect` shows a single run");
  }
  RunList runs;
  for (const std::string& path : list_folder(runs_dir)) {
    try {
      if (!metrics::is_run_folder(path)) continue;
      metrics::RunRecord run = metrics::read_run(path);
      runs.rows.push_back(row_of(run));
      runs.faults.insert(runs.faults.end(), run.faults.begin(), run.faults.end());
    } catch (const Error& error) {
      runs.faults.push_back(error.what());
    }
  }
  sort_runs(runs.rows, "run", false);
  std::sort(runs.faults.begin(), runs.faults.end());
  return runs;
}

void sort_runs(std::vector<Json>& rows, const std::string& column, bool is_descending) {
  const auto kind = [&](const Json& row) {
    return row.at(column).is_null() ? 2 : row.at(column).is_string() ? 1 : 0;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Json& one, const Json& other) {
    if (kind(one) != kind(other)) return kind(one) < kind(other);
    if (kind(one) == 2) return false;
    return is_descending ? other.at(column) < one.at(column) : one.at(column) < other.at(column);
  });
}

std::vector<std::vector<std::string>> to_short_cells(const std::vector<Json>& rows,
                                                     std::size_t width) {
  constexpr std::size_t kMinutes = std::string_view("2026-11-21T12:48").size();
  for (int left_out = 0;; ++left_out) {
    std::vector<std::vector<std::string>> cells(rows.size() + 1);
    for (const ShortColumn& column : kShortColumns) {
      if (column.leaves > 0 && column.leaves <= left_out) continue;
      if (column.leaves < 0 && std::all_of(rows.begin(), rows.end(), [&](const Json& row) {
            return row.at(column.name).is_null();
          })) {
        continue;
      }
      cells.front().emplace_back(column.head);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::string cell = cell_of(column.name, rows[i].at(column.name));
        if (column.name == std::string_view("started") && cell.size() > kMinutes) {
          cell = cell.substr(0, kMinutes);
          cell[cell.find('T')] = ' ';
        }
        cells[i + 1].push_back(std::move(cell));
      }
    }
    if (left_out == kLeaving || width_of(cells) <= width) return cells;
  }
}

std::string csv_field(const std::string& text) {
  std::string shown = (looks_like_formula(text) ? "'" : "") + escape_for_terminal(text);
  if (shown.find_first_of(",;\" '") == std::string::npos) return shown;
  std::string quoted = "\"";
  for (const char letter : shown) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

std::string to_csv(const std::vector<Json>& rows) {
  std::string file = join(run_columns(), ",") + "\r\n";
  for (const Json& row : rows) {
    std::vector<std::string> fields;
    for (const std::string& column : run_columns()) {
      const Json& value = row.at(column);
      fields.push_back(value.is_string() ? csv_field(value.get<std::string>())
                       : value.is_null() ? ""
                                         : value.dump());
    }
    file += join(fields, ",") + "\r\n";
  }
  return file;
}

}  // namespace tandem::report
