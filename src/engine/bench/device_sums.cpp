#include "device_sums.hpp"

#include "tandem/train/device_bf16_all_reduce.hpp"

namespace tandem::app {
namespace {

torch::Tensor first_of(const torch::Tensor& values, std::size_t count) {
  return values.slice(0, 0, static_cast<std::int64_t>(count));
}

}  // namespace

DeviceSums::DeviceSums(comm::Collectives& between_gpus, torch::Device device, Span<float> host,
                       bool as_bf16)
    : between_gpus_(between_gpus),
      host_(torch::from_blob(host.data(), {static_cast<std::int64_t>(host.size())})),
      values_(torch::zeros({host_.numel()}, device)) {
  if (as_bf16) rounded_ = std::make_unique<train::DeviceBf16AllReduce>(between_gpus, values_);
}

SumPlace DeviceSums::place() {
  SumPlace place;
  place.first = values_.data_ptr<float>();
  place.put = [this](std::size_t count) { first_of(values_, count).copy_(first_of(host_, count)); };
  place.fetch = [this](std::size_t count) {
    first_of(host_, count).copy_(first_of(values_, count));
  };
  // Reading a value waits for all work that the device was given before.
  place.finish = [this] { first_of(values_, 1).item<float>(); };
  return place;
}

}  // namespace tandem::app
