// Four IDX files, plain or gzip.
#include "data/pixel_sources/image_source.hpp"
#include "input.hpp"
#include "memory_file.hpp"
#include "read_images.hpp"

using namespace tandem;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFolder folder({"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"});
  const auto files = fuzz::split_files(fuzz::as_text(data, size), 4);
  for (std::size_t i = 0; i < files.size(); ++i) folder.file(i).write(fuzz::make_file(files[i]));
  fuzz::read_or_refuse([] { fuzz::read_images(*data::open_mnist(folder.path(), {})); });
  return 0;
}
