// The random numbers of a batch as a table for the device. Throws InternalError for an image that
// the data set does not have.
#pragma once

#include "tandem/data/batch_loader.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::train {

// Columns of the table.
enum DrawnColumn { kShiftY, kShiftX, kFlip, kReflect, kImage, kDrawnColumns };

// int32 [n, kDrawnColumns], in page-locked memory if `pinned`, from which a GPU copies
// asynchronously.
torch::Tensor draw_table(const data::BatchRequest& request, const data::AugmentKey& augment,
                         std::size_t image_count, bool pinned);

}  // namespace tandem::train
