#include "run_report.hpp"

#include "tandem/comm/runtime.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/version.hpp"
#include "tandem/model/torch_compat.hpp"
#include "tandem/report/page.hpp"

namespace tandem::app {
namespace {

// A page that cannot be written is only a warning, because the run itself is complete.
void leave_page(const metrics::RunFolder& folder, const Json& summary, bool has_error) {
  try {
    report::write_report_at_end(folder.path(), summary, folder.report_path());
  } catch (const std::exception& error) {
    if (has_error) return;
    print_warning(message_of(error) + "; the run is whole without it, and `tandem report " +
                  folder.path() + " --output FILE.html` shows it");
  }
}

void add_evaluation(const std::optional<train::Evaluation>& evaluation, const std::string& of,
                    Json& summary) {
  if (!evaluation) return;
  summary[of + "_loss"] = evaluation->loss;
  summary[of + (evaluation->mean_average_precision ? "_map" : "_accuracy")] = evaluation->score();
  if (evaluation->views_accuracy) summary[of + "_accuracy_tta"] = *evaluation->views_accuracy;
  if (evaluation->top5_accuracy) summary[of + "_accuracy_top5"] = *evaluation->top5_accuracy;
}

}  // namespace

Json make_manifest(const std::string& run_id, const train::ImageStore& images,
                   const RankTable& ranks, const Json& segment, const Json& earlier) {
  Json rank_list = Json::array();
  for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
    rank_list.push_back({{"rank", ranks.ranks[i].rank},
                         {"host", ranks.ranks[i].host},
                         {"local_rank", ranks.ranks[i].local_rank},
                         {"device", ranks.devices[i]},
                         {"threads", ranks.threads[i]}});
  }
  const data::DatasetInfo& info = images.info();
  Json segments = member(earlier, "segments");
  if (!segments.is_array()) segments = Json::array();
  segments.push_back(segment);
  return {{"run_id", run_id},
          {"versions",
           {{"tandem", version()},
            {"source", source_version()},
            {"libtorch", model::torch_version()},
            {"mpi", comm::mpi_library_version()}}},
          {"command_line", segment.at("command_line")},
          {"data",
           {{"name", info.name}, {"digest", info.digest}, {"source_sha256", info.source_sha256}}},
          {"ranks", rank_list},
          {"segments", segments}};
}

Json make_summary(const std::string& run_id, const train::TrainResult& result, int world,
                  const std::string& weights_sha256, double startup_seconds) {
  Json summary{{"run_id", run_id},
               {"exit_reason", result.stopped ? "stopped" : "completed"},
               {"world_size", world},
               {"ended_early", result.ended_early},
               {"steps", result.steps},
               {"epochs", result.epochs},
               {"images_seen", result.images_seen},
               {"train_seconds", result.train_seconds},
               {"data_seconds", result.data_seconds},
               {"exchange_seconds", result.exchange_seconds},
               {"startup_seconds", startup_seconds},
               {"evaluation_seconds", result.evaluation_seconds},
               {"images_per_second", nullptr},
               {"train_loss", nullptr},
               {"skipped_steps", result.skipped_steps},
               {"test_loss", nullptr},
               {"test_accuracy", nullptr},
               {"test_accuracy_tta", nullptr},
               {"test_accuracy_top5", nullptr},
               {"validation_loss", nullptr},
               {"validation_accuracy", nullptr},
               {"validation_accuracy_top5", nullptr},
               {"weights_sha256", weights_sha256}};
  // A run that ended before it measured these has null, not 0.
  if (result.images_per_second > 0) summary["images_per_second"] = result.images_per_second;
  if (result.train_loss) summary["train_loss"] = *result.train_loss;
  add_evaluation(result.last_evaluation, "test", summary);
  add_evaluation(result.last_validation, "validation", summary);
  return summary;
}

Json make_failure_summary(const std::string& run_id, const train::TrainResult& result, int world,
                          double startup_seconds, const std::string& error) {
  Json summary = make_summary(run_id, result, world, "", startup_seconds);
  summary["exit_reason"] = "failed";
  summary["weights_sha256"] = nullptr;
  summary["error"] = error;
  return summary;
}

void leave_result(const metrics::RunFolder& folder, const Json& summary, bool has_error) {
  folder.require_held();
  // A run that was stopped early should end soon, and its summary matters most.
  const bool is_complete = summary.at("exit_reason") == "completed";
  if (!is_complete) folder.write_summary(summary);
  leave_page(folder, summary, has_error);
  if (is_complete) folder.write_summary(summary);
}

}  // namespace tandem::app
