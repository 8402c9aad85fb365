#include "last_evaluation.hpp"

#include "tandem/comm/agree.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kMaxPixels = 1'000'000;  // bytes of the worst images in evaluation.json

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
    const bool has_room = bytes <= kMaxPixels;
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

// On rank 0.
bool lacks_results(const RunStart& start, bool views) {
  const auto& last = start.state.result.last_evaluation;
  if (!last || (views && !last->views_accuracy)) return true;
  return !start.folder->has_evaluation_after(start.state.step);
}

}  // namespace

void keep_evaluation(const metrics::RunFolder& folder, const train::Evaluation& evaluation,
                     const train::ImageStore& images) {
  folder.require_held();
  try {
    folder.write_evaluation(
        make_evaluation(evaluation, images.info(), images.view(data::Split::kTest)));
  } catch (const Error& error) {
    print_warning(message_of(error) + "; the run goes on without it");
  }
}

void owe_last_evaluation(Job& job, RunStart& start, const train::TrainConfig& config,
                         std::uint64_t total_steps, bool views) {
  const bool is_at_its_end = start.resumes && start.state.step >= total_steps;
  if (!is_at_its_end || config.eval_every == 0) return;
  std::uint8_t due = 0;
  comm::agree_on_rank_0(
      job.world, [&] { due = start.state.evaluation_due || lacks_results(start, views) ? 1 : 0; });
  job.world.broadcast(Span<std::uint8_t>(&due, 1));
  start.state.evaluation_due = due != 0;
}

}  // namespace tandem::app
