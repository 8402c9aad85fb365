#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "data/files/archive_reader.hpp"
#include "data/files/source_file.hpp"
#include "image_source.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/thread.hpp"

namespace tandem::data {
namespace {

constexpr std::size_t kPixels = std::size_t{3} * 32 * 32;
constexpr std::uint64_t kTrainPerTest = 5;  // training images for each test image
constexpr std::size_t kMaxMeta = std::size_t{64} << 10;

// The differences of the two data sets.
struct Form {
  const char* title;
  const char* name;
  const char* binary_folder;
  const char* archive;
  const char* python_folder;
  std::vector<const char*> python_files;
  const char* instead;         // of the Python form
  std::size_t label_bytes;     // of a record; the last one is the label
  std::vector<unsigned> most;  // of each of these bytes
  // In the order of source_sha256: names of the classes, training images, test images.
  std::vector<const char*> files;

  std::size_t record() const { return label_bytes + kPixels; }
  std::size_t classes() const { return most.back() + 1; }
  std::size_t last() const { return files.size() - 1; }
  std::size_t train_files() const { return files.size() - 2; }
};

const Form& cifar10() {
  static const Form kForm = {
      "CIFAR-10",
      "cifar10",
      "cifar-10-batches-bin",
      "cifar-10-binary.tar.gz",
      "cifar-10-batches-py",
      {"data_batch_1"},
      "convert it with 'python3 data/cifar10_from_python.py PATH OUTPUT_FOLDER' and pack "
      "OUTPUT_FOLDER",
      1,
      {9},
      {"batches.meta.txt", "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
       "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}};
  return kForm;
}

const Form& cifar100() {
  static const Form kForm = {"CIFAR-100",
                             "cifar100",
                             "cifar-100-binary",
                             "cifar-100-binary.tar.gz",
                             "cifar-100-python",
                             {"train", "meta"},
                             "fetch the binary form, cifar-100-binary.tar.gz, and pack that",
                             2,
                             {19, 99},
                             {"fine_label_names.txt", "train.bin", "test.bin"}};
  return kForm;
}

// Also for an incomplete folder. CIFAR-100's file names are common, so one of them is no evidence.
bool holds_binary_form(const Form& form, const std::string& folder) {
  const auto found = std::count_if(form.files.begin(), form.files.end(), [&](const char* name) {
    return file_exists(folder + "/" + name);
  });
  return found >= (form.train_files() > 1 ? 1 : 2);
}

bool holds_python_form(const Form& form, const std::string& folder) {
  return std::all_of(form.python_files.begin(), form.python_files.end(),
                     [&](const char* name) { return file_exists(folder + "/" + name); });
}

DataError python_form_error(const Form& form, const std::string& path) {
  std::string instead = form.instead;
  if (const auto at = instead.find("PATH"); at != std::string::npos) instead.replace(at, 4, path);
  return DataError(path + ": this is the Python (pickle) form of " + form.title +
                   ", which is not read because a pickle can run code; " + instead);
}

bool folder_looks_like(const Form& form, const std::string& path) {
  return holds_binary_form(form, path) ||
         holds_binary_form(form, path + "/" + form.binary_folder) ||
         holds_python_form(form, path) || holds_python_form(form, path + "/" + form.python_folder);
}

bool archive_is_cifar100(const std::string& path) {
  try {
    ArchiveReader archive(open_byte_stream(path));
    if (!archive.next()) return false;
    const std::string folder = std::filesystem::path(archive.name()).parent_path().filename();
    return folder == cifar100().binary_folder || folder == cifar100().python_folder;
  } catch (const DataError&) {
    return false;  // opening it reports the error
  }
}

// Files are read when their images are asked for, and let go after the last of them, so that one of
// them is in memory at a time, in use and being hashed.
class Cifar : public ImageSource {
 public:
  using FilePtr = std::shared_ptr<const SourceFile>;
  using ReadFile = std::function<FilePtr(std::size_t index)>;

  // `read_file` gives each file of the form.
  Cifar(const Form& form, ReadFile read_file, std::uint64_t test_images)
      : form_(form),
        read_file_(std::move(read_file)),
        images_per_file_(test_images * kTrainPerTest / form.train_files()),
        digest_lines_(form.files.size()) {
    const FilePtr meta = file(0);
    info_.name = form.name;
    info_.classes = parse_class_names(
        std::string(reinterpret_cast<const char*>(meta->bytes.get()), meta->size), meta->where);
    if (info_.classes.size() != form.classes()) {
      throw DataError(meta->where + ": holds " + std::to_string(info_.classes.size()) +
                      " class names, " + std::to_string(form.classes()) +
                      " are expected; check the file or fetch it again");
    }
    info_.shape = {3, 32, 32};
    info_.train_count = kTrainPerTest * test_images;
    info_.test_count = test_images;
  }

  const DatasetInfo& info() const override { return info_; }

  std::string source_sha256() override {
    std::string lines;
    for (std::size_t i = 0; i < digest_lines_.size(); ++i) {
      if (!digest_lines_[i].valid()) file(i);
      lines += digest_lines_[i].get();
    }
    return sha256_hex(lines);
  }

  void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            Label* labels) const override {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const bool is_train = split == Split::kTrain;
      const std::uint64_t index = is_train ? 1 + i / images_per_file_ : form_.last();
      const std::uint64_t place = is_train ? i % images_per_file_ : i;
      const std::uint8_t* pixels =
          file(index)->bytes.get() + place * form_.record() + form_.label_bytes;
      *labels++ = pixels[-1];
      std::memcpy(images, pixels, kPixels);
      images += kPixels;
    }
  }

 private:
  void check_labels(const SourceFile& file) const {
    for (std::size_t record = 0; record < file.size; record += form_.record()) {
      for (std::size_t i = 0; i < form_.label_bytes; ++i) {
        const unsigned label = file.bytes[record + i];
        if (label <= form_.most[i]) continue;
        throw fault_at(file.where, record + i, "label " + std::to_string(label),
                       "a label of 0 to " + std::to_string(form_.most[i]));
      }
    }
  }

  // The file in use; another one than before is read, checked, and hashed beside its use.
  const FilePtr& file(std::size_t index) const {
    if (current_ && index == current_index_) return current_;
    if (digest_lines_[current_index_].valid()) digest_lines_[current_index_].wait();
    current_ = nullptr;
    current_ = read_file_(index);
    current_index_ = index;
    if (digest_lines_[index].valid()) return current_;
    if (index > 0) check_labels(*current_);
    // The future keeps the function, so the file must leave it.
    const auto hash = [kept = current_]() mutable { return digest_line(*std::exchange(kept, {})); };
    digest_lines_[index] = std::async(kThreadIfGranted, hash).share();
    return current_;
  }

  const Form& form_;
  const ReadFile read_file_;
  const std::uint64_t images_per_file_;  // of those for training
  DatasetInfo info_;
  mutable FilePtr current_;
  mutable std::size_t current_index_ = 0;
  mutable std::vector<std::shared_future<std::string>> digest_lines_;
};

SourceFile read_member(const Form& form, ByteStream& stream, std::size_t index,
                       std::uint64_t test_images) {
  if (index > 0) {
    const std::uint64_t images =
        index == form.last() ? test_images : test_images * kTrainPerTest / form.train_files();
    return read_exactly(stream, form.files[index], images * form.record());
  }
  std::vector<std::uint8_t> meta(kMaxMeta);
  meta.resize(stream.read(meta.data(), meta.size()));
  return read_exactly(stream, form.files[0], meta.size(), meta);
}

std::unique_ptr<ImageSource> open_folder(const Form& form, const std::string& folder,
                                         std::uint64_t test_images) {
  for (const char* name : form.files) open_byte_stream(folder + "/" + name);  // none is missing
  const auto read_file = [&form, folder, test_images](std::size_t index) {
    const auto stream = open_byte_stream(folder + "/" + form.files[index]);
    return std::make_shared<const SourceFile>(read_member(form, *stream, index, test_images));
  };
  return std::make_unique<Cifar>(form, read_file, test_images);
}

std::shared_ptr<const Spool> read_archive(const Form& form, const std::string& path,
                                          std::uint64_t test_images) {
  auto spool = std::make_shared<Spool>(form.files.size());
  ArchiveReader archive(open_byte_stream(path));
  while (archive.next()) {
    const std::filesystem::path member(archive.name());
    const std::string folder = member.parent_path().filename();
    if (folder == form.python_folder) throw python_form_error(form, path);
    const auto found = std::find(form.files.begin(), form.files.end(), member.filename().string());
    if (found == form.files.end() || folder != form.binary_folder) continue;
    const auto index = static_cast<std::size_t>(found - form.files.begin());
    if (spool->holds(index)) {
      throw DataError(archive.where() + ": appears twice, expected once");
    }
    spool->put(index, read_member(form, archive, index, test_images));
  }
  for (std::size_t i = 0; i < form.files.size(); ++i) {
    if (!spool->holds(i)) {
      throw DataError(path + ": has no member " + form.binary_folder + "/" + form.files[i] + "; " +
                      form.title + "'s " + form.archive + " is expected");
    }
  }
  return spool;
}

std::unique_ptr<ImageSource> open_form(const Form& form, const std::string& path,
                                       std::uint64_t test_images) {
  if (!is_folder(path)) {
    const auto spool = read_archive(form, path, test_images);
    const auto read_file = [spool](std::size_t index) { return spool->get(index); };
    return std::make_unique<Cifar>(form, read_file, test_images);
  }
  for (const std::string& folder : {path, path + "/" + form.binary_folder}) {
    if (holds_binary_form(form, folder)) return open_folder(form, folder, test_images);
  }
  for (const std::string& folder : {path, path + "/" + form.python_folder}) {
    if (holds_python_form(form, folder)) throw python_form_error(form, folder);
  }
  throw MissingInputError(path + ": holds no " + form.files[1] + " and no folder " +
                          form.binary_folder + "; give the folder into which " + form.title +
                          " was unpacked");
}

}  // namespace

bool looks_like_cifar10(const std::string& path) {
  if (is_folder(path)) return folder_looks_like(cifar10(), path);
  return is_gzip_file(path) && !archive_is_cifar100(path);
}

bool looks_like_cifar100(const std::string& path) {
  if (is_folder(path)) return folder_looks_like(cifar100(), path);
  return is_gzip_file(path) && archive_is_cifar100(path);
}

std::unique_ptr<ImageSource> open_cifar10(const std::string& path, std::uint64_t test_images) {
  return open_form(cifar10(), path, test_images);
}

std::unique_ptr<ImageSource> open_cifar100(const std::string& path, std::uint64_t test_images) {
  return open_form(cifar100(), path, test_images);
}

}  // namespace tandem::data
