#include "tandem/data/cifar10.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "source_file.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/tar_reader.hpp"

namespace tandem::data {
namespace {

constexpr ImageShape kShape{3, 32, 32};
constexpr std::size_t kRecord = 1 + 3 * 32 * 32;
constexpr std::size_t kClasses = 10;
constexpr std::uint64_t kTrainFiles = 5;
constexpr char kBinaryFolder[] = "cifar-10-batches-bin";
constexpr char kPythonFolder[] = "cifar-10-batches-py";
constexpr char kPythonFile[] = "data_batch_1";
// In the order of source_sha256.
constexpr std::array<const char*, 7> kFiles = {
    "batches.meta.txt", "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
    "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
constexpr std::size_t kMaxMeta = 64 * 1024;

bool holds_binary_form(const std::string& folder) {
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [&](const char* name) { return file_exists(folder + "/" + name); });
}

bool holds_python_form(const std::string& folder) {
  return file_exists(folder + "/" + kPythonFile);
}

DataError python_form_error(const std::string& path) {
  return DataError(path +
                   ": this is the Python (pickle) form of CIFAR-10, which is not read because a "
                   "pickle can run code; convert it with 'python3 data/cifar10_from_python.py " +
                   path + " OUTPUT_FOLDER' and pack OUTPUT_FOLDER");
}

// Files are read when their images are asked for, and let go after the last of them, so that one of
// them is in memory at a time, in use and being hashed.
class Cifar10 : public ImageSource {
 public:
  using FilePtr = std::shared_ptr<const SourceFile>;
  using ReadFile = std::function<FilePtr(std::size_t index)>;

  // `read_file` gives each file of kFiles.
  Cifar10(ReadFile read_file, std::uint64_t images_per_file)
      : read_file_(std::move(read_file)), images_per_file_(images_per_file) {
    const FilePtr meta = file(0);
    info_.name = "cifar10";
    info_.classes = parse_class_names(
        std::string(reinterpret_cast<const char*>(meta->bytes.get()), meta->size), meta->where);
    if (info_.classes.size() != kClasses) {
      throw DataError(meta->where + ": holds " + std::to_string(info_.classes.size()) +
                      " class names, 10 are expected; check the file or fetch it again");
    }
    info_.shape = kShape;
    info_.train_count = kTrainFiles * images_per_file;
    info_.test_count = images_per_file;
  }

  const DatasetInfo& info() const override { return info_; }

  std::string source_sha256() override {
    std::string lines;
    for (std::size_t i = 0; i < kFiles.size(); ++i) {
      if (!digest_lines_[i].valid()) file(i);
      lines += digest_lines_[i].get();
    }
    return sha256_hex(lines);
  }

  void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
            std::uint8_t* labels) const override {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const std::uint64_t index = split == Split::kTrain ? 1 + i / images_per_file_ : 6;
      const std::uint8_t* record = file(index)->bytes.get() + i % images_per_file_ * kRecord;
      *labels++ = record[0];
      std::memcpy(images, record + 1, kRecord - 1);
      images += kRecord - 1;
    }
  }

