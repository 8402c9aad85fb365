// The seven files of CIFAR-10's folder, each with one image instead of 10,000.
#include "data/pixel_sources/image_source.hpp"
#include "input.hpp"
#include "memory_file.hpp"
#include "read_images.hpp"

using namespace tandem;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFolder folder({"batches.meta.txt", "data_batch_1.bin", "data_batch_2.bin",
                                    "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin",
                                    "test_batch.bin"});
  const auto files = fuzz::split_files(fuzz::as_text(data, size), 7);
  for (std::size_t i = 0; i < files.size(); ++i) folder.file(i).write(fuzz::make_file(files[i]));
  fuzz::read_or_refuse([] { fuzz::read_images(*data::open_cifar10(folder.path(), 1)); });
  return 0;
}
