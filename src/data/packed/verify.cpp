#include "tandem/data/verify.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "data/pictures/moments.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/packed_set.hpp"
#include "user_block.hpp"

namespace tandem::data {
namespace {

constexpr std::uint64_t kBytesAtOnce = std::uint64_t{8} << 20;

// Reads all images of a split, which tests the checksum of every chunk.
Moments read_split(const PackedFile& file, Split split) {
  const DatasetInfo& info = file.info();
  const std::uint64_t pixels = info.shape.pixels();
  const std::uint64_t block = std::max<std::uint64_t>(kBytesAtOnce / pixels, 1);
  std::vector<std::uint8_t> images(block * pixels);
  std::vector<Label> labels(block);
  Moments moments(info.shape);
  for (std::uint64_t first = 0; first < info.count(split); first += block) {
    const std::uint64_t count = std::min(block, info.count(split) - first);
    file.read(split, first, {images.data(), count * pixels}, {labels.data(), count});
    moments.add(images.data(), count);
  }
  return moments;
}

constexpr mode_t kPermissions = 07777;
constexpr double kFloat32Tolerance = 1e-5;
constexpr double kDecoderTolerance = 1.0 / 255;  // another library may decode a level apart

void compare(const std::string& path, const char* attribute, const std::vector<double>& stated,
             const std::vector<double>& found, double tolerance = kFloat32Tolerance) {
  for (std::size_t channel = 0; channel < stated.size(); ++channel) {
    if (std::abs(stated[channel] - found[channel]) <= tolerance) continue;
    throw DataError(path + ": attribute " + attribute + "[" + std::to_string(channel) + "] is " +
                    format_real(stated[channel]) + ", the training images give " +
                    format_real(found[channel]));
  }
}

// Of a multi-label set: the images that have the class.
void count_classes(const PackedFile& file, Split split, std::vector<std::uint64_t>& per_class) {
  if (file.info().multi_label) {
    const std::uint64_t classes = per_class.size();
    const std::uint64_t rows = std::max<std::uint64_t>(kBytesAtOnce / classes, 1);
    std::vector<std::uint8_t> targets;
    for (std::uint64_t first = 0; first < file.info().count(split); first += rows) {
      targets.resize(std::min(rows, file.info().count(split) - first) * classes);
      file.read_targets(split, first, targets);
      for (std::size_t i = 0; i < targets.size(); ++i) per_class[i % classes] += targets[i];
    }
    return;
  }
  for (const Label label : file.labels(split)) ++per_class[label];
}

// For a set of picture files: verifies every byte and decodes a sample of the pictures.
Moments read_files(const PackedFile& file) {
  file.prove_pictures();
  const DatasetInfo& info = file.info();
  const auto read = [&](std::uint64_t index, std::uint8_t* image) {
    Label label = 0;
    try {
      file.read(Split::kTrain, index, {image, info.shape.pixels()}, {&label, 1});
      return true;
    } catch (const DataError&) {  // proven above, so it is as it was packed
      return false;
    }
  };
  const auto moments = sample_moments(info.train_count, info.shape, 1, read);
  file.require_unchanged();  // or a picture that was replaced would count as one without pixels
  if (moments) return *moments;
  throw DataError(file.where(Split::kTrain) +
                  ": no picture of a sample can be decoded; pack it "
                  "again with --check decode");
}

// Adds what the file holds to the report.
void verify_file(const PackedFile& file, VerifyReport& report) {
  const DatasetInfo& info = file.info();
  count_classes(file, Split::kTrain, report.train_per_class);
  count_classes(file, Split::kTest, report.test_per_class);
  if (info.is_encoded()) {
    const Moments moments = read_files(file);
    compare(file.path(), "mean", info.mean, moments.mean(), kDecoderTolerance);
    compare(file.path(), "std", info.std, moments.std(), kDecoderTolerance);
    return;
  }
  const Moments moments = read_split(file, Split::kTrain);
  read_split(file, Split::kTest);
  compare(file.path(), "mean", info.mean, moments.mean());
  compare(file.path(), "std", info.std, moments.std());
}

}  // namespace

VerifyReport verify_dataset(const std::string& path) {
  const PackedSet set(path, {}, PackedSet::Parts::kOne);
  VerifyReport report;
  report.info = set.info();
  report.file_bytes = set.file_bytes();
  report.train_per_class.assign(report.info.classes.size(), 0);
  report.test_per_class.assign(report.info.classes.size(), 0);
  for (const PackedFile& file : set.files()) verify_file(file, report);
  return report;
}

bool seal(const std::string& path) {
  const InterruptGuard interrupts;
  const DatasetInfo proven = verify_dataset(path).info;
  if (proven.sealed) return false;
  // A pattern may name the file, and a link stays one.
  const std::string name = packed_paths(path).front();
  const File input = File::open_for_reading(name);
  struct stat status {};
  AtomicFile output(std::filesystem::canonical(name));
  if (::fstat(input.descriptor(), &status) != 0 ||
      ::fchmod(output.file().descriptor(), status.st_mode & kPermissions) != 0) {
    throw IoError(name + ": its permissions cannot be kept: " + errno_text());
  }
  const std::string room(kUserBlockBytes, '\0');
  output.write(room);
  Sha256 digest;
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uint64_t length = 0;
  while (const std::size_t got = input.read_at(length, buffer.data(), buffer.size())) {
    interrupts.check();
    digest.update(buffer.data(), got);
    output.file().write(buffer.data(), got);
    length += got;
  }
  const UserBlock seal{length, digest.finish(), 1, 0};
  if (seal.sha256 != proven.digest) {
    throw DataError(path + ": changed while it was sealed; it is left as it was");
  }
  const std::string block = encode_user_block(seal);
  output.file().write_at(0, block.data(), block.size());
  output.commit();
  return true;
}

std::string unsealed_warning(const std::string& path) {
  return path + " has no seal, so damage to it cannot be noticed; tandem verify --seal " + path +
         " adds one";
}

}  // namespace tandem::data
