// tandem pack: a published data set, or the built-in one, into a packed file.
#include "tandem/app/commands.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/limits.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::app {
namespace {

int run_pack(const Arguments& arguments) {
  Options options = resolve_alone(pack_command(), arguments, false);
  data::PackRequest request;
  options.require("input");
  options.require("output");
  request.input = options.text("input");
  request.output = options.text("output");
  request.format = options.choice("format", {"auto", "cifar10", "mnist", "synthetic"});
  request.name = options.text("name");
  request.classes_file = options.text("classes");
  request.images = options.count("images", 1, data::kMaxImages);
  request.seed = options.count("seed", 0, std::uint64_t{1} << 62);
  const bool is_synthetic = request.input == "synthetic" || request.format == "synthetic";
  for (const char* name : {"images", "seed"}) {
    if (!is_synthetic && options.value(name).origin != Origin::kDefault) {
      options.add_fault("--" + std::string(name) + " is for --input synthetic only");
    }
  }
  options.throw_faults("pack");

  const data::DatasetInfo info = data::pack(request);
  print_line(request.output + ": " + info.name + ", " +
             format_count(static_cast<std::int64_t>(info.train_count)) + " train and " +
             format_count(static_cast<std::int64_t>(info.test_count)) + " test images of " +
             info.shape.text() + ", digest " + info.digest.substr(0, 16));
  return 0;
}

}  // namespace

Command pack_command() {
  const std::string default_images = std::to_string(data::kDefaultSyntheticImages);
  return {"pack",
          "--input PATH --output FILE.h5",
          "pack CIFAR-10, MNIST or the built-in data set into HDF5",
          "tandem pack --input synthetic --output synthetic.h5",
          {{"input", "PATH", "",
            "folder or .tar.gz as published, or the word synthetic for the built-in set", "input"},
           {"format", "NAME", "auto", "auto, cifar10, mnist, synthetic", "input"},
           {"name", "NAME", "", "of the data set, such as fashion-mnist", "input"},
           {"classes", "FILE", "", "names of the classes, one a line", "input"},
           {"images", "N", default_images, "training images of the built-in set", "input"},
           {"seed", "N", "0", "of the built-in set", "input"},
           {"output", "FILE.h5", "", "appears only when it is complete", "output"}},
          run_pack,
          nullptr};
}

}  // namespace tandem::app
