// Labeled images before they are packed: a published form on disk, or the generator of the built-in
// data set. One thread per object. Throws MissingInputError, IoError, UsageError; DataError naming
// file, offset, found and expected.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/pictures/broken_files.hpp"
#include "tandem/core/random.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  // Name, classes, shape and counts; the rest is the packer's to fill in. Every label is below the
  // number of classes.
  virtual const DatasetInfo& info() const = 0;
  // Whether labels may be above 255. Version 1 of the packed file cannot hold them.
  virtual bool has_wide_labels() const { return false; }
  // Call it after everything was read. Throws BrokenFilesError if some files could not be read.
  virtual void require_whole() const {}
  // The files that were left out, sorted by their paths within the input.
  virtual BrokenFiles skipped_files() const { return {}; }
  // May wait until it has been computed.
  virtual std::string source_sha256() = 0;
  // Images [first, first + count) of a split: count * pixels() bytes in NCHW order, count labels.
  virtual void read(Split split, std::uint64_t first, std::uint64_t count, std::uint8_t* images,
                    Label* labels) const = 0;
};

// About how many bytes a packer requests in one call of read(). They hold enough pictures for many
// threads.
constexpr std::uint64_t kReadBytes = std::uint64_t{16} << 20;

// Reads CIFAR-10 and CIFAR-100 in their published binary form, from a folder or from the published
// archive. A record has one label byte (CIFAR-100: coarse, then fine) and 3x32x32 pixels. CIFAR-100
// gets its 100 fine labels. Holds one file in memory (30 or 154 MB).
//
// source_sha256 is the SHA-256 of the output of sha256sum for batches.meta.txt, data_batch_1.bin to
// data_batch_5.bin and test_batch.bin, or for fine_label_names.txt, train.bin and test.bin. Folder
// and archive of the same files give the same value.
constexpr std::uint64_t kCifarTestImages = 10'000;  // a fifth of the training images

// True for a folder that holds the data set in the binary or the Python form, or a subfolder by its
// published name that does. Of archives, those whose first file is of CIFAR-100 are that, and all
// other gzip data is taken for CIFAR-10, whose reader names the fault.
bool looks_like_cifar10(const std::string& path);
bool looks_like_cifar100(const std::string& path);

// `path`: the folder of the files, the folder around it, or the archive. The Python (pickle) form
// is refused with what to do instead. Other numbers of test images, with five times as many for
// training, are for tests.
std::unique_ptr<ImageSource> open_cifar10(const std::string& path,
                                          std::uint64_t test_images = kCifarTestImages);
std::unique_ptr<ImageSource> open_cifar100(const std::string& path,
                                           std::uint64_t test_images = kCifarTestImages);

// Reads MNIST and the sets published in its form (Fashion-MNIST, KMNIST): four IDX files, plain or
// gzip, which it holds in memory.
//
// source_sha256 is the SHA-256 of the output of `sha256sum` for the four uncompressed files under
// the names train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte, in this order.
//
// True for a folder that holds at least one of the four files, or whose subfolder `raw` does.
bool looks_like_mnist(const std::string& path);

// `path`: the folder of the four files, or the folder around a folder `raw` of them. Where a file
// is there both plain and compressed, the plain one is read. Labels must be below the number of
// `classes`; none given means the ten digits.
std::unique_ptr<ImageSource> open_mnist(const std::string& path, std::vector<std::string> classes);

// Reads a data set from an .npz file of numpy.savez or savez_compressed. Holds the uncompressed
// arrays in memory.
//
// Array names: train_images, train_labels, test_images, test_labels (as in MedMNIST); or x_train,
// y_train, x_test, y_test (as in Keras); or images and labels. Without test arrays a share of the
// images becomes the test set. Other arrays are ignored. Images are uint8 [N, H, W], [N, H, W, C]
// or [N, C, H, W] with 1 or 3 channels, labels are integers [N] or [N, 1] from 0. source_sha256 is
// the SHA-256 of the output of sha256sum for the .npy members, in the order above.
struct NpzOptions {
  std::vector<std::string> classes;  // none: the numbers from 0 to the largest label
  double test_split = 0;   // share of each class that becomes the test set; 0: there is one already
  std::uint64_t seed = 0;  // decides which
};

// True for a zip archive whose name ends in .npz.
bool looks_like_npz(const std::string& path);
// Whether it has arrays for testing. False for a damaged file.
bool npz_has_test_set(const std::string& path);
std::unique_ptr<ImageSource> open_npz(const std::string& path, const NpzOptions& options);

// A data set of PNG and JPEG files, with a folder for each class. Pictures are decoded on request,
// on several threads of its own. The layout is that of class_folders.hpp. fit_picture() makes the
// images. source_sha256 is the SHA-256 of the output of sha256sum for all files, by paths relative
// to the folder, sorted by bytes.
struct ImageFolderOptions {
  int height = 0;          // 0: that of all pictures, which then must be the same
  int width = 0;           // likewise
  int channels = 0;        // 0: 1 where every picture is gray, else 3
  double test_split = 0;   // share of each class that becomes the test set; 0: there is one already
  std::uint64_t seed = 0;  // decides which
  bool skip_broken = false;  // pack the others; else they are a BrokenFilesError
  int threads = 1;
  std::function<void()> check = [] {};  // called between files; throws to end the work
};

// True where a folder in `path`, or in `path`/train, holds a picture.
bool looks_like_image_folder(const std::string& path);

// Looks at the header of every file, so that files that are no pictures are named at once; with
// `skip_broken` decodes every picture.
std::unique_ptr<ImageSource> open_image_folder(const std::string& path,
                                               const ImageFolderOptions& options);

// The built-in data set: ten classes of drawn shapes on 3x32x32 pixels, with random colors,
// position, size, slant, rotation, an occluding bar and noise. Throws UsageError for an impossible
// number of images.
//
// An image is a pure function of (seed, split, index), the same bits on every machine: only
// integers and correctly rounded operations (+ - * /) draw it. Image i shows class i modulo 10.
//
// `images` training images, at most 10 million, and a fifth as many test images, at least 64.
std::unique_ptr<ImageSource> make_synthetic(std::uint64_t images, std::uint64_t seed);
constexpr std::array<const char*, 10> kShapeNames = {
    "disc", "ring", "square", "triangle", "cross", "star", "bar", "crescent", "chevron", "dots"};
// Name, classes and counts of a set of such figures. Throws as make_synthetic() does.
DatasetInfo synthetic_info(std::uint64_t images);
// Whether the point belongs to figure `shape` (an index into kShapeNames), which fills about
// [-1, 1] x [-1, 1]; x grows to the right, y downwards.
bool shape_contains(int shape, float x, float y);
// A random number, uniform from `low` to `high`.
float random_between(CounterRandom& random, float low, float high);

}  // namespace tandem::data
