#include "tandem/train/training_state.hpp"

#include <limits>

#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

// JSON has no NaN or infinity; they are written as null.
void get_number(const Json& json, double& number) {
  number = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json to_json(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

std::optional<double> number_from_json(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<double>();
}

Json evaluation_to_json(const std::optional<Evaluation>& evaluation) {
  if (!evaluation) return nullptr;
  return {{"loss", evaluation->loss},
          {"accuracy", evaluation->accuracy},
          {"correct", evaluation->correct},
          {"images", evaluation->images},
          {"views_accuracy", to_json(evaluation->views_accuracy)},
          {"top5_accuracy", to_json(evaluation->top5_accuracy)},
          {"map", to_json(evaluation->mean_average_precision)},
          {"step", evaluation->step}};
}

std::optional<Evaluation> evaluation_from_json(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Evaluation evaluation;
  get_number(json.at("loss"), evaluation.loss);
  json.at("accuracy").get_to(evaluation.accuracy);
  json.at("correct").get_to(evaluation.correct);
  json.at("images").get_to(evaluation.images);
  // Checkpoints of older programs have none of these; 0 means unknown, as no evaluation follows
  // step 0.
  evaluation.views_accuracy = number_from_json(json.value("views_accuracy", Json()));
  evaluation.top5_accuracy = number_from_json(json.value("top5_accuracy", Json()));
  evaluation.mean_average_precision = number_from_json(json.value("map", Json()));
  evaluation.step = json.value("step", std::uint64_t{0});
  return evaluation;
}

}  // namespace

void TrainingState::take_accuracy(double accuracy) {
  const bool is_best = !best_accuracy || accuracy > *best_accuracy;
  if (is_best) best_accuracy = accuracy;
  evaluations_since_best = is_best ? 0 : evaluations_since_best + 1;
}

bool TrainingState::ends_early(std::uint64_t early_stop) const {
  return early_stop > 0 && evaluations_since_best >= early_stop;
}

Json TrainingState::to_json() const {
  return {{"step", step},
          {"epoch_loss", epoch_totals.loss},
          {"epoch_correct", epoch_totals.correct},
          {"epoch_images", epoch_totals.images},
          {"epoch_counted_images", epoch_totals.counted_images},
          {"epoch_id_hash", epoch_totals.id_hash},
          {"epoch_seconds", epoch_seconds},
          {"evaluation_due", evaluation_due},
          {"steady_seconds", steady_seconds},
          {"steady_images", steady_images},
          {"loss_scale", loss_scale.scale},
          {"loss_scale_steps", loss_scale.good_steps},
          {"best_accuracy", train::to_json(best_accuracy)},
          {"evaluations_since_best", evaluations_since_best},
          {"epochs", result.epochs},
          {"images_seen", result.images_seen},
          {"train_seconds", result.train_seconds},
          {"data_seconds", result.data_seconds},
          {"exchange_seconds", result.exchange_seconds},
          {"evaluation_seconds", result.evaluation_seconds},
          {"images_per_second", result.images_per_second},
          {"train_loss", train::to_json(result.train_loss)},
          {"skipped_steps", result.skipped_steps},
          {"last_evaluation", evaluation_to_json(result.last_evaluation)},
          {"last_validation", evaluation_to_json(result.last_validation)}};
}

TrainingState TrainingState::from_json(const Json& json) {
  TrainingState state;
  try {
    json.at("step").get_to(state.step);
    get_number(json.at("epoch_loss"), state.epoch_totals.loss);
    json.at("epoch_correct").get_to(state.epoch_totals.correct);
    json.at("epoch_images").get_to(state.epoch_totals.images);
    json.at("epoch_counted_images").get_to(state.epoch_totals.counted_images);
    json.at("epoch_id_hash").get_to(state.epoch_totals.id_hash);
    json.at("epoch_seconds").get_to(state.epoch_seconds);
    json.at("evaluation_due").get_to(state.evaluation_due);
    json.at("steady_seconds").get_to(state.steady_seconds);
    json.at("steady_images").get_to(state.steady_images);
    // Checkpoints of 0.1.0 before fp16 have neither.
    state.loss_scale = {json.value("loss_scale", 0.0), json.value("loss_scale_steps", 0)};
    // Checkpoints before --early-stop have neither.
    state.best_accuracy = number_from_json(json.value("best_accuracy", Json()));
    state.evaluations_since_best = json.value("evaluations_since_best", std::uint64_t{0});
    json.at("epochs").get_to(state.result.epochs);
    json.at("images_seen").get_to(state.result.images_seen);
    json.at("train_seconds").get_to(state.result.train_seconds);
    json.at("data_seconds").get_to(state.result.data_seconds);
    json.at("exchange_seconds").get_to(state.result.exchange_seconds);
    json.at("evaluation_seconds").get_to(state.result.evaluation_seconds);
    json.at("images_per_second").get_to(state.result.images_per_second);
    state.result.train_loss = number_from_json(json.at("train_loss"));
    json.at("skipped_steps").get_to(state.result.skipped_steps);
    state.result.last_evaluation = evaluation_from_json(json.at("last_evaluation"));
    // Checkpoints of 0.1.0 before --validation-split have none.
    state.result.last_validation = evaluation_from_json(json.value("last_validation", Json()));
    state.result.steps = state.step;
  } catch (const Json::exception& error) {
    throw DataError(std::string("the state of the run is malformed: ") + error.what());
  }
  return state;
}

}  // namespace tandem::train
