// The content of a run's evaluation.json (docs/formats.md): confusion and the worst images.
#pragma once

#include "tandem/core/json.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/image_store.hpp"

namespace tandem::train {

// `evaluation`: of the test images of `store`. `fit`: of picture files in that evaluation.
Json make_evaluation_file(const Evaluation& evaluation, const ImageStore& store, data::Fit fit);

}  // namespace tandem::train
