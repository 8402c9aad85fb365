#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>
#include <utility>

#include "drawn_augmentation.hpp"
#include "tandem/data/picture_reader.hpp"
#include "tandem/data/prefetcher.hpp"
#include "tandem/train/batch_source.hpp"

namespace tandem::train {
struct StreamedBatches::Stream {
  static constexpr std::size_t kBatchesAhead = 3;

  // A batch as it is stored; gathered in the host's memory.
  struct RawBatch {
    data::BatchRequest request;
    torch::Tensor pixels;  // uint8 [n, channels, height, width]
    torch::Tensor labels;  // int64 [n]
    torch::Tensor drawn;   // drawn_augmentation.hpp
  };

  data::PictureReader reader;  // used by the background thread only
  const data::ImagesView& view = reader.view();
  const data::AugmentKey augment;
  const torch::Device device;
  const DeviceTransform transform;
  // A GPU copies on a stream of its own, beside the one that computes.
  std::optional<c10::Stream> copies;
  std::optional<RawBatch> ahead;  // on the device, or on its way
  std::optional<c10::Event> arrived;
  data::Prefetcher<RawBatch> raw;  // last: its thread uses the above

  Stream(const data::ImagesView& images, data::Layout layout, const PixelMoments& moments,
         data::AugmentKey key, std::unique_ptr<data::Sampler> of, torch::Device on)
      : reader(images, std::move(of)),
        augment(key),
        device(on),
        transform(images.shape, layout, moments, on),
        raw(
            [this]() -> std::optional<RawBatch> {
              std::optional<data::BatchRequest> request = reader.next();
              if (!request) return std::nullopt;
              return gather(std::move(*request));
            },
            kBatchesAhead, "loader") {
    if (!device.is_cpu()) {
      copies = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
      arrived.emplace(device.type());
    }
    send_next();
  }

  RawBatch gather(data::BatchRequest request) const {
    const bool pinned = device.is_cuda();
    const auto count = static_cast<std::int64_t>(request.images.size());
    const auto options = torch::TensorOptions().pinned_memory(pinned);
    RawBatch batch;
    batch.drawn = draw_table(request, augment, view.labels.size(), pinned);
    batch.pixels = torch::empty({count, view.shape.channels, view.shape.height, view.shape.width},
                                options.dtype(torch::kUInt8));
    batch.labels = torch::empty({count}, options.dtype(torch::kInt64));
    auto* pixels = batch.pixels.data_ptr<std::uint8_t>();
    auto* labels = batch.labels.data_ptr<std::int64_t>();
    const std::size_t bytes = view.shape.pixels();
    data::PixelsOf pixels_of(view, augment.decoding);
    batch.drawn.select(1, kImage).copy_(torch::arange(count));  // in the batch's own pixels
    for (const std::uint32_t image : request.images) {
      std::memcpy(pixels, pixels_of(image), bytes);
      *labels++ = view.labels[image];
      pixels += bytes;
    }
    batch.request = std::move(request);
    return batch;
  }

  void send_next() {
    ahead = raw.next();
    if (!ahead || !copies) return;
    const c10::StreamGuard on_copies(*copies);
    for (torch::Tensor* each : {&ahead->pixels, &ahead->labels, &ahead->drawn}) {
      *each = each->to(device, /*non_blocking=*/true);
    }
    arrived->record(*copies);
  }

  // The batch that was sent, for the stream that computes.
  std::optional<RawBatch> receive() {
    if (!ahead) return std::nullopt;
    if (copies) {
      const c10::Stream computes = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
      arrived->block(computes);
      // Keeps their memory from the next copies while it is still read.
      for (const torch::Tensor* each : {&ahead->pixels, &ahead->labels, &ahead->drawn}) {
        each->record_stream(computes);
      }
    }
    RawBatch here = std::move(*ahead);
    send_next();
    return here;
  }
};

StreamedBatches::StreamedBatches(const data::ImagesView& view, data::Layout layout,
                                 const PixelMoments& moments, data::AugmentKey augment,
                                 std::unique_ptr<data::Sampler> sampler, torch::Device device)
    : stream_(
          std::make_unique<Stream>(view, layout, moments, augment, std::move(sampler), device)) {}

StreamedBatches::~StreamedBatches() = default;

std::optional<TensorBatch> StreamedBatches::next() {
  const torch::NoGradGuard no_grad;
  auto raw = stream_->receive();
  if (!raw) return std::nullopt;
  TensorBatch batch;
  batch.images =
      stream_->transform.apply(raw->pixels.permute({0, 2, 3, 1}).contiguous(), raw->drawn);
  batch.labels = raw->labels;
  batch.request = std::move(raw->request);
  return batch;
}

}  // namespace tandem::train
