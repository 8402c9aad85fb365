#include "foreign_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "class_folders.hpp"
#include "data/files/archive_reader.hpp"
#include "data/files/byte_stream.hpp"
#include "data/pixel_sources/image_source.hpp"
#include "list_file.hpp"
#include "tandem/core/durable.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;

// Enough to tell the kind without reading a large data set.
constexpr int kPicturesLookedAt = 64;
constexpr int kMembersLookedAt = 64;
constexpr std::size_t kEndOfZip = 1 << 16;
constexpr char kGeneric[] =
    "a data set packed by 'tandem pack --input FOLDER --output FILE.h5' was expected";
constexpr char kAskedForPacked[] = ", a packed data set was expected; ";

// "pets" of "data/pets/", "cifar" of "cifar.tar.gz".
std::string stem_of(const std::string& path) {
  std::string name = fs::path(path + "/.").lexically_normal().parent_path().filename();
  for (const std::string_view ending :
       {".tar.gz", ".tgz", ".tar", ".gz", ".npz", ".h5", ".csv", ".tsv"}) {
    if (name.size() > ending.size() && ends_with(name, ending)) {
      name.resize(name.size() - ending.size());
    }
  }
  return name.empty() || name == "." || name == ".." ? "dataset" : name;
}

std::string pack_command_for(const std::string& input, const std::string& options = "") {
  return "tandem pack --input " + shell_word(input) + options + " --output " +
         shell_word(stem_of(input) + ".h5");
}

// Whether the first pictures that are found differ in size.
bool pictures_differ(const std::string& folder) {
  std::optional<PictureExtent> first;
  int left = kPicturesLookedAt;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && left > 0 && entry != fs::recursive_directory_iterator();
       entry.increment(error)) {
    if (!is_picture_name(entry->path())) continue;
    --left;
    try {
      const PictureExtent extent = read_picture_extent(entry->path());
      if (!first) first = extent;
      if (extent.height != first->height || extent.width != first->width) return true;
    } catch (const Error&) {  // pack names it
    }
  }
  return false;
}

std::string options_for_pictures(const std::string& folder) {
  const bool has_test = holds_class_folders(folder + "/train") &&
                        (is_folder(folder + "/test") || is_folder(folder + "/val"));
  return std::string(has_test ? "" : " --test-split 0.2") +
         (pictures_differ(folder) ? " --size 64x64" : "");
}

// The pictures and labels among the first members of a tar archive.
struct ArchivedPictures {
  std::string folder;       // that pictures unpack to; empty if there are none
  bool has_labels = false;  // beside pictures, as in WebDataset's archives
};

ArchivedPictures look_into_archive(const std::string& path) {
  ArchivedPictures found;
  try {
    ArchiveReader archive(open_byte_stream(path));
    for (int i = 0; i < kMembersLookedAt && archive.next(); ++i) {
      const std::string& name = archive.name();
      found.has_labels = found.has_labels || ends_with(name, ".cls") || ends_with(name, ".json") ||
                         ends_with(name, ".txt");
      if (found.folder.empty() && is_picture_name(name)) {
        found.folder = fs::path(name).begin()->string();
      }
    }
  } catch (const DataError&) {  // no archive, or a damaged one
  }
  return found;
}

// "is …; pack it: COMMAND" for a form that pack reads.
std::optional<std::string> raw_form(const std::string& path) {
  const auto is = [](const std::string& what, const std::string& command) {
    return what + kAskedForPacked + "pack it: " + command;
  };
  if (is_folder(path) && holds_class_folders(path)) {
    return is("a folder of pictures", pack_command_for(path, options_for_pictures(path)));
  }
  if (looks_like_npz(path)) {
    return is("an .npz file of numpy",
              pack_command_for(path, npz_has_test_set(path) ? "" : " --test-split 0.2"));
  }
  if (looks_like_mnist(path)) return is("a folder in MNIST's form", pack_command_for(path));
  if (path.find("-ubyte") != std::string::npos && !is_folder(path)) {
    const std::string folder = folder_of(path);
    if (looks_like_mnist(folder)) return is("one of MNIST's four files", pack_command_for(folder));
  }
  if (looks_like_cifar100(path))
    return is("CIFAR-100 in its published form", pack_command_for(path));
  if (looks_like_list(path)) {
    return is("a list", pack_command_for(path, " --store encoded --test-split 0.2"));
  }
  const bool is_tar = ends_with(path, ".tar") && is_regular_file(path) && !is_gzip_file(path);
  if (!is_tar && !looks_like_cifar10(path)) return std::nullopt;
  if (is_folder(path)) return is("CIFAR-10 in its published form", pack_command_for(path));
  const ArchivedPictures archived = look_into_archive(path);
  if (is_tar && !archived.folder.empty() && archived.has_labels) {
    return is("an archive of pictures and labels",
              pack_command_for(path, " --store encoded --test-split 0.2"));
  }
  if (!archived.folder.empty()) {
    return is("an archive of pictures",
              "tar -xf " + shell_word(path) + " && " + pack_command_for(archived.folder));
  }
  if (is_tar) return std::nullopt;
  return is("gzip data", pack_command_for(path));
}

