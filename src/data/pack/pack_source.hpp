// Finds out the form of the input of pack() and opens it. Throws as pack() does.
#pragma once

#include <functional>
#include <memory>

#include "data/picture_sources/encoded_source.hpp"
#include "data/pixel_sources/image_source.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::data {

// `check` is called now and then, and may throw to end the work.
std::unique_ptr<ImageSource> open_source(const PackRequest& request,
                                         const std::function<void()>& check);
std::unique_ptr<EncodedSource> open_encoded_source(const PackRequest& request,
                                                   const std::function<void()>& check);

}  // namespace tandem::data
