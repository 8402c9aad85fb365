#include "version2_pixels.hpp"

#include <algorithm>
#include <vector>

#include "data/pictures/moments.hpp"
#include "version2_writer.hpp"

namespace tandem::data {
namespace {

// Returns the moments of the images written.
Moments write_split(Version2Writer& writer, Split split, const ImageSource& source,
                    const std::function<void()>& between_blocks) {
  const DatasetInfo& info = source.info();
  const std::size_t pixels = info.shape.pixels();
  const std::uint64_t count = info.count(split);
  const std::uint64_t at_once = std::max<std::uint64_t>(kReadBytes / pixels, 1);
  std::vector<std::uint8_t> values(std::min(at_once, count) * pixels);
  std::vector<Label> labels(std::min(at_once, count));
  Moments moments(info.shape);
  for (std::uint64_t first = 0; first < count; first += at_once) {
    between_blocks();
    const std::uint64_t size = std::min(at_once, count - first);
    source.read(split, first, size, values.data(), labels.data());
    moments.add(values.data(), size);
    for (std::uint64_t i = 0; i < size; ++i) {
      writer.add(split, {values.data() + i * pixels, pixels}, {&labels[i], 1});
    }
  }
  return moments;
}

}  // namespace

DatasetInfo write_version2_pixels(File& output, const std::string& path, ImageSource& source,
                                  const std::string& name,
                                  const std::function<void()>& between_blocks) {
  Version2Writer writer(output, path, Store::kPixels);
  const Moments moments = write_split(writer, Split::kTrain, source, between_blocks);
  write_split(writer, Split::kTest, source, between_blocks);
  source.require_whole();
  writer.finish_pictures();
  DatasetInfo info = source.info();
  if (!name.empty()) info.name = name;
  info.mean = moments.mean();
  info.std = moments.std();
  info.source_sha256 = source.source_sha256();
  writer.finish(info, source.skipped_files());
  return info;
}

}  // namespace tandem::data
