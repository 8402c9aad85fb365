#include "tandem/data/batch_loader.hpp"

#include <string>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"

namespace tandem::data {

Batch make_batch(const ImagesView& view, const Transform& transform, const AugmentKey& augment,
                 BatchRequest request) {
  Batch batch;
  const std::size_t pixels = view.shape.pixels();
  batch.images.reset(new float[request.images.size() * pixels]);  // not zeroed: all is written
  float* out = batch.images.get();
  for (const std::uint32_t image : request.images) {
    if (image >= view.labels.size()) {
      throw InternalError("image " + std::to_string(image) + " was asked for, the data set has " +
                          std::to_string(view.labels.size()));
    }
    transform.apply(view.images.data() + image * pixels,
                    draw_augmentation(augment.spec, augment.seed, request.epoch, image), out);
    batch.labels.push_back(view.labels[image]);
    out += pixels;
  }
  batch.request = std::move(request);
  return batch;
}

BatchLoader::BatchLoader(ImagesView view, Transform transform, AugmentKey augment,
                         std::unique_ptr<Sampler> sampler)
    : view_(view),
      transform_(std::move(transform)),
      augment_(augment),
      sampler_(std::move(sampler)),
      thread_([this] { produce(); }) {}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<Batch> BatchLoader::next() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  Batch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void BatchLoader::produce() {
  name_this_thread("loader");
  std::exception_ptr failure;
  try {
    while (std::optional<BatchRequest> request = sampler_->next()) {
      Batch batch = make_batch(view_, transform_, augment_, std::move(*request));
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return ready_.size() < kBatchesAhead || stopping_; });
      if (stopping_) return;
      ready_.push_back(std::move(batch));
      lock.unlock();
      changed_.notify_all();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_ = failure;
  finished_ = true;
  changed_.notify_all();
}

}  // namespace tandem::data
