// Makes random crops of JPEG files as the loader does, for tests/bench/decode.py, which compares
// them with torchvision's.
//
// Usage: bench_decode_crops exact|scaled SIZE OUTPUT FILE...
// Appends 3 x SIZE x SIZE bytes for each file to OUTPUT, and prints its region: top, left, height,
// width.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "data/pictures/picture_region.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/image_file.hpp"

using namespace tandem;

namespace {

void write_crops(const std::vector<std::string>& words) {
  const auto decoding = words.at(0) == "scaled" ? data::Decoding::kScaled : data::Decoding::kExact;
  const int size = std::stoi(words.at(1));
  const data::ImageShape shape{3, size, size};
  std::ofstream output(words.at(2), std::ios::binary);
  std::vector<std::uint8_t> image(shape.pixels());
  data::RegionResizer resizer;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::string bytes = data::read_picture_bytes(words[i]);
    const auto choose = [&](int height, int width) {
      CounterRandom random{1, i};
      const data::Region region = data::draw_crop({}, height, width, random);
      std::printf("%d %d %d %d\n", region.top, region.left, region.height, region.width);
      return region;
    };
    data::make_region({bytes, words[i]}, choose, decoding, shape, resizer, image.data());
    output.write(reinterpret_cast<const char*>(image.data()),
                 static_cast<std::streamsize>(image.size()));
  }
  output.close();
  if (!output) throw IoError(words.at(2) + ": cannot be written");
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::fprintf(stderr, "usage: bench_decode_crops exact|scaled SIZE OUTPUT FILE...\n");
    return 2;
  }
  try {
    write_crops({words + 1, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_decode_crops: %s\n", error.what());
    return 1;
  }
  return 0;
}
