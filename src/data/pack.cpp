#include "tandem/data/pack.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "broken_files.hpp"
#include "encoded_pack.hpp"
#include "encoded_source.hpp"
#include "image_source.hpp"
#include "name_rules.hpp"
#include "packed_writer.hpp"
#include "source_file.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/dataset_info.hpp"
#include "user_block.hpp"
#include "version2_pixels.hpp"

namespace tandem::data {
namespace {

constexpr char kSynthetic[] = "synthetic";
constexpr std::uint64_t kMaxClassesFile = 1 << 20;

// The first line of a list of broken files.
constexpr std::string_view kListMark = "# tandem pack: files that cannot be packed, and why\n";

constexpr char kSealBegins[] = "tandem-dataset";

struct Format {
  const char* name;
  const char* title;
  bool (*looks_like)(const std::string&);  // null: has no input
};
constexpr std::array<Format, 6> kFormats = {{
    {"cifar10", "CIFAR-10", looks_like_cifar10},
    {"cifar100", "CIFAR-100", looks_like_cifar100},
    {"images", "a folder of pictures for each class", looks_like_image_folder},
    {"mnist", "MNIST", looks_like_mnist},
    {"npz", "numpy's .npz", looks_like_npz},
    {kSynthetic, "the built-in data set", nullptr},
}};

// Whether the input is a packed data set, sealed or not.
bool is_packed(const std::string& input) {
  if (is_folder(input)) return false;
  const File file = File::open_for_reading(input);
  char bytes[sizeof kSealBegins - 1] = {};
  file.read_at(0, bytes, sizeof bytes);
  return std::string_view(bytes, sizeof bytes) == kSealBegins || is_unsealed(file);
}

std::string recognize(const std::string& input) {
  if (input == kSynthetic) return input;
  if (!file_exists(input)) {
    throw MissingInputError(input + ": is not there; check --input");
  }
  std::vector<const Format*> found;
  for (const Format& format : kFormats) {
    if (format.looks_like != nullptr && format.looks_like(input)) found.push_back(&format);
  }
  if (found.size() > 1) {
    throw UsageError(input + ": holds both " + found[0]->title + " and " + found[1]->title +
                     "; add --format " + found[0]->name + " or " + found[1]->name);
  }
  if (!found.empty()) return found[0]->name;
  if (is_packed(input)) {
    throw DataError(
        input +
        ": is HDF5, as pack writes it; give it to tandem train --data, or name the files "
        "that it was packed from");
  }
  throw DataError(
      input + (is_folder(input) ? ": holds no known data set" : ": is " + describe_file(input)) +
      "; the folder or archive of CIFAR-10's or CIFAR-100's binary form, the folder of "
      "MNIST's four files, a folder with a folder of PNG or JPEG files for each class, "
      "or an .npz file was expected");
}

// Options that only some formats support; a request that would be ignored is an error.
void require_usable(const PackRequest& request, const std::string& format) {
  const bool is_own = format == "images" || format == "npz";
  if (!request.classes_file.empty() && format != "mnist" && format != "npz") {
    throw UsageError("--classes: the classes of " + format +
                     (format == "images" ? " are the names of its folders" : " are fixed") +
                     "; it is for sets in MNIST's form and .npz files");
  }
  if (request.test_split > 0 && !is_own) {
    throw UsageError("--test-split: " + format +
                     " has a test set; it is for images and .npz files");
  }
  if (request.skip_broken && format != "images") {
    throw UsageError("--skip-broken is for folders of pictures; of " + format +
                     " all images are packed");
  }
  if (request.multi_label && (format != kSynthetic || request.store != Store::kEncoded)) {
    throw UsageError("--multi-label is for --input synthetic with --store encoded; images of " +
                     format + " have one label each, leave the option out");
  }
  const bool is_sized = format == "images" || request.store == Store::kEncoded;
  if (request.store == Store::kEncoded && format != "images" && format != kSynthetic) {
    throw UsageError("--store encoded is for folders of pictures and for --input synthetic; " +
                     format + " has no picture files, leave the option out");
  }
  if ((request.height > 0 && !is_sized) || (request.channels > 0 && format != "images")) {
    throw UsageError("--size and --channels are for folders of pictures; images of " + format +
                     " are packed as they are");
  }
}

std::vector<std::string> read_classes(const std::string& path) {
  if (path.empty()) return {};
  return parse_class_names(read_file(path, kMaxClassesFile), path);
}

std::string format_of(const PackRequest& request) {
  std::string format = request.format == "auto" ? recognize(request.input) : request.format;
  require_usable(request, format);
  return format;
}

std::unique_ptr<ImageSource> open_source(const PackRequest& request,
                                         const std::function<void()>& check) {
  const std::string format = format_of(request);
  if (format == "cifar10") return open_cifar10(request.input);
  if (format == "cifar100") return open_cifar100(request.input);
  if (format == kSynthetic) return make_synthetic(request.images, request.seed);
  if (format == "mnist") return open_mnist(request.input, read_classes(request.classes_file));
  if (format == "npz") {
    return open_npz(request.input,
                    {read_classes(request.classes_file), request.test_split, request.seed});
  }
  if (format == "images") {
    const int threads = static_cast<int>(allowed_cpus().size());
    return open_image_folder(request.input,
                             {request.height, request.width, request.channels, request.test_split,
                              request.seed, request.skip_broken, threads, check});
  }
  throw UsageError("--format: '" + format + "' is unknown, auto, " + join(pack_formats(), ", ") +
                   " are known");
}

std::unique_ptr<EncodedSource> open_encoded_source(const PackRequest& request,
                                                   const std::function<void()>& check) {
  if (format_of(request) == kSynthetic) {
    const auto side = [](int given) { return given > 0 ? given : kDefaultPictureSide; };
    return make_encoded_synthetic(request.images, request.seed, side(request.height),
                                  side(request.width), request.multi_label);
  }
  return open_encoded_folder(request.input, {request.test_split, request.seed, check});
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
                          ": exists already and is not a packed data set; choose another --output, "
                          "or remove it first");
}

bool is_broken_list(const std::string& path) {
  if (!is_regular_file(path)) return false;
  std::string start(kListMark.size(), '\0');
  const File file = File::open_for_reading(path);
  return file.read_at(0, start.data(), start.size()) == start.size() && start == kListMark;
}

// Whether there are broken files shows only at the end.
void require_replaceable_list(const std::string& path) {
  if (!is_regular_file(path) || is_broken_list(path)) return;
  throw CannotCreateError(path +
                          ": exists already and is not a list of broken files; choose another "
                          "--output, or remove it first");
}

void write_broken_list(const std::string& path, const std::string& lines) {
  write_file_atomically(path, std::string(kListMark) + lines);
}

// Puts the user block before the HDF5 part that the file holds; returns the digest of that part.
std::string seal_in_place(File& file) {
  // Hashing and the disk take turns otherwise: let it begin now what commit() will wait for.
  ::sync_file_range(file.descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE);
  const UserBlock block{file.size() - kUserBlockBytes, sha256_of_file(file, kUserBlockBytes), 1, 0};
  const std::string bytes = encode_user_block(block);
  file.write_at(0, bytes.data(), bytes.size());
  return block.sha256;
}

struct Written {
  DatasetInfo info;
  BrokenFiles skipped;
};

Written write_pixels(const PackRequest& request, AtomicFile& output,
                     const std::function<void()>& check, ImageSource& source) {
  const std::string& path = output.temporary_path();
  if (source.has_wide_labels()) {
    DatasetInfo info = write_version2_pixels(output.file(), path, source, request.name, check);
    require_variation(info, request.input);
    return {std::move(info), source.skipped_files()};
  }
  DatasetInfo info = write_packed(path, source, request.name, check);
  require_variation(info, request.input);
  info.digest = seal_in_place(output.file());
  info.sealed = true;
  return {std::move(info), source.skipped_files()};
}

// Lists the skipped files, and gives the output its name.
DatasetInfo publish(const PackRequest& request, AtomicFile& output, Written written,
                    const std::function<void()>& check) {
  check();
  const BrokenFiles& skipped = written.skipped;
  const std::string list = broken_list_path(request.output);
  if (!skipped.empty()) write_broken_list(list, list_of(skipped, request.input));
  const bool is_outdated = skipped.empty() && is_broken_list(list);  // of an earlier attempt
  output.commit();
  if (is_outdated) ::unlink(list.c_str());
  return std::move(written.info);
}

DatasetInfo write_sealed(const PackRequest& request, const std::function<void()>& check) {
  if (request.store == Store::kPixels) {
    const std::unique_ptr<ImageSource> source = open_source(request, check);
    require_replaceable(request.output);
    AtomicFile output(request.output);
    return publish(request, output, write_pixels(request, output, check, *source), check);
  }
  const std::unique_ptr<EncodedSource> source = open_encoded_source(request, check);
  require_replaceable(request.output);
  AtomicFile output(request.output);
  EncodedPacked packed =
      write_encoded(request, *source, output.file(), output.temporary_path(), check);
  require_variation(packed.info, request.input);
  return publish(request, output, {std::move(packed.info), std::move(packed.skipped)}, check);
}

}  // namespace

std::string broken_list_path(const std::string& output) { return output + ".broken.txt"; }

std::vector<std::string> pack_formats() {
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

DatasetInfo pack(const PackRequest& request) {
  const InterruptGuard interrupts;
  if (!request.name.empty() && !is_dataset_name(request.name)) {
    throw UsageError("--name: is '" + request.name + "', " + kDatasetNameRule);
  }
  const std::string list = broken_list_path(request.output);
  require_replaceable_list(list);
  try {
    return write_sealed(request, [&] { interrupts.check(); });
  } catch (const BrokenFilesError& error) {
    std::string listed = "; " + list + " lists them";
    std::string unlisted;
    try {
      write_broken_list(list, list_of(error.files()));
    } catch (const Error& failure) {  // it must not hide the broken files
      listed.clear();
      unlisted = std::string("; the list could not be written: ") + failure.what();
    }
    throw BrokenFilesError(request.input, error.files(),
                           error.addition() + listed + "; repair or remove them" +
                               (request.skip_broken ? "" : ", or add --skip-broken") + unlisted);
  }
}

}  // namespace tandem::data
