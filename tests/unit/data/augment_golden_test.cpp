// Augmentations with given parameters against torchvision's
// (tests/golden/make_augmentation_fixtures.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "data/augment/mixing.hpp"
#include "data/augment/policies.hpp"
#include "data/augment/resize_region.hpp"
#include "support/golden.hpp"

namespace tandem::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes pattern(std::size_t count) {
  Bytes values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<std::uint8_t>(37 * i + i / 7 * 11);
  }
  return values;
}

Bytes bytes_of(const Json& hexadecimal) {
  const auto text = hexadecimal.get<std::string>();
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

ImageShape shape_of(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

// How many values differ, and by how much at most.
struct Difference {
  int count = 0;
  int most = 0;
};
Difference difference(const Bytes& found, const Bytes& expected) {
  EXPECT_EQ(found.size(), expected.size());
  Difference result;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int by = std::abs(found[i] - expected[i]);
    result.count += by > 0;
    result.most = std::max(result.most, by);
  }
  return result;
}

// All values are equal, except for saturation. There, torchvision fuses multiplications and
// additions if the processor can. So a value that is a whole number except for its last bit may be
// truncated differently.
void expect_same(const Bytes& found, const Json& one) {
  const Difference by = difference(found, bytes_of(one["values"]));
  const bool is_saturation = one["kind"] == "saturation" || one["kind"] == "Color";
  EXPECT_LE(by.most, is_saturation ? 1 : 0) << one;
  EXPECT_LE(by.count, is_saturation ? static_cast<int>(found.size() * 3 / 100) : 0) << one;
}

class AugmentGolden : public ::testing::Test {
 protected:
  const Json fixtures_ = testing::read_golden("augmentations.json");
};

TEST_F(AugmentGolden, ResizedRegions) {
  RegionResizer resizer;
  ASSERT_GE(fixtures_["resized_crops"].size(), 6U);
  for (const Json& one : fixtures_["resized_crops"]) {
    const ImageShape from = shape_of(one["shape"]);
    const Json& region = one["region"];
    const ImageShape to{from.channels, one["to"][0], one["to"][1]};
    Bytes found(to.pixels());
    resizer.resize(pattern(from.pixels()).data(), from,
                   {region[0], region[1], region[2], region[3]}, to, found.data());
    EXPECT_EQ(found, bytes_of(one["values"])) << one["region"];
    // torchvision's arithmetic of bytes rounds twice, and its weights have 16 bits.
    const Difference of_bytes = difference(found, bytes_of(one["of_bytes"]));
    EXPECT_LE(of_bytes.most, 1) << one["region"];
  }
}

TEST_F(AugmentGolden, ColorOperations) {
  const std::map<std::string, PictureOpKind> kinds{{"brightness", PictureOpKind::kBrightness},
                                                   {"contrast", PictureOpKind::kContrast},
                                                   {"saturation", PictureOpKind::kSaturation},
                                                   {"hue", PictureOpKind::kHue}};
  ASSERT_GE(fixtures_["color_ops"].size(), 18U);
  for (const Json& one : fixtures_["color_ops"]) {
    const ImageShape shape = shape_of(one["shape"]);
    Bytes pixels = pattern(shape.pixels());
    PictureOps(shape).apply({kinds.at(one["kind"]), one["amount"]}, pixels.data());
    expect_same(pixels, one);
  }
}

TEST_F(AugmentGolden, OperationsOfPolicies) {
  ASSERT_GE(fixtures_["policies"].size(), 60U);
  for (const Json& one : fixtures_["policies"]) {
    const ImageShape shape = shape_of(one["shape"]);
    Bytes pixels = pattern(shape.pixels());
    if (one["magnitude"] == 0) {
      for (std::uint8_t& each : pixels) each = static_cast<std::uint8_t>(each / 3 + 50);
    }
    const bool is_wide = one["policy"] == "trivial";
    const auto ops = policy_op(one["index"], one["magnitude"], one["negative"], is_wide, shape);
    ASSERT_EQ(ops.size(), 1U);
    PictureOps(shape).apply(ops[0], pixels.data());
    expect_same(pixels, one);
  }
}

constexpr ImageShape kMixed{2, 4, 5};

// pattern() as normalized floats, in the layout.
std::vector<float> normalized(std::size_t count, Layout layout) {
  const Bytes bytes = pattern(count * kMixed.pixels());
  std::vector<float> floats(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t image = i / kMixed.pixels();
    const std::size_t channel = i % kMixed.pixels() / kMixed.plane();
    const std::size_t pixel = i % kMixed.plane();
    const std::size_t place =
        layout == Layout::kPlanar ? i : image * kMixed.pixels() + pixel * 2 + channel;
    floats[place] = static_cast<float>(bytes[i]) / 64 - 2;
  }
  return floats;
}

// Values of an image in the layout, in the order of the planar one.
std::vector<float> planar(const float* image, Layout layout) {
  std::vector<float> values(kMixed.pixels());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = image[layout == Layout::kPlanar ? i : i % kMixed.plane() * 2 + i / kMixed.plane()];
  }
  return values;
}

