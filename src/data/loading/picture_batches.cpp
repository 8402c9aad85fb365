#include "tandem/data/picture_batches.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "data/parallel.hpp"
#include "data/pictures/picture_decoder.hpp"
#include "tandem/core/thread.hpp"
#include "tandem/data/fit_picture.hpp"

namespace tandem::data {

PictureBatches::PictureBatches(NextFile next_file, ImageShape shape, Transform transform,
                               std::size_t size, int threads, Fitting fitting)
    : next_file_(std::move(next_file)),
      shape_(shape),
      transform_(std::move(transform)),
      size_(size),
      threads_(threads),
      fitting_(fitting) {
  require_picture_channels(shape.channels);
  ahead_ = std::async(kThreadIfGranted, [this] { return make(); });
}

PictureBatches::~PictureBatches() {
  given_up_ = true;
  if (ahead_.valid()) ahead_.wait();
}

std::optional<PictureBatch> PictureBatches::next() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (!ahead_.valid()) return std::nullopt;
  Made made = ahead_.get();
  if (made.batch.size() == 0 && made.failure) std::rethrow_exception(made.failure);
  if (made.batch.size() == 0) return std::nullopt;
  failure_ = made.failure;
  if (made.batch.size() == size_) {
    ahead_ = std::async(kThreadIfGranted, [this] { return make(); });
  }
  return std::move(made.batch);
}

PictureBatches::Made PictureBatches::make() {
  Made made;
  PictureBatch& batch = made.batch;
  try {
    while (batch.size() < size_ && !given_up_) {
      auto file = next_file_();
      if (!file) break;
      batch.files.push_back(std::move(*file));
    }
  } catch (...) {
    made.failure = std::current_exception();  // rethrown by next()
  }
  batch.faults.resize(batch.size());
  batch.images.reset(new float[batch.size() * shape_.pixels()]);
  std::atomic<std::size_t> turned{0};
  for_each_index(batch.size(), threads_, [&](std::size_t i) {
    if (!given_up_ && decode(batch, i)) ++turned;
  });
  batch.turned = turned;
  return made;
}

bool PictureBatches::read_image(const std::string& path, float* image) try {
  std::vector<std::uint8_t> values(shape_.pixels());
  const bool is_turned =
      fit_file(read_picture_bytes(path), path, shape_, budget_, fitting_, values.data());
  transform_.apply(values.data(), {}, image);
  return is_turned;
} catch (const std::bad_alloc&) {
  throw_out_of_memory(path);
}

bool PictureBatches::decode(PictureBatch& batch, std::size_t index) {
  float* image = batch.images.get() + index * shape_.pixels();
  try {
    return read_image(batch.files[index], image);
  } catch (const Error& error) {
    batch.faults[index] = {error.code(), error.what()};
    std::fill_n(image, shape_.pixels(), 0.0F);
    return false;
  }
}

}  // namespace tandem::data
