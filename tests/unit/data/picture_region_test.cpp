#include "data/pictures/picture_region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "data/pictures/picture_decoder.hpp"
#include "data_fixtures.hpp"
#include "support/golden.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/batch_loader.hpp"
#include "tandem/data/fit_picture.hpp"

namespace tandem::data {
namespace {

using testing::from_hex;
using Bytes = std::vector<std::uint8_t>;

// JPEG files of each kind (tests/golden/make_jpeg_fixtures.py), and a PNG file.
std::map<std::string, std::string> files() {
  std::map<std::string, std::string> files;
  const Json golden = testing::read_golden("jpeg_files.json");
  for (const Json& each : golden.at("files")) {
    files[each.at("name")] = from_hex(each.at("hex"));
  }
  const ImageShape shape{3, 40, 30};
  Bytes pixels(shape.pixels());
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7);
  files["png"] = encode_png(shape, pixels);
  return files;
}

// A region of a whole upright picture, planar; gray is every color of a gray picture.
Bytes cut(const std::string& file, int channels, const Region& region) {
  Picture picture = upright(decode_picture(file, "file"));
  limit_channels(picture, channels);
  Bytes pixels;
  for (int c = 0; c < channels; ++c) {
    for (int y = region.top; y < region.top + region.height; ++y) {
      for (int x = region.left; x < region.left + region.width; ++x) {
        const int pixel = y * picture.width + x;
        const int place = pixel * picture.channels + (picture.channels == 1 ? 0 : c);
        pixels.push_back(picture.values[static_cast<std::size_t>(place)]);
      }
    }
  }
  return pixels;
}

Bytes made(const std::string& file, const Region& region, Decoding decoding, ImageShape shape) {
  RegionResizer resizer;
  Bytes image(shape.pixels());
  const auto choose = [&](int, int) { return region; };
  make_region({file, "file"}, choose, decoding, shape, resizer, image.data());
  return image;
}

// A side of a region: also the whole side, one pixel, and one at an end.
void draw_side(int length, CounterRandom& random, int& begin, int& count) {
  const auto below = [&](int end) {
    return static_cast<int>(random.below(static_cast<std::uint32_t>(end)));
  };
  const int kind = below(6);
  count = kind == 0 ? length : kind == 1 ? 1 : 1 + below(length);
  begin = kind == 2 ? 0 : kind == 3 ? length - count : below(length - count + 1);
}

Region draw_region(const std::string& file, CounterRandom& random) {
  const PictureExtent extent = upright(open_picture(file, "file")->extent());
  Region region;
  draw_side(extent.height, random, region.top, region.height);
  draw_side(extent.width, random, region.left, region.width);
  return region;
}

TEST(PictureRegion, HasThePixelsOfTheWholePicture) {
  CounterRandom random{1};
  ASSERT_GE(files().size(), 8U);
  for (const auto& [name, file] : files()) {
    for (int i = 0; i < 300; ++i) {
      const Region region = draw_region(file, random);
      for (const int channels : {1, 3}) {
        const ImageShape shape{channels, region.height, region.width};
        ASSERT_EQ(made(file, region, Decoding::kExact, shape), cut(file, channels, region))
            << name << ": " << region.top << " " << region.left << " " << region.height << " "
            << region.width << " of " << channels << " channels";
      }
    }
  }
}

TEST(PictureRegion, IsResizedAsARegionOfPixels) {
  constexpr ImageShape kSmall{3, 20, 24};
  CounterRandom random{2};
  for (const auto& [name, file] : files()) {
    for (int i = 0; i < 20; ++i) {
      const Region region = draw_region(file, random);
      const ImageShape own{3, region.height, region.width};
      Bytes expected(kSmall.pixels());
      RegionResizer().resize(cut(file, 3, region).data(), own, {0, 0, region.height, region.width},
                             kSmall, expected.data());
      EXPECT_EQ(made(file, region, Decoding::kExact, kSmall), expected) << name;
    }
  }
}

TEST(PictureRegion, ReducedPicturesAreThoseOfPillow) {
  const Json golden = testing::read_golden("jpeg_files.json");
  int compared = 0;
  for (const Json& each : golden.at("files")) {
    if (!each.contains("reduced")) continue;
    for (const auto& [eighths, values] : each["reduced"].items()) {
      const std::string file = from_hex(each.at("hex"));
      const auto whole = open_picture(file, "file");
      ASSERT_EQ(whole->reduce(std::stoi(eighths)), std::stoi(eighths));
      const Picture picture = whole->decode();
      const std::string expected = from_hex(values);
      EXPECT_EQ(std::string(picture.values.begin(), picture.values.end()), expected)
          << each.at("name") << " at " << eighths;
      const auto parts = open_picture(file, "file");
      parts->reduce(std::stoi(eighths));
      std::string rows;
      const auto row_bytes = static_cast<std::size_t>(picture.width * picture.channels);
      ASSERT_TRUE(parts->decode_region(
          {0, 0, picture.height, picture.width},
          [&](const std::uint8_t* row) { rows.append(row, row + row_bytes); }));
      EXPECT_EQ(rows, expected);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 9);
}

TEST(PictureRegion, RegionsOfReducedPicturesHaveThePixelsOfTheWhole) {
  CounterRandom random{4};
  for (const auto& [name, file] : files()) {
    for (int i = 0; i < 90; ++i) {
      const auto whole = open_picture(file, "file");
      const auto parts = open_picture(file, "file");
      const int eighths = 1 << i % 3;
      if (whole->reduce(eighths) != eighths) continue;
      parts->reduce(eighths);
      const Picture picture = whole->decode();
      Region region;
      draw_side(picture.height, random, region.top, region.height);
      draw_side(picture.width, random, region.left, region.width);
      int y = region.top;
      const auto compare = [&, &name = name](const std::uint8_t* row) {
        const auto channels = static_cast<std::size_t>(picture.channels);
        const auto pixel = static_cast<std::size_t>(y++ * picture.width + region.left);
        const std::uint8_t* expected = picture.values.data() + pixel * channels;
        const auto values = static_cast<std::size_t>(region.width) * channels;
        ASSERT_TRUE(std::equal(row, row + values, expected)) << name << " at " << eighths;
      };
      EXPECT_EQ(parts->decode_region(region, compare), name != "cmyk" && name != "410") << name;
    }
  }
}

double mean_difference(const Bytes& a, const Bytes& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

// A slope is the same picture at every size, so a wrong position shows as a wrong value.
std::string slope(ImageShape whole) {
  Bytes pixels;
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < whole.height; ++y) {
      for (int x = 0; x < whole.width; ++x) {
        pixels.push_back(static_cast<std::uint8_t>(c == 0 ? x / 2 : c == 1 ? y : (x + y) / 3));
      }
    }
  }
  return encode_jpeg(whole, pixels, 98);
}

TEST(PictureRegion, ScaledDecodingKeepsTheRegionInItsPlace) {
  const ImageShape whole{3, 240, 320};
  const std::string file = slope(whole);
  for (const auto& [height, width] : {std::pair{199, 301}, {160, 100}, {97, 141}, {41, 61}}) {
    for (int place = 0; place < 9; place += 2) {
      const Region region{(whole.height - height) * place / 8, (whole.width - width) * place / 8,
                          height, width};
      for (const int size : {13, 20, 33}) {
        const ImageShape shape{3, size, size};
        const Bytes exact = made(file, region, Decoding::kExact, shape);
        const Bytes scaled = made(file, region, Decoding::kScaled, shape);
        EXPECT_LT(mean_difference(scaled, exact), 0.7) << height << "x" << width << " at " << place;
      }
    }
  }
}

// 243 and 323 are odd, so the last row and column of a reduced picture cover parts of pixels.
TEST(PictureRegion, ScaledDecodingKeepsTurnedRegionsInTheirPlace) {
  const std::string file = slope({3, 243, 323});
  const std::string before(
      "\xFF\xE1\0\x1E"
      "Exif\0\0"
      "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0",
      28);
  for (char orientation = 1; orientation <= 8; ++orientation) {
    const std::string turned =
        file.substr(0, 2) + before + orientation + std::string(3, '\0') + file.substr(2);
    const PictureExtent extent = upright(open_picture(turned, "file")->extent());
    ASSERT_EQ(extent.width, orientation < 5 ? 323 : 243);
    const Region region{17, 21, 200, 200};
    for (const int size : {13, 30, 60}) {
      const ImageShape shape{3, size, size};
      EXPECT_LT(mean_difference(made(turned, region, Decoding::kScaled, shape),
                                made(turned, region, Decoding::kExact, shape)),
                0.7)
          << "orientation " << int{orientation} << ", size " << size;
    }
  }
}

TEST(PictureRegion, ScaledDecodingIsExactWhereAllPixelsAreNeeded) {
  const std::string file = files().at("420");
  const Region region{10, 20, 30, 40};
  const ImageShape large{3, 16, 20};
  EXPECT_EQ(made(file, region, Decoding::kScaled, large),
            made(file, region, Decoding::kExact, large));
  const ImageShape small{3, 15, 20};
  EXPECT_NE(made(file, region, Decoding::kScaled, small),
            made(file, region, Decoding::kExact, small));
}

// A split of encoded files.
struct Encoded {
  Bytes bytes;
  std::vector<PicturePlace> places;
  std::vector<Label> labels;
  explicit Encoded(bool has_damage = false) {
    for (int copy = 0; copy < 4; ++copy) {
      for (const auto& [name, file] : files()) {
        const std::size_t begin = bytes.size();
        const std::size_t kept = has_damage && copy > 0 ? file.size() / 2 : file.size();
        bytes.insert(bytes.end(), file.begin(), file.begin() + static_cast<std::ptrdiff_t>(kept));
        places.push_back({begin, bytes.size(), places.size()});
        labels.push_back(static_cast<Label>(labels.size() % 3));
      }
    }
  }
  ImagesView view() const {
    return {{3, 24, 20},
            {bytes.data(), bytes.size()},
            {labels.data(), labels.size()},
            {places.data(), places.size()},
            "set"};
  }
};

std::vector<float> batch_of(const Encoded& set, int threads, Decoding decoding,
                            const std::string& augment = "resized-crop,flip,mixup") {
  TrainingPlan plan;
  plan.image_count = static_cast<std::uint32_t>(set.labels.size());
  plan.global_batch = plan.image_count;
  plan.mixes = true;
  plan.steps = 1;
  const AugmentKey key{AugmentSpec::parse(augment), 3, decoding};
  const Transform transform(set.view().shape, Layout::kPlanar, {0.5, 0.4, 0.3}, {0.2, 0.2, 0.2});
  BatchLoader loader(set.view(), transform, key, std::make_unique<TrainingSampler>(plan, 0, 1),
                     threads);
  const auto batch = loader.next();
  return {batch->images.get(), batch->images.get() + batch->size() * set.view().shape.pixels()};
}

TEST(PictureRegion, ImagesDoNotDependOnTheThreadsOfTheLoader) {
  const Encoded set;
  for (const Decoding decoding : {Decoding::kExact, Decoding::kScaled}) {
    const std::vector<float> expected = batch_of(set, 1, decoding);
    for (const int threads : {2, 3, 8}) EXPECT_EQ(batch_of(set, threads, decoding), expected);
  }
  EXPECT_NE(batch_of(set, 1, Decoding::kExact), batch_of(set, 1, Decoding::kScaled));
}

TEST(PictureRegion, TheFirstDamagedPictureIsNamedAtAnyNumberOfThreads) {
  const Encoded set(true);
  std::string first;
  for (const int threads : {1, 2, 8}) {
    try {
      batch_of(set, threads, Decoding::kExact, "none");
      ADD_FAILURE() << "expected an error";
    } catch (const DataError& error) {
      if (first.empty()) first = error.what();
      EXPECT_EQ(first, error.what());
    }
  }
  EXPECT_NE(first.find("set: picture "), std::string::npos) << first;
}

}  // namespace
}  // namespace tandem::data
