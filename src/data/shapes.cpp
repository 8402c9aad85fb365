#include "shapes.hpp"

#include <cstddef>

namespace tandem::data {
namespace {

struct Point {
  float x, y;
};

constexpr std::array<Point, 3> kTriangle = {{{0, -1}, {0.95F, 0.75F}, {-0.95F, 0.75F}}};
constexpr std::array<Point, 6> kChevron = {
    {{-1, -0.7F}, {0, 0.2F}, {1, -0.7F}, {1, 0}, {0, 0.9F}, {-1, 0}}};
// Five points on the unit circle and five on a circle of 0.42 between them.
constexpr std::array<Point, 10> kStar = {{{0, -1},
                                          {0.247F, -0.340F},
                                          {0.951F, -0.309F},
                                          {0.399F, 0.130F},
                                          {0.588F, 0.809F},
                                          {0, 0.420F},
                                          {-0.588F, 0.809F},
                                          {-0.399F, 0.130F},
                                          {-0.951F, -0.309F},
                                          {-0.247F, -0.340F}}};

// Even-odd rule: a ray to the right crosses the outline an odd number of times.
template <std::size_t kCorners>
bool in_polygon(const std::array<Point, kCorners>& corners, float x, float y) {
  bool inside = false;
  for (std::size_t i = 0, before = kCorners - 1; i < kCorners; before = i++) {
    const Point a = corners[i];
    const Point b = corners[before];
    if ((a.y > y) == (b.y > y)) continue;
    if (x < a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y)) inside = !inside;
  }
  return inside;
}

bool in_disc(float x, float y, float radius) { return x * x + y * y < radius * radius; }

bool in_box(float x, float y, float half_width, float half_height) {
  return -half_width < x && x < half_width && -half_height < y && y < half_height;
}

}  // namespace

bool shape_contains(int shape, float x, float y) {
  switch (shape) {
    case 0:
      return in_disc(x, y, 0.9F);
    case 1:
      return in_disc(x, y, 0.95F) && !in_disc(x, y, 0.55F);
    case 2:
      return in_box(x, y, 0.8F, 0.8F);
    case 3:
      return in_polygon(kTriangle, x, y);
    case 4:
      return in_box(x, y, 0.28F, 0.95F) || in_box(x, y, 0.95F, 0.28F);
    case 5:
      return in_polygon(kStar, x, y);
    case 6:
      return in_box(x, y, 1, 0.3F);
    case 7:
      return in_disc(x, y, 0.95F) && !in_disc(x - 0.45F, y, 0.8F);
    case 8:
      return in_polygon(kChevron, x, y);
    default:
      return in_disc(x - 0.52F, y - 0.1F, 0.42F) || in_disc(x + 0.52F, y + 0.1F, 0.42F);
  }
}

}  // namespace tandem::data
