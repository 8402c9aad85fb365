// The factory functions of the registry, each defined in the .cpp of its network. Throws
// UsageError for an unsupported shape.
#pragma once

#include <cstdint>

#include "tandem/model/hidden_widths.hpp"
#include "tandem/model/network.hpp"
#include "tandem/model/stem.hpp"

namespace tandem::model {

NetworkPtr make_mlp(InputShape shape, std::int64_t classes, const HiddenWidths& widths);
NetworkPtr make_lenet(InputShape shape, std::int64_t classes);
NetworkPtr make_simple(InputShape shape, std::int64_t classes);
NetworkPtr make_resnet9(InputShape shape, std::int64_t classes);
// resnet18, resnet34 or resnet50.
NetworkPtr make_resnet(const std::string& name, InputShape shape, std::int64_t classes, Stem stem);
NetworkPtr make_vit_tiny(InputShape shape, std::int64_t classes);
NetworkPtr make_vit_small(InputShape shape, std::int64_t classes);
NetworkPtr make_fastnet(InputShape shape, std::int64_t classes);

// Throws unless height and width are at least `pixels`.
// `fix`: what to do; empty: choose a smaller model.
void require_smallest_image(const char* network, InputShape shape, std::int64_t pixels,
                            const std::string& fix = "");

}  // namespace tandem::model
