#include "tandem/data/picture_batches.hpp"

#include <algorithm>
#include <utility>

#include "tandem/data/fit_picture.hpp"
#include "tandem/data/parallel.hpp"

namespace tandem::data {

PictureBatches::PictureBatches(NextFile next_file, ImageShape shape, Transform transform,
                               std::size_t size, int threads)
    : next_file_(std::move(next_file)),
      shape_(shape),
      transform_(std::move(transform)),
      size_(size),
      threads_(threads) {
  require_picture_channels(shape.channels);
  ahead_ = std::async(std::launch::async, [this] { return make(); });
}

PictureBatches::~PictureBatches() {
  if (ahead_.valid()) ahead_.wait();
}

std::optional<PictureBatch> PictureBatches::next() {
  if (!ahead_.valid()) return std::nullopt;
  PictureBatch batch = ahead_.get();
  if (batch.size() == 0) return std::nullopt;
  if (batch.size() == size_) ahead_ = std::async(std::launch::async, [this] { return make(); });
  return batch;
}

PictureBatch PictureBatches::make() const {
  PictureBatch batch;
  while (batch.size() < size_) {
    auto file = next_file_();
    if (!file) break;
    batch.files.push_back(std::move(*file));
  }
  batch.faults.resize(batch.size());
  batch.images.reset(new float[batch.size() * shape_.pixels()]);
  for_each_index(batch.size(), threads_, [&](std::size_t i) { decode(batch, i); });
  return batch;
}

void PictureBatches::decode(PictureBatch& batch, std::size_t index) const {
  float* image = batch.images.get() + index * shape_.pixels();
  try {
    std::vector<std::uint8_t> values(shape_.pixels());
    fit_picture(read_picture(batch.files[index]), shape_, values.data());
    transform_.apply(values.data(), {}, image);
  } catch (const Error& error) {
    batch.faults[index] = {error.code(), error.what()};
    std::fill_n(image, shape_.pixels(), 0.0F);
  }
}

}  // namespace tandem::data
