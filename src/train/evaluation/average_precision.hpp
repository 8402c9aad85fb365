// Average precision of a multi-label set, exact over all ranks. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/data/images_view.hpp"

namespace tandem::train {

struct ScoredTarget {
  float score = 0;
  bool is_positive = false;
};

// sum over n of (R_n - R_(n-1)) P_n, where P_n and R_n are precision and recall of the images whose
// score is at least the n-th highest one, as scikit-learn's average_precision_score. Images of
// equal score count together, so their order has no effect. A score of NaN is the lowest. NaN if no
// image is positive.
double average_precision(std::vector<ScoredTarget> images);

// The mean over the classes whose value is not NaN; 0 if there is none.
double mean_average_precision(const std::vector<double>& of_classes);

// The scores of the classes for this rank's images.
class ScoreTable {
 public:
  explicit ScoreTable(std::size_t classes) : classes_(classes) {}

  // `scores`: one for each class.
  void add(std::uint32_t image, Span<const double> scores);
  // Collective. On rank 0 the average precision of each class over the images of all ranks; empty
  // on other ranks. Each image must have been added once, on any rank. Rank 0 receives the scores
  // of a few classes at a time.
  std::vector<double> average_precisions(comm::Communicator& comm,
                                         const data::ImagesView& images) const;

 private:
  const std::size_t classes_;
  std::vector<std::uint32_t> images_;
  std::vector<float> scores_;  // [images, classes]
};

}  // namespace tandem::train
