#include "data/packed/packed_catalog.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "data_fixtures.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;

constexpr std::uint64_t kFileBytes = 4096;

// 10 images of 2x3x4 in chunks of 4: 96 bytes and a checksum each.
PackedCatalog catalog() {
  PackedCatalog made{"set", {"a", "b"}, {0.5, 0.5}, {0.1, 0.1}, std::string(64, '0'), {}};
  std::uint64_t at = 512;
  for (StoredSplit& split : made.splits) {
    split.images = {{10, 2, 3, 4}, {4, 2, 3, 4}, {Filter::kFletcher32}, {}};
    for (int i = 0; i < 3; ++i, at += 100) split.images.chunks.push_back({at, 100, 0});
    split.labels = {{10}, {10}, {Filter::kFletcher32}, {{at, 14, 0}}};
    at += 14;
  }
  return made;
}

void expect_refused(const std::vector<std::string>& parts,
                    const std::function<void(PackedCatalog&)>& change) {
  PackedCatalog changed = catalog();
  change(changed);
  expect_error(ExitCode::kBadData, parts, [&] { require_sound(changed, kFileBytes, "set.h5"); });
}

TEST(PackedCatalog, SoundOneIsAccepted) {
  require_sound(catalog(), kFileBytes, "set.h5");
  const DatasetInfo info = info_of(catalog());
  EXPECT_EQ(info.shape.text(), "2x3x4");
  EXPECT_EQ(info.train_count, 10U);
  EXPECT_EQ(info.classes.size(), 2U);
}

TEST(PackedCatalog, ChunksOutsideTheFileAreRefused) {
  for (const std::uint64_t offset : {kFileBytes - 99, kFileBytes + 1, ~std::uint64_t{0} - 50}) {
    expect_refused({"set.h5: /test/images", "offset " + std::to_string(offset), "ends at 4096"},
                   [&](PackedCatalog& it) { it.splits[1].images.chunks[2].offset = offset; });
  }
  expect_refused({"ends at 4096"}, [](PackedCatalog& it) {
    it.splits[0].labels.chunks[0].bytes = ~std::uint64_t{0};
  });
}

TEST(PackedCatalog, ChunksThatShareBytesAreRefused) {
  expect_refused({"two chunks share the bytes"}, [](PackedCatalog& it) {
    it.splits[0].images.chunks[1] = it.splits[0].images.chunks[0];
  });
  expect_refused({"two chunks share the bytes at offset 525"},
                 [](PackedCatalog& it) { it.splits[1].labels.chunks[0].offset = 525; });
  PackedCatalog touching = catalog();  // valid
  EXPECT_EQ(touching.splits[0].images.chunks[1].offset, 612U);
}

TEST(PackedCatalog, ChunksThatCannotHoldTheirContentAreRefused) {
  for (const std::uint64_t bytes : {0, 1, 3, 4, 96, 99, 101}) {
    expect_refused({"cannot hold 96 bytes"},
                   [&](PackedCatalog& it) { it.splits[0].images.chunks[1].bytes = bytes; });
  }
  const auto deflated = [](std::uint64_t bytes, std::uint32_t skipped) {
    return [=](PackedCatalog& it) {
      it.splits[0].images.filters = {Filter::kDeflate, Filter::kFletcher32};
      it.splits[0].images.chunks[0].bytes = bytes;
      for (StoredChunk& chunk : it.splits[0].images.chunks) chunk.skipped = skipped;
    };
  };
  expect_refused({"cannot hold 96 bytes"}, deflated(4, 0));
  expect_refused({"cannot hold 96 bytes"}, deflated(2000, 0));
  expect_refused({"cannot hold 96 bytes"}, deflated(50, 1));   // deflate was skipped
  expect_refused({"cannot hold 96 bytes"}, deflated(100, 2));  // the checksum was skipped
  for (const auto& change : {deflated(50, 0), deflated(100, 1)}) {
    PackedCatalog changed = catalog();
    change(changed);
    require_sound(changed, kFileBytes, "set.h5");
  }
}

