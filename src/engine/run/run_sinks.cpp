#include "run_sinks.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/train_options.hpp"
#include "plan.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"
#include "tandem/metrics/json_lines.hpp"
#include "tandem/train/host_copy.hpp"

namespace tandem::app {
namespace {

constexpr std::size_t kImages = 8;

std::variant<double, bool, std::string> typed(const OptionSpec& spec, const std::string& text) {
  if (spec.placeholder.empty()) return text == "true";
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end == '\0' && !text.empty()) return number;
  return text;
}

// Markdown shows indented lines as they are.
std::string as_code(const std::string& text) {
  return "    " + join(split(trim(text), '\n'), "\n    ");
}

// The first sink. Throws if another run has taken over the folder, before other sinks write.
class OwnerSink : public metrics::Sink {
 public:
  explicit OwnerSink(const metrics::RunFolder& folder) : folder_(folder) {}
  void on_step(const metrics::StepRecord& /*record*/) override { folder_.require_held(); }
  void on_epoch(const metrics::EpochRecord& /*record*/) override { folder_.require_held(); }
  void on_evaluation(const metrics::EvaluationRecord& /*record*/) override {
    folder_.require_held();
  }
  void on_note(const metrics::NoteRecord& /*record*/) override { folder_.require_held(); }

 private:
  const metrics::RunFolder& folder_;
};

// "cat", of a multi-label set "cat, dog"
std::string classes_of(const data::ImagesView& view, std::size_t image,
                       const data::DatasetInfo& info) {
  if (!view.is_multi_label()) return info.classes.at(view.labels[image]);
  const Span<const std::uint8_t> targets = view.targets_of(image);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == 1) names.push_back(info.classes[i]);
  }
  return join(names, ", ");
}

}  // namespace

metrics::TensorBoardStart describe_for_tensorboard(const Options& options,
                                                   const std::string& command_line,
                                                   const train::ImageStore& images,
                                                   const train::BatchArithmetic& arithmetic,
                                                   const RankTable& ranks) {
  metrics::TensorBoardStart start;
  const data::DatasetInfo& info = images.info();
  if (info.multi_label) start.score = "map";
  start.parameters = {{"dataset", info.name},
                      {"ranks", static_cast<double>(ranks.ranks.size())},
                      {"global_batch", static_cast<double>(arithmetic.global_batch)},
                      {"learning_rate", arithmetic.learning_rate}};
  for (const OptionSpec& spec : options.table()) {
    const bool is_listed = spec.traits.hyper_parameter == HyperParameter::kListed;
    if (!is_listed || !options.is_set(spec.name)) continue;
    start.parameters.emplace_back(spec.name, typed(spec, options.text(spec.name)));
  }
  start.texts = {{"run/command_line", as_code(command_line)},
                 {"run/config", as_code(to_ini(options))},
                 {"run/ranks", as_code(full_rank_table(ranks))}};
  if (!data::has_png_form(info.shape)) return start;
  const data::ImagesView view = images.view(data::Split::kTrain);
  data::PixelsOf pixels_of(view);
  for (std::size_t i = 0; i < std::min<std::size_t>(kImages, view.labels.size()); ++i) {
    // TensorBoard sorts groups by name and opens the first ones. These names sort after the curves.
    const std::string tag = "train_images/" + std::to_string(i) + " " + classes_of(view, i, info);
    const Span<const std::uint8_t> pixels(pixels_of(i), info.shape.pixels());
    start.images.push_back({tag, data::encode_png(info.shape, pixels), info.shape.channels,
                            info.shape.height, info.shape.width});
  }
  return start;
}

metrics::VisitWeights visit_weights_of(const train::ParameterArena& arena) {
  return [&arena](const metrics::TakeWeights& take) {
    const torch::Tensor flat = train::on_host(arena.flat_values());
    const Span<float> values = train::floats_of(flat);
    for (const train::ParameterArena::Slot& slot : arena.slots()) {
      take(slot.name, values.subspan(slot.offset, slot.count));
    }
  };
}

void show_totals(const train::TrainConfig& config, const train::BatchArithmetic& arithmetic,
                 std::uint64_t image_count, metrics::ConsoleSettings& console) {
  console.total_steps = arithmetic.total_steps;
  console.steps_per_epoch = arithmetic.steps_per_epoch;
  console.total_epochs = arithmetic.epochs_of(arithmetic.total_steps);
  console.images_per_epoch =
      images_of_steps(config, arithmetic, image_count, arithmetic.steps_per_epoch);
}

metrics::Sinks make_sinks(const metrics::RunFolder& folder,
                          const metrics::TensorBoardSettings& board,
                          const std::function<metrics::TensorBoardStart()>& describe,
                          metrics::ConsoleSettings console) {
  std::vector<std::string> rank_paths;
  for (std::size_t rank = 0; rank < console.hosts.size(); ++rank) {
    rank_paths.push_back(folder.rank_metrics_path(static_cast<int>(rank)));
  }
  metrics::Sinks sinks;
  sinks.push_back(std::make_unique<OwnerSink>(folder));
  sinks.push_back(
      std::make_unique<metrics::JsonLinesSink>(folder.metrics_path(), rank_paths, print_warning));
  sinks.push_back(std::make_unique<metrics::TensorBoardSink>(board, describe));
  sinks.push_back(std::make_unique<metrics::ConsoleSink>(std::move(console)));
  return sinks;
}

}  // namespace tandem::app
