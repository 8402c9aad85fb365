#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "data/pixel_sources/image_source.hpp"
#include "encoded_source.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

constexpr int kChannels = 3;
constexpr int kQuality = 90;
constexpr std::uint64_t kStream = 0x62B1;  // apart from the images of make_synthetic()
constexpr std::uint64_t kFiguresStream = 0x62B2;

// The place of a figure, in units of half the picture's height and width.
struct Place {
  float x, y, inverse_size, cosine, sine;

  // Around a center, and smaller by `scale`.
  Place(CounterRandom& random, float center_x, float center_y, float scale) {
    x = center_x + scale * random_between(random, -0.2F, 0.2F);
    y = center_y + scale * random_between(random, -0.2F, 0.2F);
    inverse_size = 1 / (scale * random_between(random, 0.6F, 0.8F));
    const float t = random_between(random, -0.315F, 0.315F);  // of half the angle
    cosine = (1 - t * t) / (1 + t * t);
    sine = 2 * t / (1 + t * t);
  }

  bool contains(int figure, float at_x, float at_y) const {
    const float dx = (at_x - x) * inverse_size;
    const float dy = (at_y - y) * inverse_size;
    return shape_contains(figure, cosine * dx + sine * dy, cosine * dy - sine * dx);
  }
};

// A figure to draw: in the middle, or smaller in one of four quarters.
struct Figure {
  Label kind;
  int quarter = -1;  // 0 to 3; -1: in the middle
};

struct Drawn {
  int kind;
  std::array<float, kChannels> color;
  Place place;

  static Drawn of(const Figure& figure, CounterRandom& random) {
    std::array<float, kChannels> color{};
    for (float& each : color) each = random_between(random, 110, 255);
    if (figure.quarter < 0) return {figure.kind, color, Place(random, 0, 0, 1)};
    const float x = figure.quarter % 2 == 0 ? -0.5F : 0.5F;
    const float y = figure.quarter / 2 == 0 ? -0.5F : 0.5F;
    return {figure.kind, color, Place(random, x, y, 0.5F)};
  }
};

// Bright figures on a dark ground, each of one color, with a slope of brightness and noise.
std::vector<std::uint8_t> draw(CounterRandom random, const std::vector<Figure>& figures,
                               const ImageShape& shape) {
  std::array<float, kChannels> ground{};
  for (float& each : ground) each = random_between(random, 0, 130);
  std::vector<Drawn> drawn;
  for (const Figure& figure : figures) drawn.push_back(Drawn::of(figure, random));
  const float slope_x = random_between(random, -24, 24);
  const float slope_y = random_between(random, -24, 24);
  const float noise = random_between(random, 2, 10) / 74;  // 74: the deviation of a byte
  std::vector<std::uint8_t> pixels(shape.pixels());
  std::uint8_t* to = pixels.data();
  for (int row = 0; row < shape.height; ++row) {
    const float y = (2 * static_cast<float>(row) + 1) / static_cast<float>(shape.height) - 1;
    for (int column = 0; column < shape.width; ++column, ++to) {
      const float x = (2 * static_cast<float>(column) + 1) / static_cast<float>(shape.width) - 1;
      const float* base = ground.data();
      for (const Drawn& each : drawn) {
        if (each.place.contains(each.kind, x, y)) base = each.color.data();
      }
      std::uint64_t bits = random.next();
      for (std::size_t c = 0; c < kChannels; ++c, bits >>= 8) {
        const float value =
            base[c] + slope_x * x + slope_y * y + noise * (static_cast<float>(bits & 255) - 127.5F);
        to[c * shape.plane()] = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
      }
    }
  }
  return pixels;
}

class EncodedSynthetic : public EncodedSource {
 public:
  EncodedSynthetic(std::uint64_t images, std::uint64_t seed, const ImageShape& shape,
                   bool multi_label)
      : shape_(shape), seed_(seed), info_(synthetic_info(images)) {
    info_.multi_label = multi_label;
  }

  const DatasetInfo& info() const override { return info_; }
  std::vector<Label> labels(Split split, std::uint64_t index) const override {
    std::vector<Label> all;
    for (const Figure& each : figures_of(split, index)) all.push_back(each.kind);
    std::sort(all.begin(), all.end());
    return all;
  }
  std::string where(Split /*split*/, std::uint64_t index) const override {
    return "drawn picture " + std::to_string(index);
  }
  std::string read(Split split, std::uint64_t index, const BeforeTaking& before) override {
    before(shape_.pixels());
    const CounterRandom random{kStream, seed_, static_cast<std::uint64_t>(split), index};
    return encode_jpeg(shape_, draw(random, figures_of(split, index), shape_), kQuality);
  }
  PictureStamp stamp(Split /*split*/, std::uint64_t /*index*/) const override { return {}; }
  const BrokenFiles& broken() const override { return broken_; }
  const std::string& root() const override { return root_; }
  // There is no source file, so the parameters stand for it.
  std::string source_sha256(const PictureNumbers& /*packed*/) const override {
    return sha256_hex("tandem synthetic pictures 1 images " + std::to_string(info_.train_count) +
                      " seed " + std::to_string(seed_) + " size " + shape_.text() +
                      (info_.multi_label ? " multi-label" : ""));
  }

 private:
  // Of a multi-label set none to three, all unlike, each in a quarter of its own.
  std::vector<Figure> figures_of(Split split, std::uint64_t index) const {
    if (!info_.multi_label) return {{static_cast<Label>(index % kShapeNames.size())}};
    CounterRandom random{kFiguresStream, seed_, static_cast<std::uint64_t>(split), index};
    std::array<Label, kShapeNames.size()> kinds{};
    std::array<int, 4> quarters{};
    std::iota(kinds.begin(), kinds.end(), Label{0});
    std::iota(quarters.begin(), quarters.end(), 0);
    const auto below = [&](std::size_t bound) {
      return random.below(static_cast<std::uint32_t>(bound));
    };
    std::vector<Figure> figures(below(quarters.size()));
    for (std::size_t i = 0; i < figures.size(); ++i) {
      std::swap(kinds[i], kinds[i + below(kinds.size() - i)]);
      std::swap(quarters[i], quarters[i + below(quarters.size() - i)]);
      figures[i] = {kinds[i], quarters[i]};
    }
    return figures;
  }

  const ImageShape shape_;
  const std::uint64_t seed_;
  DatasetInfo info_;
  const BrokenFiles broken_;
  const std::string root_;
};

}  // namespace

std::unique_ptr<EncodedSource> make_encoded_synthetic(std::uint64_t images, std::uint64_t seed,
                                                      int height, int width, bool multi_label) {
  return std::make_unique<EncodedSynthetic>(images, seed, ImageShape{kChannels, height, width},
                                            multi_label);
}

}  // namespace tandem::data
