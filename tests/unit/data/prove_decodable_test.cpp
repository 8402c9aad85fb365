// prove_decodable() accepts the same files as decode_picture(), and refuses others with the same
// messages.
#include <gtest/gtest.h>

#include <map>
#include <new>
#include <string>

#include "data/pictures/broken_files.hpp"
#include "data/pictures/picture_decoder.hpp"
#include "data_fixtures.hpp"
#include "support/golden.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

std::map<std::string, std::string> golden_pictures() {
  std::map<std::string, std::string> pictures;
  for (const char* golden : {"jpeg_files.json", "pictures.json"}) {
    const Json content = testing::read_golden(golden);
    for (const Json& each : content.at("files")) {
      pictures[each.at("name")] = testing::from_hex(each.at("hex").get<std::string>());
    }
  }
  return pictures;
}

bool begins_as_jpeg(const std::string& bytes) { return bytes.substr(0, 3) == kJpegSignature; }

// Returns whether the picture was accepted.
bool expect_equal_verdicts(const std::string& bytes, const std::string& what) {
  Picture picture;
  PictureExtent extent;
  const std::string fault = fault_of("a file", [&] { picture = decode_picture(bytes, "a file"); });
  EXPECT_EQ(fault_of("a file", [&] { extent = prove_decodable(bytes, "a file"); }), fault) << what;
  if (!fault.empty()) return false;
  EXPECT_EQ(extent.height, picture.height) << what;
  EXPECT_EQ(extent.width, picture.width) << what;
  EXPECT_EQ(extent.has_color, picture.channels > 2) << what;
  EXPECT_EQ(extent.orientation, picture.orientation) << what;
  return true;
}

std::string damaged(std::string bytes, CounterRandom& random) {
  const auto below = [&](std::size_t end) {
    return static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(end)));
  };
  for (std::size_t left = 1 + below(3); left > 0 && bytes.size() > 8; --left) {
    const std::size_t at = 3 + below(bytes.size() - 4);  // after the signature of a JPEG
    const auto byte = static_cast<char>(below(256));
    const std::size_t kind = below(5);
    if (kind == 0) bytes.resize(at + 1);
    if (kind == 1) bytes.erase(at, 1 + below(8));
    if (kind == 2) bytes.replace(at, 1, {'\xff', byte});  // a marker
    if (kind == 3) bytes[at] = byte;
    if (kind == 4) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
  }
  return bytes;
}

TEST(ProveDecodable, AgreesWithDecodingOnDamagedFiles) {
  CounterRandom random{1};
  for (const auto& [name, whole] : golden_pictures()) {
    ASSERT_TRUE(expect_equal_verdicts(whole, name));
    int accepted = 0;
    const int tries = begins_as_jpeg(whole) ? 2000 : 200;
    for (int i = 0; i < tries; ++i) {
      accepted +=
          expect_equal_verdicts(damaged(whole, random), name + ", damage " + std::to_string(i));
    }
    EXPECT_LT(accepted, tries - 50) << name;
    EXPECT_GT(accepted, begins_as_jpeg(whole) ? 50 : -1) << name;
  }
}

// libjpeg refuses ratios of sampling factors that are not integers. It does so when it chooses how
// to enlarge colors, and that choice depends on the size.
TEST(ProveDecodable, AgreesWithDecodingOnSamplingFactors) {
  int accepted = 0;
  int fractions = 0;
  for (const char* name : {"444", "progressive", "cmyk"}) {
    const std::string whole = golden_pictures().at(name);
    std::size_t frame = whole.find(std::string("\xff\xc0", 2));
    if (frame == std::string::npos) frame = whole.find(std::string("\xff\xc2", 2));
    ASSERT_NE(frame, std::string::npos);
    for (char first = 0x11; first <= 0x44; ++first) {
      for (char second = 0x11; second <= 0x44; ++second) {
        std::string bytes = whole;
        bytes[frame + 11] = first;
        bytes[frame + 14] = second;
        accepted += expect_equal_verdicts(bytes, std::string(name) + " with sampling factors " +
                                                     std::to_string(first) + " and " +
                                                     std::to_string(second));
        const std::string fault = fault_of("a file", [&] { prove_decodable(bytes, "a file"); });
        fractions += fault.find("Fractional") != std::string::npos;
      }
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(fractions, 0);
}

TEST(ProveDecodable, UsesLessMemoryForJpeg) {
  for (const auto& [name, file] : golden_pictures()) {
    std::uint64_t whole = 0;
    std::uint64_t proof = 0;
    decode_picture(file, name, kMaxPicturePixels, [&](std::uint64_t bytes) { whole = bytes; });
    prove_decodable(file, name, kMaxPicturePixels, [&](std::uint64_t bytes) { proof = bytes; });
    if (begins_as_jpeg(file)) {
      EXPECT_LT(proof, whole) << name;
    } else {
      EXPECT_EQ(proof, whole) << name;
    }
  }
}

TEST(ProveDecodable, HasTheLimitsOfDecoding) {
  const std::string jpeg = golden_pictures().at("gray");  // 93 x 67
  EXPECT_EQ(prove_decodable(jpeg, "x.jpg", 93 * 67).width, 93);
  testing::expect_error(ExitCode::kBadData, {"x.jpg", "93 x 67"},
                        [&] { prove_decodable(jpeg, "x.jpg", 93 * 67 - 1); });
  const auto refuse = [](std::uint64_t) { throw std::bad_alloc(); };
  testing::expect_error(ExitCode::kBadData, {"x.jpg: needs more memory than is available"},
                        [&] { prove_decodable(jpeg, "x.jpg", kMaxPicturePixels, refuse); });
}

}  // namespace
}  // namespace tandem::data
