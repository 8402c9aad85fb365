#include "average_precision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::train {
namespace {

// Scores that rank 0 receives at once.
constexpr std::size_t kScoresAtOnce = std::size_t{1} << 24;

}  // namespace

double average_precision(std::vector<ScoredTarget> images) {
  for (ScoredTarget& each : images) {
    if (std::isnan(each.score)) each.score = -std::numeric_limits<float>::infinity();
  }
  std::sort(images.begin(), images.end(), [](const ScoredTarget& one, const ScoredTarget& other) {
    return one.score > other.score;
  });
  double sum = 0;
  std::int64_t positives = 0;
  std::int64_t seen = 0;
  for (auto next = images.begin(); next != images.end();) {
    const float score = next->score;
    std::int64_t new_positives = 0;
    for (; next != images.end() && next->score == score; ++next, ++seen) {
      new_positives += next->is_positive ? 1 : 0;
    }
    positives += new_positives;
    sum += static_cast<double>(new_positives) * static_cast<double>(positives) /
           static_cast<double>(seen);
  }
  return sum / static_cast<double>(positives);
}

double mean_average_precision(const std::vector<double>& of_classes) {
  double sum = 0;
  double count = 0;
  for (const double each : of_classes) {
    if (std::isnan(each)) continue;
    sum += each;
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

void ScoreTable::add(std::uint32_t image, Span<const double> scores) {
  images_.push_back(image);
  for (const double score : scores) scores_.push_back(static_cast<float>(score));
}

std::vector<double> ScoreTable::average_precisions(comm::Communicator& comm,
                                                   const data::ImagesView& images) const {
  const std::vector<std::uint32_t> order = comm.gather(images_);
  const std::size_t at_once = std::max<std::size_t>(kScoresAtOnce / images.labels.size(), 1);
  std::vector<double> precisions;
  for (std::size_t first = 0; first < classes_; first += at_once) {
    const std::size_t some = std::min(at_once, classes_ - first);
    std::vector<float> mine;
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const float* row = scores_.data() + i * classes_ + first;
      mine.insert(mine.end(), row, row + some);
    }
    const std::vector<float> all = comm.gather(mine);
    if (comm.rank() != 0) continue;
    for (std::size_t c = 0; c < some; ++c) {
      std::vector<ScoredTarget> of_class(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        of_class[i] = {all[i * some + c], images.targets_of(order[i])[first + c] == 1};
      }
      precisions.push_back(average_precision(std::move(of_class)));
    }
  }
  return precisions;
}

}  // namespace tandem::train
