#include "tandem/train/answers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::train {
namespace {

double badness(const WrongAnswer& answer) {
  return std::isfinite(answer.loss) ? answer.loss : std::numeric_limits<double>::infinity();
}

}  // namespace

bool is_worse(const WrongAnswer& one, const WrongAnswer& other) {
  if (badness(one) != badness(other)) return badness(one) > badness(other);
  return one.image < other.image;
}

void WorstAnswers::add(const WrongAnswer& answer) {
  if (most_ == 0 || (worst_.size() == most_ && !is_worse(answer, worst_.back()))) return;
  worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), answer, is_worse), answer);
  if (worst_.size() > most_) worst_.pop_back();
}

std::vector<WrongAnswer> WorstAnswers::gather(comm::Communicator& comm) const {
  if (most_ == 0) return {};
  std::vector<WrongAnswer> answers = comm.gather(worst_);
  std::sort(answers.begin(), answers.end(), is_worse);
  answers.resize(std::min(answers.size(), most_));
  return answers;
}

}  // namespace tandem::train
