#include "tandem/train/top_losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::train {
namespace {

double badness(const ImageLoss& image) {
  return std::isfinite(image.loss) ? image.loss : std::numeric_limits<double>::infinity();
}

}  // namespace

bool is_worse(const ImageLoss& one, const ImageLoss& other) {
  if (badness(one) != badness(other)) return badness(one) > badness(other);
  return one.image < other.image;
}

void TopLosses::add(const ImageLoss& image) {
  if (most_ == 0 || (worst_.size() == most_ && !is_worse(image, worst_.back()))) return;
  worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), image, is_worse), image);
  if (worst_.size() > most_) worst_.pop_back();
}

std::vector<ImageLoss> TopLosses::gather(comm::Communicator& comm) const {
  if (most_ == 0) return {};
  std::vector<ImageLoss> images = comm.gather(worst_);
  std::sort(images.begin(), images.end(), is_worse);
  images.resize(std::min(images.size(), most_));
  return images;
}

}  // namespace tandem::train
