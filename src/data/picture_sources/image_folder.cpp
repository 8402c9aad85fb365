#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "class_folders.hpp"
#include "data/files/name_rules.hpp"
#include "data/parallel.hpp"
#include "data/pictures/broken_files.hpp"
#include "data/pixel_sources/image_source.hpp"
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
    require_packable_shape({std::max(options.channels, 1), options.height, options.width});
    ClassFolders found = find_class_folders(root_, options.test_split > 0, check_);
    const bool has_test = options.test_split == 0;  // else find_class_folders() named that
    info_.classes = std::move(found.classes);
    info_.exif_orientation = true;
    broken_ = std::move(found.broken);
    train_ = items_of(std::move(found.train));
    test_ = items_of(std::move(found.test));
    find_shape_and_faults(options, found.usage_fault);
    require_every_class(has_test);
    if (!has_test) split_off(options);
    info_.name = std::filesystem::path(path).filename().string();
    if (!is_dataset_name(info_.name)) info_.name = "images";
    info_.train_count = train_.size();
    info_.test_count = test_.size();
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
            Label* labels) const override {
    std::vector<Item>& items = split == Split::kTrain ? train_ : test_;
    for_each_index(count, threads_, [&](std::size_t i) {
      Item& item = items[first + i];
      std::uint8_t* image = images + i * info_.shape.pixels();
      labels[i] = item.file.label;
      const std::string fault = fault_of(item.file.path, [&] {
        const std::string bytes = read_picture_bytes(item.file.path);
        item.sha256 = sha256_hex(bytes);
        fit_file(bytes, item.file.path, info_.shape, budget_, {}, image);
      });
      if (fault.empty()) return;
      std::fill_n(image, info_.shape.pixels(), std::uint8_t{0});
      const std::lock_guard<std::mutex> lock(mutex_);
      unreadable_.push_back({item.file.path, fault});
    });
  }

  bool has_wide_labels() const override { return info_.classes.size() > kMaxByteClasses; }

  void require_whole() const override {
    if (!unreadable_.empty()) throw BrokenFilesError(root_, unreadable_);
  }
  BrokenFiles skipped_files() const override {
    BrokenFiles skipped = broken_;
    for (BrokenFile& file : skipped) file.path.erase(0, root_.size() + 1);
    std::sort(skipped.begin(), skipped.end());
    return skipped;
  }

 private:
  // Faults of options that depend on the files come before the faults of the files.
  void find_shape_and_faults(const ImageFolderOptions& options, const std::string& usage_fault) {
    const std::vector<PictureExtent> extents = look_at_files(options.skip_broken);
    std::vector<std::string> usage_faults;
    if (!usage_fault.empty()) usage_faults.push_back(usage_fault);
    info_.shape = find_shape(options, extents, usage_faults);
    if (!usage_faults.empty()) throw UsageError(join(usage_faults, "\n  "));
    if (options.skip_broken || broken_.empty()) return;
    look_at_files(true);
    require_every_class(options.test_split == 0);  // else --skip-broken would not help
    throw BrokenFilesError(root_, broken_);
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
    std::vector<Label> labels;
    for (const Item& item : train_) labels.push_back(item.file.label);
    const std::vector<bool> is_test =
        draw_of_each_class(labels, options.test_split, options.seed, "--test-split", root_);
    std::vector<Item> rest;
    for (std::size_t i = 0; i < train_.size(); ++i) {
      (is_test[i] ? test_ : rest).push_back(std::move(train_[i]));
    }
    train_ = std::move(rest);
  }

  // The extents of all pictures from their headers. Moves broken files from the items to broken_;
  // only decoding finds all of them.
  std::vector<PictureExtent> look_at_files(bool decodes) {
    std::vector<PictureExtent> extents;
    for (std::vector<Item>* items : {&train_, &test_}) {
      std::vector<PictureExtent> found(items->size());
      std::vector<std::string> faults(items->size());
      std::vector<char> turned(items->size());
      for_each_file(items->size(), [&](std::size_t i) {
        const std::string& path = (*items)[i].file.path;
        faults[i] = fault_of(path, [&] {
          found[i] = read_picture_extent(path);
          turned[i] = found[i].orientation != 1 ? 1 : 0;
          found[i] = upright(found[i]);
          if (decodes) decode(path);
        });
      });
      std::vector<Item> whole;
      for (std::size_t i = 0; i < items->size(); ++i) {
        if (!faults[i].empty()) {
          broken_.push_back({(*items)[i].file.path, faults[i]});
          continue;
        }
        whole.push_back(std::move((*items)[i]));
        extents.push_back(found[i]);
        info_.turned_pictures += static_cast<std::uint64_t>(turned[i]);
      }
      *items = std::move(whole);
    }
    return extents;
  }

  void decode(const std::string& path) const {
    MemoryBudget::Share share(budget_);
    prove_decodable(read_picture_bytes(path), path, kMaxPicturePixels,
                    [&](std::uint64_t memory) { share.take(memory); });
  }

  // The broken files may have been all of a class or of the test set.
  void require_every_class(bool has_test) const {
    std::vector<bool> is_there(info_.classes.size(), false);
    for (const Item& item : train_) is_there[item.file.label] = true;
    for (std::size_t i = 0; i < is_there.size(); ++i) {
      if (is_there[i]) continue;
      throw BrokenFilesError(root_, broken_,
                             ", and class " + info_.classes[i] + " has no other for training");
    }
    if (has_test && test_.empty()) {
      throw BrokenFilesError(root_, broken_, ", and there is no other for testing");
    }
  }

  // The shape from the pictures' headers, unless the options give it.
  ImageShape find_shape(const ImageFolderOptions& options,
                        const std::vector<PictureExtent>& extents,
                        std::vector<std::string>& usage_faults) const {
    ImageShape shape{options.channels, options.height, options.width};
    if (shape.channels == 0) {
      const bool color = std::any_of(extents.begin(), extents.end(),
                                     [](const PictureExtent& each) { return each.has_color; });
      shape.channels = color ? 3 : 1;
    }
    if (shape.height > 0) {
      require_packable_shape(shape);
      return shape;
    }
    if (extents.empty()) return shape;
    const PictureExtent& first = extents.front();
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i].height == first.height && extents[i].width == first.width) continue;
      usage_faults.push_back("--size is missing: pictures differ in size, " + item(0).file.path +
                             " has " + text_of(first) + " and " + item(i).file.path + " has " +
                             text_of(extents[i]) +
                             "; give the height and width for all, such as 64x64");
      return shape;
    }
    shape.height = first.height;
    shape.width = first.width;
    require_packable_shape(shape, item(0).file.path + " and the others ask");
    return shape;
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
  BrokenFiles broken_;
  mutable std::mutex mutex_;  // guards unreadable_
  mutable BrokenFiles unreadable_;
};

}  // namespace

bool looks_like_image_folder(const std::string& path) {
  return is_folder(path) && holds_class_folders(path);
}

std::unique_ptr<ImageSource> open_image_folder(const std::string& path,
                                               const ImageFolderOptions& options) {
  return std::make_unique<ImageFolder>(root_of_class_folders(path), options);
}

}  // namespace tandem::data
