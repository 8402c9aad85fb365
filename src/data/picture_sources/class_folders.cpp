#include "class_folders.hpp"

#include <algorithm>
#include <filesystem>

#include "data/files/byte_stream.hpp"
#include "data/files/name_rules.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;

std::string last_name(const std::string& path) { return fs::path(path).filename().string(); }

bool is_passed_over(const std::string& path) {
  const std::string name = last_name(path);
  return name.front() == '.' || name == "Thumbs.db" || name == "desktop.ini";
}

// A packed set, or the list of files that could not be packed: earlier outputs, which a user may
// write beside the pictures.
bool is_output_of_pack(const std::string& path) {
  if (is_picture_name(path)) return false;
  try {
    if (!is_regular_file(path)) return false;
    const std::string beginning = beginning_of(path);
    return begins_with(beginning, kSealBegins) || begins_with(beginning, "# tandem pack: ");
  } catch (const Error&) {
    return false;  // reading it later names the reason
  }
}

// The content of a folder, sorted.
struct Content {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};

Content content_of(const std::string& path) {
  Content content;
  for (std::string& each : list_folder(path)) {
    if (is_passed_over(each) || is_output_of_pack(each)) continue;
    (is_folder(each) ? content.folders : content.files).push_back(std::move(each));
  }
  std::sort(content.folders.begin(), content.folders.end());
  std::sort(content.files.begin(), content.files.end());
  return content;
}

bool holds_picture(const std::string& folder) {
  std::error_code unreadable;  // then there is none that we could pack
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         unreadable);
  for (; !unreadable && entry != fs::recursive_directory_iterator(); entry.increment(unreadable)) {
    if (is_passed_over(entry->path())) {
      entry.disable_recursion_pending();
    } else if (is_picture_name(entry->path())) {
      return true;
    }
  }
  return false;
}

// The test set beside `root`/train, empty where there is none.
std::string find_test_folder(const std::string& root, BrokenFiles& broken) {
  const Content content = content_of(root);
  std::string test;
  for (const std::string& folder : content.folders) {
    const std::string name = last_name(folder);
    if (name == "train") continue;
    if ((name != "test" && name != "val") || !test.empty()) {
      const bool may_be_renamed = test.empty() && begins_with(name, "val");
      throw DataError(folder + ": lies beside " + (test.empty() ? "train" : "train and " + test) +
                      ", only one of test and val is taken there; " +
                      (may_be_renamed ? "rename it to val, or move" : "move") + " it out of " +
                      root);
    }
    test = folder;
  }
  for (const std::string& file : content.files) {
    if (!is_picture_name(file)) continue;
    broken.push_back({file, "lies in no folder of a class; move it into one"});
  }
  return test;
}

// The reason why a file is no picture by its name; empty for the name of a PNG or JPEG file.
std::string fault_of_name(const std::string& file) {
  if (is_picture_name(file)) return "";
  bool is_foreign = false;
  std::string fault = fault_of(file, [&] {
    is_foreign = !foreign_picture(beginning_of(file)).empty();
    if (is_foreign) read_picture_extent(file);
  });
  if (is_foreign) return fault;  // it has the conversion
  return "its name does not end in .png, .jpg or .jpeg; convert the file, or move it out of the "
         "folder";
}

std::vector<PictureFile> pictures_in(const std::string& folder, Label label, BrokenFiles& broken) {
  std::vector<PictureFile> pictures;
  for (std::string& file : files_below(folder)) {
    if (is_passed_over(file) || is_output_of_pack(file)) continue;
    const std::string fault = fault_of_name(file);
    if (fault.empty()) {
      pictures.push_back({std::move(file), label});
    } else {
      broken.push_back({std::move(file), fault});
    }
  }
  if (pictures.empty()) {
    broken.push_back({folder,
                      "is the folder of a class and holds no picture; put some into it, or remove "
                      "it"});
  }
  return pictures;
}

// The pictures of all class folders in `path`. The first call defines the classes.
std::vector<PictureFile> read_classes_of(const std::string& path, ClassFolders& found,
                                         const std::function<void()>& between) {
  std::vector<std::string>& classes = found.classes;
  const Content content = content_of(path);
  for (const std::string& file : content.files) {
    found.broken.push_back(
        {file, "lies in no folder of a class; move it into one, or out of " + path});
  }
  if (content.folders.empty()) {
    throw DataError(path + ": holds no folder; one with pictures for each class was expected");
  }
  const bool decides = classes.empty();
  if (decides) {
    for (const std::string& folder : content.folders) classes.push_back(last_name(folder));
    check_class_names(classes, path, kMaxClasses);
  }
  std::vector<PictureFile> all;
  for (const std::string& folder : content.folders) {
    between();
    const std::string name = last_name(folder);
    const auto place = std::lower_bound(classes.begin(), classes.end(), name);
    if (place == classes.end() || *place != name) {
      throw DataError(folder + ": is a class that the training images do not have; they have " +
                      join(classes, ", "));
    }
    for (PictureFile& picture :
         pictures_in(folder, static_cast<Label>(place - classes.begin()), found.broken)) {
      all.push_back(std::move(picture));
    }
  }
  return all;
}

}  // namespace

std::string root_of_class_folders(std::string path) {
  if (!is_folder(path)) {
    throw DataError(path +
                    ": is not a folder; one with a folder of pictures for each class was "
                    "expected");
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool holds_class_folders(const std::string& path) {
  std::error_code unreadable;
  fs::directory_iterator entry(path, unreadable);
  for (; !unreadable && entry != fs::directory_iterator(); entry.increment(unreadable)) {
    const std::string folder = entry->path();
    if (!is_passed_over(folder) && is_folder(folder) && holds_picture(folder)) return true;
  }
  return false;
}

ClassFolders find_class_folders(const std::string& root, bool splits_off_test,
                                const std::function<void()>& between) {
  // A class may be called train as well; then it holds pictures and no folders of them.
  const bool has_train = holds_class_folders(root + "/train");
  const std::string train = has_train ? root + "/train" : root;
  ClassFolders found;
  const std::string test = has_train ? find_test_folder(root, found.broken) : "";
  if (!test.empty() && splits_off_test) {
    throw UsageError("--test-split: " + root + " has a test set already, " + test +
                     "; leave the option out, or give " + train + " as --input");
  }
  found.train = read_classes_of(train, found, between);
  if (!test.empty()) found.test = read_classes_of(test, found, between);
  if (test.empty() && !splits_off_test) {
    found.usage_fault = "--test-split is missing: " + root +
                        (has_train ? " has no folder test beside train"
                                   : " has no folder train of classes; its folders are the "
                                     "classes " +
                                         join(found.classes, ", ")) +
                        "; give the share of each class to use for testing, such as 0.2";
  }
  return found;
}

}  // namespace tandem::data
