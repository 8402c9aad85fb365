#include "pack_source.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "data/files/byte_stream.hpp"
#include "data/files/file_pattern.hpp"
#include "data/files/source_file.hpp"
#include "data/picture_sources/list_file.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

constexpr char kSynthetic[] = "synthetic";
constexpr char kList[] = "list";
constexpr char kWebDataset[] = "webdataset";

struct Format {
  const char* name;
  const char* title;
  bool (*looks_like)(const std::string&);  // null: has no input
};
constexpr std::array<Format, 8> kFormats = {{
    {"cifar10", "CIFAR-10", looks_like_cifar10},
    {"cifar100", "CIFAR-100", looks_like_cifar100},
    {"images", "a folder of pictures for each class", looks_like_image_folder},
    {kList, "a list of pictures", looks_like_list},
    {"mnist", "MNIST", looks_like_mnist},
    {"npz", "numpy's .npz", looks_like_npz},
    {kSynthetic, "the built-in data set", nullptr},
    {kWebDataset, "archives of WebDataset", looks_like_tar},
}};

// The forms with a label beside each picture.
bool is_listed(const std::string& format) { return format == kList || format == kWebDataset; }
// The forms that are files of pictures.
bool has_files(const std::string& format) { return format == "images" || is_listed(format); }

// Whether the input is a packed data set, sealed or not.
bool is_packed(const std::string& input) {
  if (is_folder(input)) return false;
  const std::string beginning = beginning_of(input);
  return begins_with(beginning, kSealBegins) || begins_with(beginning, kHdf5Signature);
}

bool holds_pictures(const std::string& input) {
  if (!is_folder(input)) return false;
  const std::vector<std::string> content = list_folder(input);
  return std::any_of(content.begin(), content.end(), is_picture_name);
}

// A compressed archive is one of CIFAR's, unless files of pictures are wanted.
bool names_archive(const PackRequest& request) {
  const std::string& input = request.input;
  if (is_file_pattern(input)) return true;
  if (request.store != Store::kEncoded || is_folder(input)) return false;
  const std::string name = input.substr(input.rfind('/') + 1);
  return ends_with(name, ".tar") || ends_with(name, ".tgz") ||
         name.find(".tar.") != std::string::npos;
}

std::string recognize(const PackRequest& request) {
  const std::string& input = request.input;
  if (input == kSynthetic) return input;
  if (names_archive(request)) return kWebDataset;
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
  if (holds_pictures(input)) {
    throw DataError(input +
                    ": holds pictures, but no folder of them for each class; move them into "
                    "folders such as " +
                    input + "/cat, or give a list FILE.csv of paths and labels");
  }
  throw DataError(
      input + (is_folder(input) ? ": holds no known data set" : ": is " + describe_file(input)) +
      "; the folder or archive of CIFAR-10's or CIFAR-100's binary form, the folder of "
      "MNIST's four files, a folder with a folder of PNG or JPEG files for each class, "
      "WebDataset's FILE.tar, a list FILE.csv or FILE.tsv of paths and labels, or an .npz file was "
      "expected");
}

// Options of pictures in files and of sets without a test set.
void require_usable_for_files(const PackRequest& request, const std::string& format) {
  if (request.test_split > 0 && !has_files(format) && format != "npz") {
    throw UsageError("--test-split: " + format +
                     " has a test set; it is for pictures and .npz files");
  }
  if (!request.test_input.empty() && !is_listed(format)) {
    throw UsageError("--test-input is for lists and archives of WebDataset; " + format +
                     (format == "images" ? " has a folder test or val beside train"
                                         : " has a test set of its own"));
  }
  if (request.skip_broken && !has_files(format)) {
    throw UsageError("--skip-broken is for files of pictures; of " + format +
                     " all images are packed");
  }
  const bool is_sized = has_files(format) || request.store == Store::kEncoded;
  if ((request.height > 0 && !is_sized) || (request.channels > 0 && !has_files(format))) {
    const bool is_store_at_fault = format == "synthetic" && !is_sized && request.channels == 0;
    throw UsageError("--size and --channels are for files of pictures; images of " + format +
                     " are packed as they are" +
                     (is_store_at_fault ? "; fix: add --store encoded for another --size" : ""));
  }
}

// Options that only some formats support; a request that would be ignored is an error.
void require_usable(const PackRequest& request, const std::string& format) {
  if (!request.classes_file.empty() && format != "mnist" && format != "npz" && !is_listed(format)) {
    throw UsageError("--classes: the classes of " + format +
                     (format == "images" ? " are the names of its folders" : " are fixed") +
                     "; it is for sets in MNIST's form, .npz files, lists and archives");
  }
  const bool has_label_lists = format == kSynthetic || format == kList;
  if (request.multi_label && (!has_label_lists || request.store != Store::kEncoded)) {
    throw UsageError("--multi-label is for lists and --input synthetic, with --store encoded; " +
                     format + " has one label for each image, leave the option out");
  }
  if (request.store == Store::kEncoded && !has_files(format) && format != kSynthetic) {
    throw UsageError("--store encoded is for files of pictures and for --input synthetic; " +
                     format + " has no picture files, leave the option out");
  }
  if (request.store != Store::kEncoded && is_listed(format)) {
    throw UsageError(request.input +
                     ": pictures of a list or of archives are stored as they are; "
                     "add --store encoded");
  }
  require_usable_for_files(request, format);
}

std::vector<std::string> read_classes(const std::string& path) {
  return path.empty() ? std::vector<std::string>() : read_class_names(path);
}

std::string format_of(const PackRequest& request) {
  std::string format = request.format == "auto" ? recognize(request) : request.format;
  require_usable(request, format);
  return format;
}

}  // namespace

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
    const int threads = usable_cpus();
    return open_image_folder(request.input,
                             {request.height, request.width, request.channels, request.test_split,
                              request.seed, request.skip_broken, threads, check});
  }
  throw UsageError("--format: '" + format + "' is unknown, auto, " + join(pack_formats(), ", ") +
                   " are known");
}

std::unique_ptr<EncodedSource> open_encoded_source(const PackRequest& request,
                                                   const std::function<void()>& check) {
  const std::string format = format_of(request);
  if (format == kSynthetic) {
    const auto side = [](int given) { return given > 0 ? given : kDefaultPictureSide; };
    return make_encoded_synthetic(request.images, request.seed, side(request.height),
                                  side(request.width), request.multi_label);
  }
  if (format == "images") {
    return open_encoded_folder(request.input, {request.test_split, request.seed, check});
  }
  const EncodedListOptions options{request.test_input, request.multi_label, request.classes_file,
                                   request.test_split, request.seed,        check};
  return format == kList ? open_encoded_list(request.input, options)
                         : open_encoded_tar(request.input, options);
}

std::vector<std::string> pack_formats() {
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

}  // namespace tandem::data