// PyTorch's files are zip archives. The end of one lists its members.
std::string zip_form(const File& file) {
  const std::string& path = file.path();
  const std::uint64_t size = file.size();
  std::string end(std::min<std::uint64_t>(size, kEndOfZip), '\0');
  end.resize(file.read_at(size - end.size(), end.data(), end.size()));
  const auto holds = [&](std::string_view name) { return end.find(name) != std::string::npos; };
  if (!holds("/data.pkl")) return std::string("a zip archive, ") + kGeneric;
  if (holds("/constants.pkl")) {
    return std::string("a TorchScript network") + kAskedForPacked +
           "train it: tandem train --model " +
           shell_word(path.find('/') == std::string::npos ? "./" + path : path) +
           " --data FILE.h5; in Python torch.jit.load() reads it";
  }
  return std::string("a file of PyTorch's torch.save()") + kAskedForPacked +
         "in Python torch.load() reads it; tandem reads the run folder or model.safetensors that "
         "it was written from, or what python/to_safetensors.py makes of it";
}

bool is_of_run(const std::string& folder) {
  return file_exists(folder + "/manifest.json") || file_exists(folder + "/config.ini");
}

std::string file_form(const std::string& path) {
  const File file = File::open_for_reading(path);
  const std::string described = describe_file(path);
  if (is_zip_file(path)) return zip_form(file);
  if (ends_with(described, " picture")) {
    return described + kAskedForPacked + "classify it: tandem predict --checkpoint RUN " +
           shell_word(path) + "; tandem pack takes folders of pictures";
  }
  if (ends_with(path, ".safetensors")) {
    return std::string("a file of tensors") + kAskedForPacked +
           "as a model it is evaluated by tandem eval --data FILE.h5 --checkpoint " +
           shell_word(path);
  }
  if (ends_with(path, ".json") || ends_with(path, ".jsonl")) {
    const std::string folder = folder_of(path);
    return std::string("a JSON file") + kAskedForPacked +
           (is_of_run(folder) ? "tandem inspect " + shell_word(folder) + " shows its run"
                              : "tandem inspect shows data sets, models and run folders");
  }
  return described + ", " + kGeneric;
}

std::string form_of(const std::string& path) {
  if (is_folder(path) && is_of_run(path)) {
    return std::string("the folder of a run") + kAskedForPacked +
           "evaluate the run: tandem eval --data FILE.h5 --checkpoint " + shell_word(path);
  }
  if (const std::optional<std::string> raw = raw_form(path)) return *raw;
  if (!is_folder(path)) return file_form(path);
  return std::string("a folder that holds no known data set, ") + kGeneric;
}

}  // namespace

DataError not_packed(const std::string& path) { return DataError(path + ": is " + form_of(path)); }

std::string how_to_make(const std::string& path) {
  struct Known {
    const char* name;
    const char* fetch;  // before packing
    const char* input;
  };
  constexpr std::array<Known, 4> kKnown = {{
      {"cifar10", "data/fetch_cifar10.sh && ", "cifar-10-binary.tar.gz"},
      {"cifar100", "curl -O https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz && ",
       "cifar-100-binary.tar.gz"},
      {"mnist", "data/fetch_mnist.sh && ", "mnist"},
      {"synthetic", "", "synthetic"},
  }};
  if (!ends_with(path, ".h5") && file_exists(path + ".h5")) {
    return "; did you mean " + path + ".h5?";
  }
  std::string name;
  for (const char c : to_lower(stem_of(path))) {
    if (c != '-' && c != '_') name += c;
  }
  for (const Known& known : kKnown) {
    if (name != known.name) continue;
    const std::string output = ends_with(path, ".h5") ? path : path + ".h5";
    return std::string("; make it: ") + known.fetch + "tandem pack --input " + known.input +
           " --output " + shell_word(output);
  }
  return "";
}

}  // namespace tandem::data
