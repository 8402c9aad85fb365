#include "tandem/train/answers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::train {
namespace {

double badness(const WrongAnswer& answer) {
  return std::isfinite(answer.loss) ? answer.loss : std::numeric_limits<double>::infinity();
}

// Whole numbers of a double: an image's number and a class are below 2^53.
constexpr std::size_t kValues = 4;

void write(const WrongAnswer& answer, double* values) {
  values[0] = 1;  // there is one
  values[1] = static_cast<double>(answer.image);
  values[2] = static_cast<double>(answer.predicted);
  values[3] = answer.loss;
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
  // Each rank fills its own part of a sum.
  const std::size_t part = kValues * most_;
  std::vector<double> all(part * static_cast<std::size_t>(comm.size()));
  double* mine = all.data() + part * static_cast<std::size_t>(comm.rank());
  for (std::size_t i = 0; i < worst_.size(); ++i) write(worst_[i], mine + kValues * i);
  comm.reduce(Span<double>(all));
  std::vector<WrongAnswer> answers;
  for (std::size_t at = 0; at < all.size(); at += kValues) {
    if (all[at] != 1) continue;
    answers.push_back({static_cast<std::uint64_t>(all[at + 1]),
                       static_cast<std::int64_t>(all[at + 2]), all[at + 3]});
  }
  std::sort(answers.begin(), answers.end(), is_worse);
  answers.resize(std::min(answers.size(), most_));
  return answers;
}

}  // namespace tandem::train
