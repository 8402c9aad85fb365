#include <algorithm>
#include <utility>

#include "drawn_augmentation.hpp"
#include "tandem/data/prefetcher.hpp"
#include "tandem/train/batch_source.hpp"

namespace tandem::train {
namespace {

constexpr std::int64_t kImagesAtOnce = 4096;
constexpr std::int64_t kPicturesAtOnce = 256;  // decoded, they are larger

// [count, channels, height, width], on the host. Pixels are a view of the caller's memory.
torch::Tensor planar_images(const data::ImagesView& view, data::Decoding decoding,
                            std::int64_t first, std::int64_t count) {
  const data::ImageShape& shape = view.shape;
  const std::size_t bytes = shape.pixels();
  const std::vector<std::int64_t> sizes{count, shape.channels, shape.height, shape.width};
  if (!view.is_encoded()) {
    // from_blob wants mutable pointers and the results are only read.
    const std::uint8_t* at = view.images.data() + static_cast<std::size_t>(first) * bytes;
    return torch::from_blob(const_cast<std::uint8_t*>(at), sizes, torch::kUInt8);
  }
  torch::Tensor pixels = torch::empty(sizes, torch::kUInt8);
  data::PixelsOf pixels_of(view, decoding);
  for (std::int64_t i = 0; i < count; ++i) {
    std::copy_n(pixels_of(static_cast<std::size_t>(first + i)), bytes,
                pixels.data_ptr<std::uint8_t>() + static_cast<std::size_t>(i) * bytes);
  }
  return pixels;
}

}  // namespace

// Draws the random numbers of the next batches on a thread of its own.
struct ResidentBatches::Draws {
  static constexpr std::size_t kBatchesAhead = 3;

  struct Drawn {
    data::BatchRequest request;
    torch::Tensor table;
  };

  const data::AugmentKey augment;
  const std::unique_ptr<data::Sampler> sampler;  // used by the background thread only
  const std::size_t image_count;
  const bool pinned;
  data::Prefetcher<Drawn> ahead;  // last: its thread uses the above

  Draws(data::AugmentKey key, std::unique_ptr<data::Sampler> of, std::size_t count, bool pins)
      : augment(key),
        sampler(std::move(of)),
        image_count(count),
        pinned(pins),
        ahead(
            [this]() -> std::optional<Drawn> {
              std::optional<data::BatchRequest> request = sampler->next();
              if (!request) return std::nullopt;
              torch::Tensor table = draw_table(*request, augment, image_count, pinned);
              return Drawn{std::move(*request), std::move(table)};
            },
            kBatchesAhead, "loader") {}
};

std::size_t ResidentImages::bytes_of(const data::ImagesView& view) {
  return view.labels.size() * (view.shape.pixels() + sizeof(std::int64_t));
}

ResidentImages::ResidentImages(const data::ImagesView& view, torch::Device device,
                               data::Decoding decoding, const Touch& touch)
    : shape(view.shape) {
  const auto count = static_cast<std::int64_t>(view.labels.size());
  // The channels of a pixel side by side, so that what is cut out lies as channels-last filters
  // want it. In pieces, because a host whose ranks each make a whole copy may not have room.
  images = torch::empty({count, shape.height, shape.width, shape.channels},
                        torch::TensorOptions(device).dtype(torch::kUInt8));
  const std::int64_t at_once = view.is_encoded() ? kPicturesAtOnce : kImagesAtOnce;
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t some = std::min(at_once, count - first);
    images.narrow(0, first, some)
        .copy_(planar_images(view, decoding, first, some).to(device).permute({0, 2, 3, 1}));
    call(touch);
  }
  labels = torch::empty({count}, torch::kInt64);
  std::copy(view.labels.begin(), view.labels.end(), labels.data_ptr<std::int64_t>());
  labels = labels.to(device);
}

ResidentBatches::ResidentBatches(const data::ImagesView& view, data::Layout layout,
                                 const PixelMoments& moments, data::AugmentKey augment,
                                 std::unique_ptr<data::Sampler> sampler, torch::Device device)
    : ResidentBatches(std::make_shared<const ResidentImages>(view, device, augment.decoding),
                      layout, moments, augment, std::move(sampler)) {}

ResidentBatches::ResidentBatches(std::shared_ptr<const ResidentImages> set, data::Layout layout,
                                 const PixelMoments& moments, data::AugmentKey augment,
                                 std::unique_ptr<data::Sampler> sampler)
    : set_(std::move(set)),
      transform_(set_->shape, layout, moments, set_->images.device()),
      draws_(std::make_unique<Draws>(augment, std::move(sampler),
                                     static_cast<std::size_t>(set_->labels.size(0)),
                                     transform_.device().is_cuda())) {}

ResidentBatches::~ResidentBatches() = default;

std::optional<TensorBatch> ResidentBatches::next() {
  const std::optional<data::BatchRequest> request = load();
  if (!request) return std::nullopt;
  return made(*request);
}

std::optional<data::BatchRequest> ResidentBatches::load() {
  const torch::NoGradGuard no_grad;
  auto drawn = draws_->ahead.next();
  if (!drawn) return std::nullopt;
  torch::Tensor& here = drawn_[drawn->request.images.size()];
  if (!here.defined()) {
    here = torch::empty(drawn->table.sizes(), drawn->table.options().device(transform_.device()));
  }
  here.copy_(drawn->table, /*non_blocking=*/true);
  return std::move(drawn->request);
}

TensorBatch ResidentBatches::made(const data::BatchRequest& request) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor& drawn = drawn_.at(request.images.size());
  TensorBatch batch;
  batch.images = transform_.apply(set_->images, drawn);
  batch.labels = set_->labels.index_select(0, drawn.select(1, kImage));
  batch.request = request;
  return batch;
}

}  // namespace tandem::train
