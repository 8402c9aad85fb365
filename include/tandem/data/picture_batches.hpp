// Picture files as normalized batches, decoded by several threads ahead of the consumer. Call
// next() on one thread at a time; a background thread reads the list of files. next() rethrows
// errors that do not belong to a single file, such as those of the list.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/data/augment.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/fit_picture.hpp"

namespace tandem::data {

struct PictureBatch {
  struct Fault {
    ExitCode code;
    std::string message;
  };

  std::vector<std::string> files;
  std::unique_ptr<float[]> images;           // one for each file; zeros for one that cannot be read
  std::vector<std::optional<Fault>> faults;  // by file
  std::size_t turned = 0;                    // files with an EXIF orientation that is not upright

  std::size_t size() const { return files.size(); }
};

// Returns the next path; absent after the last one.
using NextFile = std::function<std::optional<std::string>()>;

class PictureBatches {
 public:
  // Batches of `size` files but for the last. Pictures become images by fit_picture(), and
  // `transform`, which is for the same shape, normalizes them.
  PictureBatches(NextFile next_file, ImageShape shape, Transform transform, std::size_t size,
                 int threads, Fitting fitting = {Orientation::kAsStored, Fit::kStretch});
  // Waits for the current pictures and the current line of the list, not for a whole batch.
  ~PictureBatches();
  PictureBatches(const PictureBatches&) = delete;
  PictureBatches& operator=(const PictureBatches&) = delete;

  // In the order of the list; absent after the last one. An error of the list is thrown after its
  // earlier files.
  std::optional<PictureBatch> next();

 private:
  struct Made {
    PictureBatch batch;
    std::exception_ptr failure;  // of the list, after the files of the batch
  };
  Made make();
  // Both return the result of fit_file().
  bool decode(PictureBatch& batch, std::size_t index);
  bool read_image(const std::string& path, float* image);

  const NextFile next_file_;
  const ImageShape shape_;
  const Transform transform_;
  const std::size_t size_;
  const int threads_;
  const Fitting fitting_;
  MemoryBudget budget_{kMemoryForPictures};
  std::exception_ptr failure_;  // to be told after the batch that was given last
  std::atomic<bool> given_up_{false};
  std::future<Made> ahead_;
};

}  // namespace tandem::data
