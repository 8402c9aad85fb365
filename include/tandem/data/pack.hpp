// Converts a data set in a published form, a folder of images or the built-in set to a packed file.
// One call at a time in a process; SIGINT, SIGTERM, SIGHUP and SIGUSR1 end it cleanly. Throws
// UsageError, MissingInputError, DataError, CannotCreateError, IoError; Error 128 + n after signal
// n. On an error an older output is unchanged, and no file is left behind but the list of broken
// files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/touch.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

constexpr std::uint64_t kDefaultSyntheticImages = 20'000;

// Content of a set: pixels, all of one size, or picture files as they are.
enum class Store { kPixels, kEncoded };
// Check of a picture before it is packed: decode it, or only check its structure.
enum class PictureCheck { kDecode, kStructure };
// The default height and width of a set of picture files.
constexpr int kDefaultPictureSide = 224;

struct PackRequest {
  // A folder, an archive, a list, the word "synthetic", or a pattern of archives (WebDataset's).
  std::string input;
  std::string output;
  std::string format = "auto";                     // or one of pack_formats()
  std::string name;                                // empty: that of the format
  std::string classes_file;                        // one class a line; empty: those of the format
  std::string test_input = {};                     // for lists and archives: the test set
  std::uint64_t images = kDefaultSyntheticImages;  // of the built-in data set
  double test_split = 0;   // of pictures and npz: share that becomes the test set; 0: none
  std::uint64_t seed = 0;  // of the built-in data set, and of that share
  int height = 0;          // of images; 0: that of all pictures
  int width = 0;           // likewise
  int channels = 0;        // of images; 0: 1 where every picture is gray, else 3
  // For files of pictures: leave broken files out, and list them in the data set and at
  // broken_list_path(). Otherwise they are a DataError, and also listed at that path.
  bool skip_broken = false;
  Store store = Store::kPixels;
  // Called often, on any thread, also while no picture is packed. May be empty.
  Touch touch = nullptr;
  bool multi_label = false;  // any number of classes; for lists and synthetic, encoded
  // The rest is for sets of picture files. A reader resizes to `height` and `width`.
  PictureCheck picture_check = PictureCheck::kDecode;
  bool keep_order = false;  // else pictures are in an order drawn by `seed`
  int threads = 0;          // 0: as many as suit the machine
  std::uint64_t files = 0;  // of the set, written by SetPacking; 0: one, by pack()
  // Called after each picture with the number of packed pictures and the number of all pictures.
  std::function<void(std::uint64_t done, std::uint64_t all)> on_progress = nullptr;
};

// "OUTPUT.broken.txt": a line that is its mark, then a line "path<TAB>reason" for each broken file.
// pack() replaces or removes only a file with that mark.
std::string broken_list_path(const std::string& output);

// cifar10, cifar100, images, list, mnist, npz, synthetic and webdataset.
std::vector<std::string> pack_formats();

// The output appears under its name, sealed and durable, only when it is complete. Equal input
// gives equal bytes.
DatasetInfo pack(const PackRequest& request);

}  // namespace tandem::data
