#include "run_evaluation.hpp"

namespace tandem::app {

train::Evaluation RunEvaluation::test(bool last) {
  settings_.views = last && views_;
  train::Evaluation result =
      train::evaluate(job_.world, network_, images_.view(data::Split::kTest), settings_);
  if (!holds_out()) checkpoints_.consider(result);
  return result;
}

std::function<train::Evaluation()> RunEvaluation::validation() {
  if (!holds_out()) return nullptr;
  return [this] {
    settings_.views = false;
    train::Evaluation result =
        train::evaluate(job_.world, network_, images_.validation(), settings_);
    checkpoints_.consider(result);
    return result;
  };
}

}  // namespace tandem::app