TEST(PackedCatalog, ExtentsAndFiltersAreChecked) {
  const auto images = [](const std::function<void(StoredArray&)>& change) {
    return [change](PackedCatalog& it) { change(it.splits[0].images); };
  };
  expect_refused({"/train/images", "0 images"}, images([](auto& it) { it.extent[0] = 0; }));
  expect_refused({"10,000,000"}, images([](auto& it) { it.extent[0] = 10'000'001; }));
  expect_refused({"without pixels"}, images([](auto& it) { it.extent[2] = 0; }));
  expect_refused({"more than 1,000,000"}, images([](auto& it) { it.extent[2] = 1 << 20; }));
  expect_refused({"256 MiB"}, images([](auto& it) { it.chunk[2] = std::uint64_t{1} << 40; }));
  expect_refused({"256 MiB"}, images([](auto& it) { it.chunk[1] = 0; }));
  expect_refused({"3 dimensions"}, images([](auto& it) { it.extent.pop_back(); }));
  expect_refused({"checksums"}, images([](auto& it) { it.filters.clear(); }));
  expect_refused({"twice"}, images([](auto& it) { it.filters.assign(2, Filter::kFletcher32); }));
  expect_refused({"2 chunks"}, images([](auto& it) { it.chunks.pop_back(); }));
  expect_refused({"differ in shape"}, [](PackedCatalog& it) {
    std::swap(it.splits[0].images.extent[2], it.splits[0].images.extent[3]);
    std::swap(it.splits[0].images.chunk[2], it.splits[0].images.chunk[3]);
  });
  expect_refused({"/test/labels", "9 labels, 10"},
                 [](PackedCatalog& it) { it.splits[1].labels.extent[0] = 9; });
}

TEST(PackedCatalog, AttributesAreChecked) {
  expect_refused({"attribute name"}, [](PackedCatalog& it) { it.name = "../x"; });
  expect_refused({"attribute classes"}, [](PackedCatalog& it) { it.classes[1] = "\x1b"; });
  expect_refused({"attribute mean"}, [](PackedCatalog& it) { it.mean[1] = std::nan(""); });
  expect_refused({"attribute std"}, [](PackedCatalog& it) { it.std[0] = 0; });
  expect_refused({"mean and std hold 1 and 2"}, [](PackedCatalog& it) { it.mean.pop_back(); });
  expect_refused({"source_sha256"}, [](PackedCatalog& it) { it.source_sha256[0] = 'G'; });
}

TEST(PackedCatalog, OnlyWhatWasEncodedIsDecoded) {
  const std::string bytes = encode(catalog());
  EXPECT_EQ(encode(decode_catalog(bytes, "set.h5")), bytes);
  EXPECT_LE(bytes.size(), max_encoded_bytes(kFileBytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(decode_catalog(bytes.substr(0, size), "set.h5"), DataError) << size;
  }
  EXPECT_THROW(decode_catalog(bytes + '\0', "set.h5"), DataError);
  // A changed byte is refused or decodes to other values; no size in it allocates memory.
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0xFF);
    try {
      EXPECT_EQ(encode(decode_catalog(changed, "set.h5")), changed) << i;
    } catch (const DataError&) {
    }
  }
}

TEST(PackedCatalog, NoMoreChunksAreCountedThanTheFileHasRoomFor) {
  StoredArray array{{1'000'000, 1, 1, 1}, {1, 1, 1, 1}, {}, {}};
  EXPECT_EQ(count_chunks(array, 16'000'000), 1'000'000U);
  EXPECT_EQ(count_chunks(array, 15'999'999), 0U);
  array.extent[1] = ~std::uint64_t{0};
  EXPECT_EQ(count_chunks(array, ~std::uint64_t{0}), 0U);
}

}  // namespace
}  // namespace tandem::data
