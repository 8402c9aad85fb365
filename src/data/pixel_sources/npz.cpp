#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "data/files/archive_reader.hpp"
#include "data/files/name_rules.hpp"
#include "image_source.hpp"
#include "npy_array.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/hold_out.hpp"

namespace tandem::data {
namespace {

constexpr std::int64_t kMaxLabel = 255;

struct Names {
  const char* train_images;
  const char* train_labels;
  const char* test_images;  // null: only one set
  const char* test_labels;
};
constexpr std::array<Names, 3> kNames = {{
    {"train_images", "train_labels", "test_images", "test_labels"},
    {"x_train", "y_train", "x_test", "y_test"},
    {"images", "labels", nullptr, nullptr},
}};

// A zip archive, by the names of its members.
struct Zip {
  explicit Zip(const std::string& file) : path(file) {
    ArchiveReader archive(File::open_for_reading(path));
    while (archive.next()) members.push_back(archive.name());
  }
  bool has(const char* array) const {
    return array != nullptr &&
           std::find(members.begin(), members.end(), std::string(array) + ".npy") != members.end();
  }

  std::string path;
  std::vector<std::string> members;
};

NpyArray read_array(const Zip& zip, const char* name,
                    const std::function<void(const NpyArray&)>& check) {
  ArchiveReader archive(File::open_for_reading(zip.path));
  while (archive.next()) {
    if (archive.name() == std::string(name) + ".npy") {
      return read_npy(archive, archive.name(), check);
    }
  }
  throw DataError(zip.path + ": has no array '" + name + "'; numpy.savez(FILE, " + name +
                  "=…) writes it");
}

// Images and labels of one split, as they are in the file.
class Arrays {
 public:
  Arrays(const Zip& zip, const char* images, const char* labels)
      : images_(read_array(zip, images, [this](const NpyArray& array) { read_shape(array); })) {
    read_labels(read_array(zip, labels, [this](const NpyArray& array) { require_list(array); }));
  }

  std::uint64_t count() const { return labels_.size(); }
  ImageShape shape() const { return shape_; }
  const std::vector<Label>& labels() const { return labels_; }
  std::string where() const { return images_.file.where; }
  const std::vector<const SourceFile*> files() const { return {&images_.file, &labels_file_}; }

  // In CHW order.
  void copy_image(std::uint64_t index, std::uint8_t* image) const {
    const std::uint8_t* from = images_.values() + index * shape_.pixels();
    if (!channels_last_) {
      std::memcpy(image, from, shape_.pixels());
      return;
    }
    const auto step = static_cast<std::size_t>(shape_.channels);
    for (std::size_t c = 0; c < step; ++c) {
      for (std::size_t i = 0; i < shape_.plane(); ++i) *image++ = from[i * step + c];
    }
  }

 private:
  static bool is_channels(std::uint64_t extent) { return extent == 1 || extent == 3; }

  void read_shape(const NpyArray& images) {
    const std::vector<std::uint64_t>& extent = images.header.shape;
    const bool is_gray = extent.size() == 3;
    const bool is_color = extent.size() == 4;
    channels_last_ = is_color && is_channels(extent[3]);
    const bool channels_first = is_color && !channels_last_ && is_channels(extent[1]);
    const std::uint64_t pixels = std::accumulate(
        extent.begin() + (extent.empty() ? 0 : 1), extent.end(), std::uint64_t{1},
        [](std::uint64_t product, std::uint64_t each) {
          return each > kMaxPixels ? kMaxPixels + 1 : std::min(product * each, kMaxPixels + 1);
        });
    const bool fits = pixels >= 1 && pixels <= kMaxPixels;
    if (images.header.type != "|u1" || !(is_gray || channels_last_ || channels_first) || !fits) {
      throw DataError(images.file.where + ": is an array " + images.text() +
                      ", '|u1' (uint8) [images, height, width], [images, height, width, channels] "
                      "or [images, channels, height, width] with 1 or 3 channels was expected");
    }
    const auto side = [&](std::size_t i) { return static_cast<int>(extent[i]); };
    shape_ = is_gray          ? ImageShape{1, side(1), side(2)}
             : channels_last_ ? ImageShape{side(3), side(1), side(2)}
                              : ImageShape{side(1), side(2), side(3)};
  }

  void require_list(const NpyArray& array) const {
    const std::vector<std::uint64_t>& extent = array.header.shape;
    const std::uint64_t images = images_.header.shape[0];
    const bool is_list = extent.size() == 1 || (extent.size() == 2 && extent[1] == 1);
    if (!is_list || extent[0] != images) {
      throw DataError(array.file.where + ": is an array " + array.text() + ", [" +
                      std::to_string(images) + "] was expected, a label for each image");
    }
  }

  void read_labels(NpyArray array) {
    const std::uint64_t images = images_.header.shape[0];
    labels_.reserve(images);
    for (std::size_t i = 0; i < images; ++i) {
      const std::int64_t label = integer_at(array, i);
      if (label < 0 || label > kMaxLabel) {
        throw DataError(array.file.where + ": label " + std::to_string(label) + " of image " +
                        std::to_string(i) + ", 0 to 255 was expected");
      }
      labels_.push_back(static_cast<Label>(label));
    }
    labels_file_ = std::move(array.file);
  }

