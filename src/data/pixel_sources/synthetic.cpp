#include <algorithm>
#include <array>
#include <cstddef>

#include "image_source.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {
namespace {

// The ten figures of the built-in data set, as sets of points.
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

constexpr ImageShape kShape{3, 32, 32};
constexpr int kSide = 32;
constexpr int kMiddle = kSide / 2;
using Values = std::array<float, std::size_t{3} * kSide * kSide>;

using Color = std::array<float, 3>;

Color random_color(CounterRandom& random, float low, float high) {
  return {random_between(random, low, high), random_between(random, low, high),
          random_between(random, low, high)};
}

// Takes a point of the image to the figure's own coordinates: rotation by up to 35 degrees either
// way (from the tangent of half the angle, which needs no transcendental function), slant, size.
struct Pose {
  float center_x, center_y, inverse_size, cosine, sine, slant;

  explicit Pose(CounterRandom& random) {
    const float size = random_between(random, 8, 12);
    center_x = random_between(random, size - 1, kSide + 1 - size);
    center_y = random_between(random, size - 1, kSide + 1 - size);
    inverse_size = 1 / size;
    const float t = random_between(random, -0.315F, 0.315F);
    cosine = (1 - t * t) / (1 + t * t);
    sine = 2 * t / (1 + t * t);
    slant = random_between(random, -0.25F, 0.25F);
  }

  bool contains(int shape, float x, float y) const {
    const float dx = (x - center_x) * inverse_size;
    const float dy = (y - center_y) * inverse_size;
    const float v = cosine * dy - sine * dx;
    return shape_contains(shape, cosine * dx + sine * dy + slant * v, v);
  }
};

// A bar over one in three images, across the whole width or height.
struct Occlusion {
  bool present, upright;
  float begin, end;
  Color color;

  explicit Occlusion(CounterRandom& random) {
    present = random.below(3) == 0;
    upright = random.below(2) == 0;
    begin = random_between(random, 4, 25);
    end = begin + random_between(random, 2, 4);
    color = random_color(random, 0, 255);
  }

  bool covers(int row, int column) const {
    const auto at = static_cast<float>(upright ? column : row);
    return present && begin <= at && at < end;
  }
};

// How much of a pixel the figure covers: 0, 1/4, … 1.
float coverage(const Pose& pose, int shape, int row, int column) {
  int covered = 0;
  for (const float dy : {0.25F, 0.75F}) {
    for (const float dx : {0.25F, 0.75F}) {
      covered +=
          pose.contains(shape, static_cast<float>(column) + dx, static_cast<float>(row) + dy);
    }
  }
  return static_cast<float>(covered) / 4;
}

// Adds the sum of four uniform bytes, centered and scaled to standard deviation `deviation`: nearly
// normal.
void add_noise(CounterRandom& random, float deviation, Values& image) {
  constexpr float kSumDeviation = 147.8F;  // 2 * sqrt((256 * 256 - 1) / 12)
  const float scale = deviation / kSumDeviation;
  for (std::size_t i = 0; i < image.size(); i += 2) {
    std::uint64_t bits = random.next();
    for (const std::size_t pixel : {i, i + 1}) {
      int sum = 0;
      for (int byte = 0; byte < 4; ++byte, bits >>= 8) sum += static_cast<int>(bits & 255);
      image[pixel] += scale * (static_cast<float>(sum) - 510);
    }
  }
}

void draw(CounterRandom random, int shape, std::uint8_t* pixels) {
  // A figure is brighter than what is behind it, in nearly all images.
  const Color background = random_color(random, 0, 130);
  const Color figure = random_color(random, 110, 255);
  const Pose pose(random);
  const Occlusion occlusion(random);
  const float shade_x = random_between(random, -1.5F, 1.5F);  // a background gradient, per pixel
  const float shade_y = random_between(random, -1.5F, 1.5F);
  const float deviation = random_between(random, 4, 20);

  Values image;
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      const float covered = coverage(pose, shape, row, column);
      const float shade = shade_x * static_cast<float>(column - kMiddle) +
                          shade_y * static_cast<float>(row - kMiddle);
      const bool hidden = occlusion.covers(row, column);
      for (int c = 0; c < 3; ++c) {
        const float behind = background[c] + shade;
        image[(c * kSide + row) * kSide + column] =
            hidden ? occlusion.color[c] : behind + covered * (figure[c] - behind);
      }
    }
  }
  add_noise(random, deviation, image);
  std::transform(image.begin(), image.end(), pixels, [](float value) {
    return static_cast<std::uint8_t>(std::min(std::max(value, 0.0F), 255.0F));
  });
}

class Synthetic : public ImageSource {
 public:
  Synthetic(std::uint64_t images, std::uint64_t seed) : seed_(seed), info_(synthetic_info(images)) {
    info_.shape = kShape;
  }

  const DatasetInfo& info() const override { return info_; }

  // The parameters are the source.
  std::string source_sha256() override {
    return sha256_hex("tandem synthetic 1 images " + std::to_string(info_.train_count) + " seed " +
                      std::to_string(seed_));
  }

  void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            Label* labels) const override {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const auto shape = static_cast<int>(i % kShapeNames.size());
      draw(CounterRandom{seed_, static_cast<std::uint64_t>(split), i}, shape, images);
      images += kShape.pixels();
      *labels++ = static_cast<Label>(shape);
    }
  }

 private:
  std::uint64_t seed_;
  DatasetInfo info_;
};

}  // namespace

float random_between(CounterRandom& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random.uniform());
}

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

DatasetInfo synthetic_info(std::uint64_t images) {
  if (images == 0 || images > kMaxImages) {
    throw UsageError("--images: " + std::to_string(images) +
                     " images cannot be made, 1 to 10,000,000 are expected");
  }
  DatasetInfo info;
  info.name = "synthetic";
  info.classes.assign(kShapeNames.begin(), kShapeNames.end());
  info.train_count = images;
  info.test_count = std::max<std::uint64_t>(images / 5, 64);
  return info;
}

std::unique_ptr<ImageSource> make_synthetic(std::uint64_t images, std::uint64_t seed) {
  return std::make_unique<Synthetic>(images, seed);
}

}  // namespace tandem::data
