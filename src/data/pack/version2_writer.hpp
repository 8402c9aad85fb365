// Writes a packed file of version 2: first pictures, as pixels or files, one after another, then
// the rest. Memory does not grow with their bytes. One thread at a time. Throws IoError naming the
// file.
//
// Layout: user block; HDF5's metadata; the pictures for training, then those for testing; offsets,
// labels, names and the rest of HDF5; the table of digests. Equal input gives equal bytes.
#pragma once

#include <array>
#include <cstdint>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "data/packed/block_table.hpp"
#include "data/pictures/broken_files.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/span.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::data {

class Hdf5Output;

class Version2Writer {
 public:
  // `output` is empty and stays the caller's; `path` is its name.
  // `hdf5`: held while HDF5 works, which may be built for one thread; null: there is one.
  Version2Writer(File& output, const std::string& path, Store store, std::mutex* hdf5 = nullptr);
  ~Version2Writer();
  Version2Writer(const Version2Writer&) = delete;
  Version2Writer& operator=(const Version2Writer&) = delete;

  // The next picture of a split: its file, or all its pixels, and its classes: one, or any number
  // of a multi-label set. All of training come before those of testing.
  void add(Split split, Span<const std::uint8_t> bytes, Span<const Label> labels);
  std::uint64_t count(Split split) const { return of(split).label_counts.size(); }
  // Call it after the last picture. Then read() returns any of them.
  void finish_pictures();
  // The bytes of a picture and its class.
  std::string read(Split split, std::uint64_t image) const;
  // Writes the rest and the seal; sets counts and digest of `info`, whose other fields are to be
  // set. `broken`: files that were left out.
  void finish(DatasetInfo& info, const BrokenFiles& broken);

 private:
  struct SplitIndex {
    std::vector<std::uint64_t> offsets{0};
    std::vector<Label> labels;        // of all pictures
    std::vector<Label> label_counts;  // of each picture; at most as many as classes
  };

  SplitIndex& of(Split split) { return splits_[index_of(split)]; }
  const SplitIndex& of(Split split) const { return splits_[index_of(split)]; }
  std::uint64_t begin_of(Split split) const;
  // Of the array of pictures, as HDF5 has it.
  std::vector<std::uint64_t> extent_of(Split split, const DatasetInfo& info) const;
  // Throws IoError where the file has fewer bytes.
  void read_back(std::uint64_t at, char* to, std::size_t bytes) const;
  std::unique_lock<std::mutex> lock_hdf5() const {
    return hdf5_ == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(*hdf5_);
  }
  void write_block();
  void await_block();
  static void write_targets(const Hdf5Output& file, const std::string& path,
                            const SplitIndex& index, std::uint64_t classes);
  void write_hdf5(const DatasetInfo& info, const BrokenFiles& broken);
  void write_seal(DatasetInfo& info);
  void add_heads(std::uint64_t begin, std::uint64_t end, std::vector<Block>& blocks) const;

  File& output_;
  const std::string path_;
  const Store store_;
  std::mutex* const hdf5_;
  std::uint64_t pictures_at_ = 0;
  std::array<SplitIndex, 2> splits_;
  std::vector<std::uint8_t> filling_;
  std::vector<std::uint8_t> writing_;
  std::uint64_t next_block_at_ = 0;
  std::vector<Block> blocks_;       // of pictures
  std::future<std::string> block_;  // the digest of `writing_`, once that is in the file
};

}  // namespace tandem::data
