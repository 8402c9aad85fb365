#include "tandem/train/evaluator.hpp"

#include <utility>

namespace tandem::train {

Evaluator::Evaluator(comm::Communicator& comm, model::Network& network,
                     const data::ImagesView& test, const data::ImagesView& held_out,
                     EvaluationSettings settings, Optimizer* optimizer)
    : comm_(comm),
      network_(network),
      test_(test),
      held_out_(held_out),
      settings_(std::move(settings)),
      optimizer_(optimizer) {}

Evaluation Evaluator::evaluate_split(const data::ImagesView& images, bool views,
                                     std::shared_ptr<const ResidentImages>& resident) {
  if (!resident) resident = resident_images_of(images, settings_);
  EvaluationSettings settings = settings_;
  settings.resident = resident;
  settings.views = settings.views && views;
  if (optimizer_ != nullptr) optimizer_->exchange_average();
  Evaluation evaluation = evaluate(comm_, network_, images, settings);
  if (optimizer_ != nullptr) optimizer_->exchange_average();
  return evaluation;
}

Evaluation Evaluator::of_test_images(bool last) {
  return evaluate_split(test_, last, resident_test_);
}

Evaluation Evaluator::of_held_out() { return evaluate_split(held_out_, false, resident_held_out_); }

}  // namespace tandem::train