 private:
  static void check_labels(const SourceFile& file) {
    for (std::size_t offset = 0; offset < file.size; offset += kRecord) {
      if (file.bytes[offset] >= kClasses) {
        throw fault_at(file.where, offset, "label " + std::to_string(file.bytes[offset]),
                       "a label of 0 to 9");
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
    digest_lines_[index] = std::async(std::launch::async, hash).share();
    return current_;
  }

  const ReadFile read_file_;
  const std::uint64_t images_per_file_;
  DatasetInfo info_;
  mutable FilePtr current_;
  mutable std::size_t current_index_ = 0;
  mutable std::array<std::shared_future<std::string>, kFiles.size()> digest_lines_;
};

SourceFile read_member(ByteStream& stream, std::size_t index, std::uint64_t images_per_file) {
  if (index > 0) return read_exactly(stream, kFiles[index], images_per_file * kRecord);
  std::vector<std::uint8_t> meta(kMaxMeta);
  meta.resize(stream.read(meta.data(), meta.size()));
  return read_exactly(stream, kFiles[0], meta.size(), meta);
}

std::unique_ptr<ImageSource> open_folder(const std::string& folder, std::uint64_t images_per_file) {
  for (const char* name : kFiles) open_byte_stream(folder + "/" + name);  // that none is missing
  const auto read_file = [folder, images_per_file](std::size_t index) {
    const auto stream = open_byte_stream(folder + "/" + kFiles[index]);
    return std::make_shared<const SourceFile>(read_member(*stream, index, images_per_file));
  };
  return std::make_unique<Cifar10>(read_file, images_per_file);
}

// An archive has its members in any order, so they wait in a file without a name and not in memory.
class Spool {
 public:
  Spool() : file_(open_nameless()) {}

  bool holds(std::size_t index) const { return members_[index].size > 0; }
  void put(std::size_t index, SourceFile member) {
    offsets_[index] = end_;
    file_.write_at(end_, member.bytes.get(), member.size);
    end_ += member.size;
    member.bytes.reset();
    members_[index] = std::move(member);
  }
  std::shared_ptr<const SourceFile> get(std::size_t index) const {
    const SourceFile& member = members_[index];
    auto file = std::make_shared<SourceFile>();
    file->name = member.name;
    file->where = member.where;
    file->size = member.size;
    file->bytes = std::make_unique<std::uint8_t[]>(member.size);
    file_.read_at(offsets_[index], file->bytes.get(), member.size);
    return file;
  }

 private:
  static File open_nameless() {
    const std::string folder = std::filesystem::temp_directory_path();
    std::string path = folder + "/tandem-pack-XXXXXX";
    const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0) {
      throw CannotCreateError(folder + ": a temporary file cannot be made there: " +
                              std::strerror(errno) + "; set TMPDIR to a writable folder");
    }
    ::unlink(path.c_str());
    return File(descriptor, path);
  }

  File file_;
  std::uint64_t end_ = 0;
  std::array<SourceFile, kFiles.size()> members_;  // without their bytes
  std::array<std::uint64_t, kFiles.size()> offsets_{};
};

std::shared_ptr<const Spool> read_archive(const std::string& path, std::uint64_t images_per_file) {
  auto spool = std::make_shared<Spool>();
  TarReader archive(open_byte_stream(path));
  while (archive.next()) {
    const std::filesystem::path member(archive.name());
    const std::string name = member.filename().string();
    if (name == kPythonFile) throw python_form_error(path);
    const auto* const found = std::find(kFiles.begin(), kFiles.end(), name);
    if (found == kFiles.end() || member.parent_path().filename() != kBinaryFolder) continue;
    const auto index = static_cast<std::size_t>(found - kFiles.begin());
    if (spool->holds(index)) {
      throw DataError(archive.where() + ": is there twice, once is expected");
    }
    spool->put(index, read_member(archive, index, images_per_file));
  }
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    if (!spool->holds(i)) {
      throw DataError(path + ": has no member " + kBinaryFolder + "/" + kFiles[i] +
                      "; CIFAR-10's cifar-10-binary.tar.gz is expected");
    }
  }
  return spool;
}

}  // namespace

bool looks_like_cifar10(const std::string& path) {
  if (!is_folder(path)) return describe_file(path) == "gzip data";
  const std::string binary = path + "/" + kBinaryFolder;
  const std::string python = path + "/" + kPythonFolder;
  return holds_binary_form(path) || holds_binary_form(binary) || holds_python_form(path) ||
         holds_python_form(python);
}

std::unique_ptr<ImageSource> open_cifar10(const std::string& path, std::uint64_t images_per_file) {
  if (!is_folder(path)) {
    const auto spool = read_archive(path, images_per_file);
    const auto read_file = [spool](std::size_t index) { return spool->get(index); };
    return std::make_unique<Cifar10>(read_file, images_per_file);
  }
  for (const std::string& folder : {path, path + "/" + kBinaryFolder}) {
    if (holds_binary_form(folder)) {
      return open_folder(folder, images_per_file);
    }
  }
  for (const std::string& folder : {path, path + "/" + kPythonFolder}) {
    if (holds_python_form(folder)) throw python_form_error(folder);
  }
  throw MissingInputError(path + ": holds no " + kFiles[1] + " and no folder " + kBinaryFolder +
                          "; give the folder into which CIFAR-10 was unpacked");
}

}  // namespace tandem::data