TEST_F(AugmentGolden, Mixes) {
  ASSERT_GE(fixtures_["mixes"].size(), 8U);
  for (const Json& one : fixtures_["mixes"]) {
    const double lambda = one["lambda"];
    Mix mix;
    mix.own = static_cast<float>(lambda);
    if (one["kind"] == "cutmix") {
      mix = mix_by_region(kMixed, lambda, one["center"][0], one["center"][1]);
      EXPECT_FLOAT_EQ(mix.own, one["own"].get<float>());
    }
    const auto expected = one["values"].get<std::vector<float>>();
    for (const Layout layout : {Layout::kPlanar, Layout::kChannelsLast}) {
      const std::vector<float> before = normalized(4, layout);
      for (std::size_t i = 0; i < 4; ++i) {
        const auto first = before.begin() + static_cast<std::ptrdiff_t>(i * kMixed.pixels());
        std::vector<float> image(first, first + static_cast<std::ptrdiff_t>(kMixed.pixels()));
        mix_image(mix, kMixed, layout, before.data() + (i + 3) % 4 * kMixed.pixels(), image.data());
        const auto of_image = expected.begin() + static_cast<std::ptrdiff_t>(i * kMixed.pixels());
        EXPECT_EQ(
            planar(image.data(), layout),
            std::vector<float>(of_image, of_image + static_cast<std::ptrdiff_t>(kMixed.pixels())))
            << one["kind"] << " " << lambda << ", image " << i;
      }
    }
  }
}

TEST_F(AugmentGolden, Erasing) {
  const Json& region = fixtures_["erasing"]["region"];
  for (const Layout layout : {Layout::kPlanar, Layout::kChannelsLast}) {
    std::vector<float> image = normalized(1, layout);
    erase({region[0], region[1], region[2], region[3]}, kMixed, layout, image.data());
    EXPECT_EQ(planar(image.data(), layout),
              fixtures_["erasing"]["values"].get<std::vector<float>>());
  }
}

// Top, left, height and width of many regions: their means and deviations.
class Moments {
 public:
  void add(const Region& region) {
    const double row[] = {static_cast<double>(region.top), static_cast<double>(region.left),
                          static_cast<double>(region.height), static_cast<double>(region.width)};
    for (std::size_t i = 0; i < 4; ++i) {
      sum_[i] += row[i];
      squares_[i] += row[i] * row[i];
    }
    ++count_;
  }
  // Within five standard errors of both samples; of a deviation it is about deviation / sqrt(2 n).
  void expect_near(const Json& expected, const std::string& name) const {
    const double error = 5 * std::sqrt(1 / count_ + 1 / expected["draws"].get<double>());
    for (std::size_t i = 0; i < 4; ++i) {
      const double mean = sum_[i] / count_;
      const double deviation = std::sqrt(squares_[i] / count_ - mean * mean);
      const double wanted = expected["deviation"][i];
      EXPECT_NEAR(mean, expected["mean"][i].get<double>(), error * wanted) << name << " " << i;
      EXPECT_NEAR(deviation, wanted, error * wanted) << name << " " << i;
    }
  }
  double count() const { return count_; }

 private:
  double count_ = 0;
  double sum_[4] = {};
  double squares_[4] = {};
};

TEST_F(AugmentGolden, DrawsHaveTheDistributionOfTorchvisions) {
  constexpr std::uint32_t kDraws = 100000;
  for (const char* name : {"resized-crop", "resized-crop=0.5,0.3"}) {
    const AugmentSpec spec = AugmentSpec::parse(name);
    Moments moments;
    for (std::uint32_t image = 0; image < kDraws; ++image) {
      CounterRandom random{17, image};
      moments.add(draw_crop(*spec.resized_crop, 32, 48, random));
    }
    moments.expect_near(fixtures_["draws"][name], name);
  }
  Moments moments;
  for (std::uint32_t image = 0; image < 2 * kDraws; ++image) {
    CounterRandom random{18, image};
    if (const auto region = draw_erasing(0.5, 32, 48, random)) moments.add(*region);
  }
  moments.expect_near(fixtures_["draws"]["random-erasing"], "random-erasing");
  const double tried_in_vain = kDraws - fixtures_["draws"]["random-erasing"]["draws"].get<double>();
  EXPECT_NEAR(moments.count(), kDraws - tried_in_vain, 5 * std::sqrt(kDraws / 2.0));
}

}  // namespace
}  // namespace tandem::data
