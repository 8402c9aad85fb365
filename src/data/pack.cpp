#include "tandem/data/pack.hpp"

#include <fcntl.h>

#include <memory>
#include <utility>
#include <vector>

#include "names.hpp"
#include "packed_writer.hpp"
#include "source_file.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/interrupt.hpp"
#include "tandem/data/cifar10.hpp"
#include "tandem/data/limits.hpp"
#include "tandem/data/mnist.hpp"
#include "tandem/data/user_block.hpp"

namespace tandem::data {
namespace {

constexpr char kSynthetic[] = "synthetic";
constexpr std::uint64_t kMaxClassesFile = 1 << 20;

std::string recognise(const std::string& input) {
  if (input == kSynthetic) return input;
  if (!file_exists(input)) {
    throw MissingInputError(input + ": is not there; check --input");
  }
  const bool cifar10 = looks_like_cifar10(input);
  const bool mnist = looks_like_mnist(input);
  if (cifar10 && mnist) {
    throw UsageError(input + ": holds both CIFAR-10 and MNIST; add --format cifar10 or mnist");
  }
  if (cifar10) return "cifar10";
  if (mnist) return "mnist";
  throw DataError(
      input +
      (is_folder(input) ? ": holds no file of CIFAR-10 or MNIST" : ": is " + describe_file(input)) +
      "; the folder or archive of CIFAR-10's binary form, or the folder of MNIST's four "
      "files, was expected");
}

std::unique_ptr<ImageSource> open_source(const PackRequest& request) {
  const std::string format = request.format == "auto" ? recognise(request.input) : request.format;
  const bool has_classes = !request.classes_file.empty();
  if (has_classes && format != "mnist") {
    throw UsageError("--classes: the classes of " + format +
                     " are fixed; it is for sets in MNIST's form");
  }
  if (format == "cifar10") return open_cifar10(request.input);
  if (format == kSynthetic) return make_synthetic(request.images, request.seed);
  if (format != "mnist") {
    throw UsageError("--format: '" + format +
                     "' is unknown, auto, cifar10, mnist or synthetic is expected");
  }
  std::vector<std::string> classes;
  if (has_classes) {
    classes =
        parse_class_names(read_file(request.classes_file, kMaxClassesFile), request.classes_file);
  }
  return open_mnist(request.input, std::move(classes));
}

void require_variation(const DatasetInfo& info, const std::string& input) {
  for (std::size_t channel = 0; channel < info.std.size(); ++channel) {
    if (info.std[channel] >= kSmallestDeviation) continue;
    throw DataError(input + ": channel " + std::to_string(channel) +
                    " has the same value in all training images, real images were expected");
  }
}

// An older packed file may be replaced, but a slip of the hand must not destroy something else.
void require_replaceable(const std::string& path) {
  if (!file_exists(path) || is_folder(path)) return;
  const File file = File::open_for_reading(path);
  std::array<char, kUserBlockBytes + 8> start{};
  const std::size_t size = file.read_at(0, start.data(), start.size());
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  const std::string_view bytes(start.data(), size);
  if (bytes.substr(0, 8) == kSignature ||
      (size == start.size() && bytes.substr(kUserBlockBytes) == kSignature)) {
    return;
  }
  throw CannotCreateError(path +
                          ": is there already and is no packed data set; choose another --output, "
                          "or remove it first");
}

// Puts the user block before the HDF5 part that the file holds; returns the digest of that part.
std::string seal_in_place(File& file) {
  // Hashing and the disk take turns otherwise: let it begin now what commit() will wait for.
  ::sync_file_range(file.descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE);
  const UserBlock block{file.size() - kUserBlockBytes, sha256_of_file(file, kUserBlockBytes)};
  const std::string bytes = encode_user_block(block);
  file.write_at(0, bytes.data(), bytes.size());
  return block.sha256;
}

}  // namespace

DatasetInfo pack(const PackRequest& request) {
  const InterruptGuard interrupts;
  if (!request.name.empty() && !is_dataset_name(request.name)) {
    throw UsageError("--name: is '" + request.name + "', " + kDatasetNameRule);
  }
  const std::unique_ptr<ImageSource> source = open_source(request);
  require_replaceable(request.output);
  AtomicFile output(request.output);
  DatasetInfo info =
      write_packed(output.temporary_path(), *source, request.name, [&] { interrupts.check(); });
  require_variation(info, request.input);
  info.digest = seal_in_place(output.file());
  info.sealed = true;
  interrupts.check();
  output.commit();
  return info;
}

}  // namespace tandem::data
