// Mean and standard deviation of a set of picture files, over a sample of its training pictures:
// decoding all of them could take hours. The sample is a function of their number alone: up to 256,
// evenly spaced. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "moments.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

constexpr std::uint64_t kSampledPictures = 256;

// `read` writes the pixels of a picture and returns whether it can be decoded; it may be called on
// several threads. Nothing if none can.
std::optional<Moments> sample_moments(
    std::uint64_t count, const ImageShape& shape, int threads,
    const std::function<bool(std::uint64_t index, std::uint8_t* image)>& read);

}  // namespace tandem::data
