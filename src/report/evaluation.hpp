// Reads evaluation.json and checks that its numbers are consistent (docs/formats.md). Throws
// DataError if tandem cannot have written it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/core/json.hpp"

namespace tandem::report {

struct WorstImage {
  std::uint64_t index = 0;
  std::size_t label = 0;
  std::size_t predicted = 0;
  double loss = 0;     // NaN if it is not finite
  std::string pixels;  // planar; empty if the file has none
};

struct Answers {
  double step = 0;
  std::vector<std::string> classes;
  std::vector<std::vector<std::int64_t>> confusion;  // by label, then by answer; or empty
  std::size_t channels = 0, height = 0, width = 0;
  std::vector<WorstImage> worst;  // the highest loss first
  // Of a multi-label set, which has the fields above but classes empty: by class the images that
  // have it, and the average precision, NaN where there are none.
  std::vector<std::int64_t> class_images;
  std::vector<double> class_precision;
};

Answers read_answers(const Json& evaluation);

}  // namespace tandem::report
