#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <utility>

#include "data/files/source_file.hpp"
#include "image_source.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/thread.hpp"

namespace tandem::data {
namespace {

// In the order of source_sha256.
constexpr std::array<const char*, 4> kFiles = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                               "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
constexpr std::uint64_t kMaxIdxBytes = std::uint64_t{1} << 30;
constexpr std::uint32_t kMaxSide = 1024;

// The file by its published name, or with the dot that some unpackers write for the hyphen, plain
// or compressed; empty where there is none.
std::string find_file(const std::string& folder, std::string name) {
  const std::string hyphen = folder + "/" + name;
  name[name.find("-idx")] = '.';
  const std::string dot = folder + "/" + name;
  for (const std::string& path : {hyphen, dot, hyphen + ".gz", dot + ".gz"}) {
    if (file_exists(path)) return path;
  }
  return "";
}

bool holds_files(const std::string& folder) {
  for (const char* name : kFiles) {
    if (!find_file(folder, name).empty()) return true;
  }
  return false;
}

// An IDX file: 0, 0, 8 (uint8), number of dimensions; each dimension (u32); the values.
struct IdxFile {
  SourceFile source;
  std::vector<std::uint32_t> dimensions;

  std::size_t header_bytes() const { return 4 + 4 * dimensions.size(); }
  const std::uint8_t* values() const { return source.bytes.get() + header_bytes(); }
};

IdxFile read_idx(const std::string& folder, const char* name, std::size_t rank) {
  const std::string path = find_file(folder, name);
  if (path.empty()) {
    throw MissingInputError(folder + ": has neither " + name + " nor " + name +
                            ".gz; all four files of the data set are needed");
  }
  const auto stream = open_byte_stream(path);
  std::vector<std::uint8_t> header(4 + 4 * rank);
  const std::size_t got = stream->read(header.data(), header.size());
  const std::string_view beginning(reinterpret_cast<const char*>(header.data()), got);
  if (got < header.size() || big_endian(beginning, 0, 4) != 0x800 + rank) {
    throw fault_at(path, 0, describe_beginning(beginning),
                   "the IDX header 00 00 08 0" + std::to_string(rank));
  }
  IdxFile idx;
  std::uint64_t size = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = static_cast<std::uint32_t>(big_endian(beginning, 4 + 4 * i, 4));
    const bool fits = i == 0 ? extent <= kMaxIdxBytes : extent <= kMaxSide;
    if (extent == 0 || !fits || (size *= extent) > kMaxIdxBytes) {
      throw fault_at(path, 4 + 4 * i, "an extent of " + std::to_string(extent),
                     "sides of 1 to 1024 and at most 1 GiB in all");
    }
    idx.dimensions.push_back(extent);
  }
  idx.source = read_exactly(*stream, name, header.size() + size, header);
  return idx;
}

class Mnist : public ImageSource {
 public:
  Mnist(const std::string& folder, std::vector<std::string> classes) {
    for (std::size_t i = 0; i < kFiles.size(); ++i) {
      IdxFile idx = read_idx(folder, kFiles[i], i % 2 == 0 ? 3 : 1);
      dimensions_.push_back(idx.dimensions);
      values_.push_back(idx.values());
      files_.push_back(std::move(idx.source));
    }
    info_.name = "mnist";
    info_.classes = std::move(classes);
    info_.shape = {1, static_cast<int>(dimensions_[0][1]), static_cast<int>(dimensions_[0][2])};
    info_.train_count = dimensions_[0][0];
    info_.test_count = dimensions_[2][0];
    check_counts(0, 1);
    check_counts(2, 3);
    if (dimensions_[2][1] != dimensions_[0][1] || dimensions_[2][2] != dimensions_[0][2]) {
      throw fault_at(files_[2].where, 8, extent_text(2), extent_text(0) + " as in the train file");
    }
    check_labels(1);
    check_labels(3);
    digest_ = std::async(kThreadIfGranted, [this] { return digest_of(files_); });
  }

  const DatasetInfo& info() const override { return info_; }
  std::string source_sha256() override { return digest_.get(); }

  void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            Label* labels) const override {
    const std::size_t file = split == Split::kTrain ? 0 : 2;
    const std::size_t pixels = info_.shape.pixels();
    std::memcpy(images, values_[file] + first * pixels, count * pixels);
    std::copy_n(values_[file + 1] + first, count, labels);
  }

 private:
  std::string extent_text(std::size_t file) const {
    return "images of " + std::to_string(dimensions_[file][1]) + " x " +
           std::to_string(dimensions_[file][2]);
  }

  void check_counts(std::size_t images, std::size_t labels) const {
    if (dimensions_[images][0] == dimensions_[labels][0]) return;
    throw fault_at(files_[labels].where, 4, std::to_string(dimensions_[labels][0]) + " labels",
                   std::to_string(dimensions_[images][0]) + " as there are images");
  }

  void check_labels(std::size_t file) const {
    for (std::size_t i = 0; i < dimensions_[file][0]; ++i) {
      if (values_[file][i] < info_.classes.size()) continue;
      throw fault_at(files_[file].where, 8 + i, "label " + std::to_string(values_[file][i]),
                     "a label of 0 to " + std::to_string(info_.classes.size() - 1));
    }
  }

  std::vector<std::vector<std::uint32_t>> dimensions_;
  std::vector<const std::uint8_t*> values_;  // into files_
  std::vector<SourceFile> files_;
  DatasetInfo info_;
  std::shared_future<std::string> digest_;  // last, so that it has ended before files_ goes
};

std::vector<std::string> digits() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

}  // namespace

bool looks_like_mnist(const std::string& path) {
  return is_folder(path) && (holds_files(path) || holds_files(path + "/raw"));
}

std::unique_ptr<ImageSource> open_mnist(const std::string& path, std::vector<std::string> classes) {
  if (!is_folder(path)) {
    throw DataError(path + ": is " + describe_file(path) +
                    ", the folder of MNIST's four files is expected");
  }
  const std::string folder =
      !holds_files(path) && holds_files(path + "/raw") ? path + "/raw" : path;
  return std::make_unique<Mnist>(folder, classes.empty() ? digits() : std::move(classes));
}

}  // namespace tandem::data
