#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "class_folders.hpp"
#include "image_source.hpp"
#include "name_rules.hpp"
#include "parallel.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/fit_picture.hpp"
#include "tandem/data/hold_out.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

// Between two looks at whether the work is to go on.
constexpr std::size_t kFilesAtOnce = 1024;

struct Item {
  PictureFile file;
  std::string sha256;  // of the file; empty until it has been read
};

std::vector<Item> items_of(std::vector<PictureFile> files) {
  std::vector<Item> items;
  items.reserve(files.size());
  for (PictureFile& file : files) items.push_back({std::move(file), ""});
  return items;
}

class ImageFolder : public ImageSource {
 public:
  ImageFolder(const std::string& path, const ImageFolderOptions& options)
      : root_(path), threads_(options.threads), check_(options.check) {
    require_packable({std::max(options.channels, 1), options.height, options.width}, "--size asks");
    list_files(options);
    info_.name = std::filesystem::path(path).filename().string();
    if (!is_dataset_name(info_.name)) info_.name = "images";
    info_.train_count = train_.size();
    info_.test_count = test_.size();
    info_.shape = find_shape(options);
    require_picture_channels(info_.shape.channels);
  }

  const DatasetInfo& info() const override { return info_; }

  std::string source_sha256() override {
    std::vector<const Item*> all;
    for (std::vector<Item>* items : {&train_, &test_}) {
      for_each_file(items->size(), [&](std::size_t i) {
        Item& item = (*items)[i];
        if (item.sha256.empty()) item.sha256 = sha256_hex(read_picture_bytes(item.file.path));
      });
      for (const Item& item : *items) all.push_back(&item);
    }
    std::sort(all.begin(), all.end(),
              [](const Item* a, const Item* b) { return a->file.path < b->file.path; });
    Sha256 digest;
    for (const Item* item : all) {
      const std::string line =
          item->sha256 + "  " + item->file.path.substr(root_.size() + 1) + "\n";
      digest.update(line.data(), line.size());
    }
    return digest.finish();
  }

  void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            std::uint8_t* labels) const override {
    std::vector<Item>& items = split == Split::kTrain ? train_ : test_;
    for_each_index(count, threads_, [&](std::size_t i) {
      Item& item = items[first + i];
      const std::string bytes = read_picture_bytes(item.file.path);
      item.sha256 = sha256_hex(bytes);
      labels[i] = item.file.label;
      fit_file(bytes, item.file.path, info_.shape, budget_, images + i * info_.shape.pixels());
    });
  }

 private:
  void list_files(const ImageFolderOptions& options) {
    ClassFolders found = find_class_folders(root_, options.test_split > 0, check_);
    info_.classes = std::move(found.classes);
    train_ = items_of(std::move(found.train));
    test_ = items_of(std::move(found.test));
    if (test_.empty()) split_off(options);
  }

  // On several threads, until the work is to end.
  void for_each_file(std::size_t count, const std::function<void(std::size_t)>& work) const {
    for (std::size_t first = 0; first < count; first += kFilesAtOnce) {
      check_();
      for_each_index(std::min(kFilesAtOnce, count - first), threads_,
                     [&](std::size_t i) { work(first + i); });
    }
  }

  void split_off(const ImageFolderOptions& options) {
    std::vector<std::uint8_t> labels;
    for (const Item& item : train_) labels.push_back(item.file.label);
    const std::vector<bool> is_test =
        draw_of_each_class(labels, options.test_split, options.seed, "--test-split", root_);
    std::vector<Item> rest;
    for (std::size_t i = 0; i < train_.size(); ++i) {
      (is_test[i] ? test_ : rest).push_back(std::move(train_[i]));
    }
    train_ = std::move(rest);
  }

  // The shape from the pictures' headers, unless the options give it.
  ImageShape find_shape(const ImageFolderOptions& options) const {
    std::vector<PictureExtent> extents(train_.size() + test_.size());
    for_each_file(extents.size(),
                  [&](std::size_t i) { extents[i] = read_picture_extent(item(i).file.path); });
    const PictureExtent& first = extents.front();
    ImageShape shape{options.channels, options.height, options.width};
    if (shape.channels == 0) {
      const bool color = std::any_of(extents.begin(), extents.end(),
                                     [](const PictureExtent& each) { return each.has_color; });
      shape.channels = color ? 3 : 1;
    }
    if (shape.height > 0) {
      require_packable(shape, "--size asks");
      return shape;
    }
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i].height == first.height && extents[i].width == first.width) continue;
      throw UsageError("--size is missing: pictures differ in size, " + item(0).file.path +
                       " has " + text_of(first) + " and " + item(i).file.path + " has " +
                       text_of(extents[i]) + "; give the height and width for all, such as 64x64");
    }
    shape.height = first.height;
    shape.width = first.width;
    require_packable(shape, item(0).file.path + " and the others ask");
    return shape;
  }

  static void require_packable(const ImageShape& shape, const std::string& who_asks) {
    if (shape.pixels() <= kMaxPixels) return;
    throw UsageError("--size: " + who_asks + " for images of " + shape.text() + ", " +
                     format_count(static_cast<std::int64_t>(shape.pixels())) +
                     " values, at most 1,000,000 can be packed (577x577 in color); give a "
                     "smaller height and width, such as 224x224");
  }

  const Item& item(std::size_t index) const {
    return index < train_.size() ? train_[index] : test_[index - train_.size()];
  }
  static std::string text_of(const PictureExtent& extent) {
    return std::to_string(extent.height) + "x" + std::to_string(extent.width);
  }

  const std::string root_;
  const int threads_;
  const std::function<void()> check_;
  mutable MemoryBudget budget_{kMemoryForPictures};
  DatasetInfo info_;
  mutable std::vector<Item> train_;  // reading fills in digests
  mutable std::vector<Item> test_;
};

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

bool looks_like_image_folder(const std::string& path) {
  return is_folder(path) && holds_class_folders(path);
}

std::unique_ptr<ImageSource> open_image_folder(const std::string& path,
                                               const ImageFolderOptions& options) {
  if (!is_folder(path)) {
    throw DataError(path +
                    ": is no folder; one with a folder of pictures for each class was "
                    "expected");
  }
  return std::make_unique<ImageFolder>(without_slashes(path), options);
}

}  // namespace tandem::data