  ImageShape shape_;
  bool channels_last_ = false;
  NpyArray images_;  // after what its header says
  SourceFile labels_file_;
  std::vector<Label> labels_;
};

class Npz : public ImageSource {
 public:
  Npz(const std::string& path, const NpzOptions& options) {
    const Zip zip(path);
    const Names& names = choose_names(zip);
    const bool has_test = zip.has(names.test_images);
    require_one_test_set(path, has_test, options.test_split);
    train_.emplace(zip, names.train_images, names.train_labels);
    if (has_test) test_.emplace(zip, names.test_images, names.test_labels);
    if (has_test && test_->shape() != train_->shape()) {
      throw DataError(test_->where() + ": holds images of " + test_->shape().text() + ", " +
                      train_->shape().text() + " was expected, as " + train_->where() + " has");
    }
    deal(path, options);
    info_.name = std::filesystem::path(path).stem();
    if (!is_dataset_name(info_.name)) info_.name = "images";
    info_.shape = train_->shape();
    info_.train_count = train_order_.size();
    info_.test_count = test_order_.size();
    if (info_.train_count == 0 || info_.test_count == 0) {
      throw DataError(path + ": holds no image for " +
                      (info_.train_count == 0 ? "training" : "testing"));
    }
    name_classes(path, options);
  }

  const DatasetInfo& info() const override { return info_; }

  std::string source_sha256() override {
    std::string lines;
    for (const std::optional<Arrays>* arrays : {&train_, &test_}) {
      if (!arrays->has_value()) continue;
      for (const SourceFile* file : (*arrays)->files()) lines += digest_line(*file);
    }
    return sha256_hex(lines);
  }

  void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            Label* labels) const override {
    const bool is_train = split == Split::kTrain;
    const Arrays& arrays = is_train || !test_ ? *train_ : *test_;
    const std::vector<std::uint32_t>& order = is_train ? train_order_ : test_order_;
    for (std::uint64_t i = first; i < first + count; ++i) {
      arrays.copy_image(order[i], images);
      *labels++ = arrays.labels()[order[i]];
      images += info_.shape.pixels();
    }
  }

 private:
  static const Names& choose_names(const Zip& zip) {
    for (const Names& names : kNames) {
      if (zip.has(names.train_images)) return names;
    }
    throw DataError(zip.path + ": holds " +
                    (zip.members.empty() ? "nothing" : join(zip.members, ", ")) +
                    "; arrays called images and labels, or train_images, train_labels, "
                    "test_images and test_labels, were expected");
  }

  static void require_one_test_set(const std::string& path, bool has_test, double test_split) {
    if (has_test && test_split > 0) {
      throw UsageError("--test-split: " + path + " has a test set already; leave the option out");
    }
    if (!has_test && test_split == 0) {
      throw UsageError("--test-split is missing: " + path +
                       " has no test set; give the share of each class to use for testing, such "
                       "as 0.2");
    }
  }

  // Decides which images are in which split, in the order of the file.
  void deal(const std::string& path, const NpzOptions& options) {
    if (std::max(train_->count(), test_ ? test_->count() : 0) > kMaxImages) {
      throw DataError(path + ": holds more than 10,000,000 images");
    }
    std::vector<bool> is_test(train_->count());
    if (!test_) {
      is_test = draw_of_each_class(train_->labels(), options.test_split, options.seed,
                                   "--test-split", path);
    }
    for (std::uint32_t i = 0; i < is_test.size(); ++i) {
      (is_test[i] ? test_order_ : train_order_).push_back(i);
    }
    if (!test_) return;
    test_order_.resize(test_->count());
    std::iota(test_order_.begin(), test_order_.end(), 0);
  }

  void name_classes(const std::string& path, const NpzOptions& options) {
    int most = 0;
    for (const std::optional<Arrays>* arrays : {&train_, &test_}) {
      if (!arrays->has_value()) continue;
      for (const Label label : (*arrays)->labels()) most = std::max<int>(most, label);
    }
    info_.classes = options.classes;
    if (info_.classes.empty()) {
      for (int i = 0; i <= most; ++i) info_.classes.push_back(std::to_string(i));
    }
    if (static_cast<std::size_t>(most) >= info_.classes.size()) {
      throw DataError(path + ": has the label " + std::to_string(most) + ", 0 to " +
                      std::to_string(info_.classes.size() - 1) + " have a name");
    }
  }

  std::optional<Arrays> train_;
  std::optional<Arrays> test_;  // none: a part of train_
  std::vector<std::uint32_t> train_order_;
  std::vector<std::uint32_t> test_order_;
  DatasetInfo info_;
};

}  // namespace

bool looks_like_npz(const std::string& path) {
  return !is_folder(path) && ends_with(path, ".npz") && is_zip_file(path);
}

bool npz_has_test_set(const std::string& path) try {
  const Zip zip(path);
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const Names& names) { return zip.has(names.test_images); });
} catch (const DataError&) {
  return false;
}

std::unique_ptr<ImageSource> open_npz(const std::string& path, const NpzOptions& options) {
  return std::make_unique<Npz>(path, options);
}

}  // namespace tandem::data
