// tandem inspect: what a data set, a model file or a run folder holds.
#include "commands.hpp"
#include "session/engine.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/packed_set.hpp"
#include "tandem/metrics/run_record.hpp"

namespace tandem::app {
namespace {

Json shape_of(const data::ImageShape& shape) { return {shape.channels, shape.height, shape.width}; }

Json inspect_dataset(const std::string& path) {
  const data::PackedSet set(path, {}, data::PackedSet::Parts::kOne);
  const data::DatasetInfo& info = set.info();
  Json found = {{"kind", "data set"},
                {"name", info.name},
                {"train_images", info.train_count},
                {"test_images", info.test_count},
                {"shape", shape_of(info.shape)},
                {"classes", info.classes},
                {"mean", info.mean},
                {"std", info.std},
                {"digest", info.digest},
                {"source_sha256", info.source_sha256},
                {"broken_files", info.broken_files},
                {"exif_orientation", info.exif_orientation ? "applied" : "ignored"},
                {"sealed", info.sealed}};
  if (info.multi_label) found["targets"] = "multi-label";
  if (info.is_encoded()) {
    found["store"] = "encoded";
    found["picture_bytes"] = info.train_bytes + info.test_bytes;
  }
  if (info.part > 0) found["part"] = info.part;
  if (info.parts > 0) {
    found["parts"] = info.parts;
    found["set"] = info.set_id;
  }
  return found;
}

Json inspect_run(const std::string& path) {
  const metrics::RunRecord run = metrics::read_run(path);
  if (!run.faults.empty()) throw DataError(join(run.faults, "\n  "));
  Json found{{"kind", "run"}, {"state", run.state()}, {"finished", !run.summary.is_null()}};
  if (!run.manifest.is_null()) found["manifest"] = run.manifest;
  if (!run.summary.is_null()) found["summary"] = run.summary;
  return found;
}

std::string shown_value(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (key == "started" && value.is_number()) {
    return format_utc(value.get<double>(), "%Y-%m-%d %H:%M:%S UTC");
  }
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const Json& each : value) parts.push_back(shown_value(key, each));
  return join(parts, ", ");
}

// One "key  value" line per entry. The key of a nested entry is its path; entries of a list have
// their index, from 0.
void add_rows(const Json& json, const std::string& prefix,
              std::vector<std::vector<std::string>>& rows) {
  for (const auto& [key, value] : json.items()) {
    const bool is_list_of_objects = value.is_array() && !value.empty() && value.front().is_object();
    if (value.is_object() || is_list_of_objects) {
      add_rows(value, prefix + key + ".", rows);
    } else {
      rows.push_back({prefix + key, shown_value(key, value)});
    }
  }
}

int run_inspect(const Arguments& arguments) {
  Options options = resolve_alone(inspect_command(), arguments, true);
  const bool json = options.flag("json");
  if (options.positional().size() != 1) options.add_fault("one PATH is expected");
  options.throw_faults("inspect");
  const std::string& path = options.positional().front();
  const Json found = is_folder(path)                   ? inspect_run(path)
                     : ends_with(path, ".safetensors") ? open_engine().inspect_model(path)
                                                       : inspect_dataset(path);
  if (json) {
    print_line(found.dump());
    return 0;
  }
  std::vector<std::vector<std::string>> rows;
  add_rows(found, "", rows);
  print_line(format_table(rows));
  return 0;
}

}  // namespace

Command inspect_command() {
  return {"inspect",
          "PATH",
          "what a data set, a model or a run folder holds",
          "tandem inspect synthetic.h5",
          {{"json", "", "false", "one JSON object on standard output", "reporting"}},
          run_inspect,
          nullptr};
}

}  // namespace tandem::app
