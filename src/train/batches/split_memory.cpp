#include "split_memory.hpp"

#include <vector>

#include "tandem/data/hold_out.hpp"

namespace tandem::train {

SplitMemory memory_of(const data::DatasetInfo& info, data::Split split, bool has_files,
                      std::uint8_t* memory) {
  const data::MemoryLayout layout(info, has_files);
  const bool is_train = split == data::Split::kTrain;
  const std::size_t count = info.count(split);
  const std::size_t before = is_train ? 0 : info.train_count;
  const auto labels = reinterpret_cast<data::Label*>(memory + layout.labels) + before;
  const std::size_t classes = info.multi_label ? info.classes.size() : 0;
  const Span<std::uint8_t> targets(memory + layout.targets + before * classes, count * classes);
  if (!info.is_encoded()) {
    const std::size_t pixels = info.shape.pixels();
    return {{memory + before * pixels, count * pixels}, {}, {labels, count}, targets};
  }
  const auto places = reinterpret_cast<data::PicturePlace*>(memory + layout.places) + before;
  if (!has_files) return {{}, {places, count}, {labels, count}, targets};
  return {{memory + (is_train ? 0 : info.train_bytes), info.encoded_bytes(split)},
          {places, count},
          {labels, count},
          targets};
}

void read_split(const data::PackedSet& file, data::Split split, const data::PictureBlocks* blocks,
                const SplitMemory& to) {
  if (!to.places.empty() && to.images.empty()) {
    file.read_index(split, to.places, to.labels);
    for (data::PicturePlace& place : to.places) {
      const std::uint64_t bytes = place.end - place.begin;
      place.begin = blocks->position(split, place.begin);
      place.end = place.begin + bytes;
    }
  } else if (file.info().is_encoded()) {
    file.read_encoded(split, to.images, to.places, to.labels);
  } else {
    file.read(split, 0, to.images, to.labels);
  }
  if (!to.targets.empty()) file.read_targets(split, to.targets);
}

std::uint64_t hold_out_of(const data::DatasetInfo& info, const SplitMemory& train, double share,
                          const std::string& path, const Touch& touch) {
  if (info.multi_label) {  // the labels decide, and are moved last
    std::vector<data::Label> labels(train.labels.begin(), train.labels.end());
    data::hold_out(share, info.classes.size(), train.targets, labels, path, touch);
  }
  if (!info.is_encoded()) {
    return data::hold_out(share, info.shape.pixels(), train.images, train.labels, path, touch);
  }
  constexpr std::size_t kBytes = sizeof(data::PicturePlace);
  const Span<std::uint8_t> places(reinterpret_cast<std::uint8_t*>(train.places.data()),
                                  train.places.size() * kBytes);
  return data::hold_out(share, kBytes, places, train.labels, path, touch);
}

}  // namespace tandem::train
