#include "evaluation_counts.hpp"

#include <string>
#include <utility>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/train/objective.hpp"

namespace tandem::train {

Counts::Counts(std::size_t batches, const EvaluationSettings& settings, bool has_several_labels)
    : batch_loss(batches),
      classes(settings.classes),
      multi_label(has_several_labels),
      confusion(classes <= kMaxConfusionClasses && !multi_label ? classes * classes : 0),
      class_images(classes),
      class_correct(multi_label ? 0 : classes),
      worst(multi_label ? 0 : settings.worst),
      scores(classes) {}

void Counts::add(const Answers& answers, const data::ImagesView& images) {
  batch_loss[answers.request.step] = answers.loss;
  accounting[0] += answers.request.images.size();
  accounting[1] += id_hash_of(answers.request);
  if (multi_label) {
    add_scores(answers, images);
  } else {
    add_classes(answers, images);
  }
}

void Counts::add_scores(const Answers& answers, const data::ImagesView& images) {
  const double* row = answers.logits.data();
  for (const std::uint32_t image : answers.request.images) {
    scores.add(image, {row, classes});
    row += classes;
    const Span<const std::uint8_t> targets = images.targets_of(image);
    for (std::size_t i = 0; i < classes; ++i) class_images[i] += targets[i];
  }
}

void Counts::add_classes(const Answers& answers, const data::ImagesView& images) {
  const data::BatchRequest& request = answers.request;
  for (std::size_t i = 0; i < request.images.size(); ++i) {
    const std::uint32_t image = request.images[i];
    const std::size_t label = images.labels[image];
    const auto predicted = static_cast<std::size_t>(answers.predicted[i]);
    if (!confusion.empty()) ++confusion[label * classes + predicted];
    ++class_images[label];
    if (predicted == label) ++class_correct[label];
    if (worst.is_wanted()) worst.add({image, answers.predicted[i], answers.image_losses[i]});
    if (!answers.of_views.empty()) {
      correct[kBySeveralViews] += answers.of_views[i] == static_cast<std::int64_t>(label);
    }
  }
  correct[kInTop5] += answers.in_top5;
}

void Counts::reduce(comm::Communicator& comm) {
  comm.reduce(Span<double>(batch_loss));
  if (!confusion.empty()) comm.reduce(Span<std::int64_t>(confusion));
  comm.reduce(Span<std::int64_t>(class_images));
  if (!class_correct.empty()) comm.reduce(Span<std::int64_t>(class_correct));
  comm.reduce(Span<std::uint64_t>(accounting));
  comm.reduce(Span<std::int64_t>(correct));
}

void Counts::require_exactly_once(std::uint64_t expected) const {
  if (accounting[0] == expected && accounting[1] == image_id_hash_of_all(expected)) return;
  throw InternalError("evaluation used " + std::to_string(accounting[0]) + " images, each of the " +
                      std::to_string(expected) + " exactly once was expected");
}

Evaluation Counts::result(const EvaluationSettings& settings, std::size_t image_count) {
  const auto share = [&](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(image_count);
  };
  Evaluation result;
  for (const double loss : batch_loss) result.loss += loss;
  result.loss /= static_cast<double>(image_count);
  result.images = static_cast<std::int64_t>(image_count);
  result.class_images = std::move(class_images);
  if (multi_label) return result;
  result.class_correct = std::move(class_correct);
  for (const std::int64_t each : result.class_correct) result.correct += each;
  result.confusion = std::move(confusion);
  result.accuracy = share(result.correct);
  if (settings.views) result.views_accuracy = share(correct[kBySeveralViews]);
  if (classes >= kClassesForTop) result.top5_accuracy = share(correct[kInTop5]);
  return result;
}

}  // namespace tandem::train
