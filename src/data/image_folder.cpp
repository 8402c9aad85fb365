#include "tandem/data/image_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "names.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/fit_picture.hpp"
#include "tandem/data/folder_files.hpp"
#include "tandem/data/image_file.hpp"
#include "tandem/data/parallel.hpp"
#include "test_split.hpp"

namespace tandem::data {
namespace {

constexpr std::size_t kMostLabels = 256;  // of one byte

struct Item {
  std::string path;
  std::uint8_t label = 0;
  std::string sha256;  // of the file; empty until it has been read
};

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// The folders in a folder but hidden ones, sorted.
std::vector<std::string> folders_in(const std::string& path) {
  std::vector<std::string> folders = list_folder(path);
  folders.erase(std::remove_if(folders.begin(), folders.end(),
                               [](const std::string& each) {
                                 return name_of(each).front() == '.' || !is_folder(each);
                               }),
                folders.end());
  std::sort(folders.begin(), folders.end());
  return folders;
}

bool holds_class_folders(const std::string& path) {
  for (const std::string& folder : folders_in(path)) {
    const std::vector<std::string> files = list_folder(folder);
    if (std::any_of(files.begin(), files.end(), is_picture_name)) return true;
  }
  return false;
}

// A class may be called train as well; then it holds pictures and no folders of them.
bool has_train_folder(const std::string& path) {
  return is_folder(path + "/train") && holds_class_folders(path + "/train");
}

// What file managers leave in every folder.
bool is_ballast(const std::string& path) {
  const std::string name = name_of(path);
  return name == "Thumbs.db" || name == "desktop.ini";
}

class ImageFolder : public ImageSource {
 public:
  ImageFolder(const std::string& path, const ImageFolderOptions& options)
      : root_(path), threads_(options.threads) {
    list_files(options);
    info_.name = name_of(path);
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
      for_each_index(items->size(), threads_, [&](std::size_t i) {
        Item& item = (*items)[i];
        if (item.sha256.empty()) item.sha256 = sha256_hex(read_picture_bytes(item.path));
      });
      for (const Item& item : *items) all.push_back(&item);
    }
    std::sort(all.begin(), all.end(),
              [](const Item* a, const Item* b) { return a->path < b->path; });
    Sha256 digest;
    for (const Item* item : all) {
      const std::string line = item->sha256 + "  " + item->path.substr(root_.size() + 1) + "\n";
      digest.update(line.data(), line.size());
    }
    return digest.finish();
  }

  void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            std::uint8_t* labels) const override {
    std::vector<Item>& items = split == Split::kTrain ? train_ : test_;
    for_each_index(count, threads_, [&](std::size_t i) {
      Item& item = items[first + i];
      const std::string bytes = read_picture_bytes(item.path);
      item.sha256 = sha256_hex(bytes);
      labels[i] = item.label;
      fit_file(bytes, item.path, info_.shape, budget_, images + i * info_.shape.pixels());
    });
  }

 private:
  void list_files(const ImageFolderOptions& options) {
    const std::string train = root_ + "/train";
    const bool has_train = has_train_folder(root_);
    std::string test;
    for (const char* name : {"/val", "/test"}) {
      if (has_train && is_folder(root_ + name)) test = root_ + name;
    }
    if (!test.empty() && options.test_split > 0) {
      throw UsageError("--test-split: " + root_ + " has a test set already, " + test +
                       "; leave the option out, or give " + train + " as --input");
    }
    if (test.empty() && options.test_split == 0) {
      throw UsageError("--test-split is missing: " + root_ +
                       " has no folder test beside train; "
                       "give the share of each class that is for testing, such as 0.2");
    }
    train_ = items_of(has_train ? train : root_);
    if (!test.empty()) test_ = items_of(test);
    if (test.empty()) split_off(options);
    require_some(train_, has_train ? train : root_);
    require_some(test_, test);
  }

  // Of all folders of classes in `path`. The first call decides which classes there are.
  std::vector<Item> items_of(const std::string& path) {
    const bool decides = info_.classes.empty();
    std::vector<Item> items;
    for (const std::string& folder : folders_in(path)) {
      const std::string name = name_of(folder);
      if (decides) info_.classes.push_back(name);
      const auto place = std::find(info_.classes.begin(), info_.classes.end(), name);
      if (place == info_.classes.end()) {
        throw DataError(folder + ": is a class that the training images do not have; they have " +
                        join(info_.classes, ", "));
      }
      const auto label = static_cast<std::uint8_t>(place - info_.classes.begin());
      for (std::string& file : files_below(folder)) {
        if (is_ballast(file)) continue;
        require_picture_name(file);
        items.push_back({std::move(file), label, ""});
      }
    }
    for (const std::string& file : list_folder(path)) {
      if (!is_picture_name(file) || is_folder(file)) continue;
      throw DataError(file + ": lies in no folder of a class; move it into one");
    }
    check_class_names(info_.classes, path);
    if (info_.classes.size() > kMostLabels) {
      throw DataError(path + ": has " + std::to_string(info_.classes.size()) +
                      " folders of classes, at most 256 can be packed");
    }
    return items;
  }

  static void require_picture_name(const std::string& file) {
    if (is_picture_name(file)) return;
    throw DataError(file +
                    ": its name does not end in .png, .jpg or .jpeg; convert the file, or "
                    "move it out of the folder");
  }

  static void require_some(const std::vector<Item>& items, const std::string& path) {
    if (items.empty()) throw DataError(path + ": holds no picture; put some into its folders");
  }

  void split_off(const ImageFolderOptions& options) {
    std::vector<std::uint8_t> labels;
    for (const Item& item : train_) labels.push_back(item.label);
    const std::vector<bool> is_test =
        draw_test_split(labels, options.test_split, options.seed, root_);
    std::vector<Item> rest;
    for (std::size_t i = 0; i < train_.size(); ++i) {
      (is_test[i] ? test_ : rest).push_back(std::move(train_[i]));
    }
    train_ = std::move(rest);
  }

  // Of what the pictures say of themselves, as far as the options leave it open.
  ImageShape find_shape(const ImageFolderOptions& options) const {
    std::vector<PictureExtent> extents(train_.size() + test_.size());
    for_each_index(extents.size(), threads_,
                   [&](std::size_t i) { extents[i] = read_picture_extent(item(i).path); });
    const PictureExtent& first = extents.front();
    ImageShape shape{options.channels, options.height, options.width};
    if (shape.channels == 0) {
      const bool colour = std::any_of(extents.begin(), extents.end(),
                                      [](const PictureExtent& each) { return each.has_colour; });
      shape.channels = colour ? 3 : 1;
    }
    if (shape.height > 0) return shape;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i].height == first.height && extents[i].width == first.width) continue;
      throw UsageError("--size is missing: pictures differ in size, " + item(0).path + " has " +
                       text_of(first) + " and " + item(i).path + " has " + text_of(extents[i]) +
                       "; give the height and width for all, such as 64x64");
    }
    shape.height = first.height;
    shape.width = first.width;
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
  if (!is_folder(path)) return false;
  return has_train_folder(path) || holds_class_folders(path);
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
