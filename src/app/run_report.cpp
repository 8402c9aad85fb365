#include "run_report.hpp"

#include "tandem/comm/runtime.hpp"
#include "tandem/core/base64.hpp"
#include "tandem/core/clock.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"
#include "tandem/model/torch_compat.hpp"
#include "tandem/report/page.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kMostPixels = 1'000'000;  // bytes of the worst images in evaluation.json

std::string count_text(std::uint64_t count) {
  return format_count(static_cast<std::int64_t>(count));
}

// docs/formats.md
Json make_evaluation(const train::Evaluation& evaluation, const data::DatasetInfo& info,
                     const data::ImagesView& images) {
  const std::size_t classes = info.classes.size();
  Json confusion = Json::array();
  for (std::size_t label = 0; label < classes; ++label) {
    const auto row = evaluation.confusion.begin() + static_cast<std::ptrdiff_t>(label * classes);
    confusion.push_back(std::vector<std::int64_t>(row, row + static_cast<std::ptrdiff_t>(classes)));
  }
  Json worst = Json::array();
  std::size_t bytes = 0;
  for (const train::WrongAnswer& answer : evaluation.worst) {
    const std::size_t size = images.shape.pixels();
    bytes += size;
    const Span<const std::uint8_t> pixels = images.images.subspan(answer.image * size, size);
    const bool has_room = bytes <= kMostPixels;
    worst.push_back({{"index", answer.image},
                     {"label", images.labels[answer.image]},
                     {"predicted", answer.predicted},
                     {"loss", answer.loss},
                     {"pixels", has_room ? to_base64({reinterpret_cast<const char*>(pixels.data()),
                                                      pixels.size()})
                                         : ""}});
  }
  return {{"step", evaluation.step},
          {"split", "test"},
          {"images", evaluation.images},
          {"test_loss", evaluation.loss},
          {"test_accuracy", evaluation.accuracy},
          {"classes", info.classes},
          {"confusion", confusion},
          {"shape", {info.shape.channels, info.shape.height, info.shape.width}},
          {"worst", worst}};
}

// What shows the run: evaluation.json of an evaluation that this start of it made, and report.html.
// What cannot be written is a warning: a run that is done is not lost for it.
void leave_page(const metrics::RunFolder& folder, const train::TrainResult& result,
                const train::ImageStore& images, const Json& summary) {
  try {
    const auto& evaluation = result.last_evaluation;
    // One that an earlier start of the run made has left its file there.
    if (evaluation && !evaluation->confusion.empty()) {
      folder.write_evaluation(
          make_evaluation(*evaluation, images.info(), images.view(data::Split::kTest)));
    }
    report::write_report_at_end(folder.path(), summary, folder.report_path());
  } catch (const std::exception& error) {
    print_warning(message_of(error) + "; the run is whole without it, and `tandem report " +
                  folder.path() + " --output FILE.html` shows it");
  }
}

}  // namespace

std::string banner(const Options& options, const train::ImageStore& images,
                   const train::TrainConfig& config, const train::BatchArithmetic& arithmetic,
                   const RankTable& ranks, std::size_t parameters, const std::string& exchange) {
  const data::DatasetInfo& info = images.info();
  const auto world = static_cast<int>(ranks.ranks.size());
  const std::size_t held_out = images.validation().labels.size();
  const std::string held = held_out == 0 ? "" : ", " + count_text(held_out) + " validation";
  return describe_options(options) + "\n\n" + "data " + info.name + ": " +
         count_text(images.view(data::Split::kTrain).labels.size()) + " train" + held + " and " +
         count_text(info.test_count) + " test images of " + info.shape.text() + ", digest " +
         info.digest + "; " + format_bytes(images.bytes()) +
         (images.shared() ? " once per host" : " in every rank") + "\nmodel " + config.model +
         ": " + count_text(parameters) + " parameters, " + exchange + "\n" +
         arithmetic.describe(config, world) + "; " + count_text(arithmetic.total_steps) +
         " steps\n\n" + ranks.text + "\n";
}

Json make_manifest(const std::string& run_id, const train::ImageStore& images,
                   const RankTable& ranks, const std::string& command_line,
                   std::uint64_t first_step, const Json& earlier) {
  Json rank_list = Json::array();
  for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
    rank_list.push_back({{"rank", ranks.ranks[i].rank},
                         {"host", ranks.ranks[i].host},
                         {"local_rank", ranks.ranks[i].local_rank},
                         {"device", ranks.devices[i]},
                         {"threads", ranks.threads[i]}});
  }
  const data::DatasetInfo& info = images.info();
  Json segments = earlier.is_object() ? earlier.value("segments", Json::array()) : Json::array();
  segments.push_back({{"started", unix_seconds()},
                      {"first_step", first_step},
                      {"world_size", ranks.ranks.size()}});
  return {{"run_id", run_id},
          {"versions",
           {{"tandem", version()},
            {"source", source_version()},
            {"libtorch", model::torch_version()},
            {"mpi", comm::mpi_library_version()}}},
          {"command_line", command_line},
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
               {"steps", result.steps},
               {"epochs", result.epochs},
               {"images_seen", result.images_seen},
               {"train_seconds", result.train_seconds},
               {"data_seconds", result.data_seconds},
               {"exchange_seconds", result.exchange_seconds},
               {"startup_seconds", startup_seconds},
               {"evaluation_seconds", result.evaluation_seconds},
               {"images_per_second", result.images_per_second},
               {"train_loss", result.train_loss},
               {"skipped_steps", result.skipped_steps},
               {"test_loss", nullptr},
               {"test_accuracy", nullptr},
               {"test_accuracy_tta", nullptr},
               {"validation_loss", nullptr},
               {"validation_accuracy", nullptr},
               {"weights_sha256", weights_sha256}};
  if (result.last_evaluation) {
    summary["test_loss"] = result.last_evaluation->loss;
    summary["test_accuracy"] = result.last_evaluation->accuracy;
    const auto& views = result.last_evaluation->views_accuracy;
    if (views) summary["test_accuracy_tta"] = *views;
  }
  if (result.last_validation) {
    summary["validation_loss"] = result.last_validation->loss;
    summary["validation_accuracy"] = result.last_validation->accuracy;
  }
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

void leave_result(const metrics::RunFolder& folder, const train::TrainResult& result,
                  const train::ImageStore& images, const Json& summary) {
  // Whoever ends a run before its time does not wait for long, and the summary is what counts.
  const bool is_complete = summary.at("exit_reason") == "completed";
  if (!is_complete) folder.write_summary(summary);
  leave_page(folder, result, images, summary);
  if (is_complete) folder.write_summary(summary);
}

std::string describe_end(const train::TrainResult& result, const std::string& folder) {
  const std::string what = format_count(static_cast<std::int64_t>(result.steps)) + " steps in " +
                           format_fixed(result.train_seconds, 1) + " s, " +
                           format_count(static_cast<std::int64_t>(result.images_per_second)) +
                           " images/s; " + folder;
  return result.stopped ? "stopped, --resume auto goes on: " + what : "done: " + what;
}

}  // namespace tandem::app
