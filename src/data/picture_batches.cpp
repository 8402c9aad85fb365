#include "tandem/data/picture_batches.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tandem/data/fit_picture.hpp"

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
  // Pictures differ in what they take, so each thread takes the next one.
  std::atomic<std::size_t> undone{0};
  const auto work = [&] {
    for (std::size_t i = undone++; i < batch.size(); i = undone++) decode(batch, i);
  };
  std::vector<std::future<void>> helpers;
  const std::size_t most = std::min(static_cast<std::size_t>(threads_), batch.size());
  for (std::size_t i = 1; i < most; ++i) helpers.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& helper : helpers) helper.get();
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
