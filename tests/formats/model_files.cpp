// Writes model files for Python to check, and compares those that Python wrote.
//   model_files write FOLDER     NAME.pth, NAME.safetensors and NAME.example.safetensors (images
//   and logits) for every
//                                network and data set shape
//   model_files compare FOLDER   NAME.python.safetensors must hold the weights of NAME.safetensors
#include <filesystem>
#include <iostream>

#include "tandem/core/error.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/model/pth_file.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/safetensors.hpp"
#include "tandem/model/state_dict.hpp"

namespace {

using namespace tandem::model;

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kImages = 16;

struct Case {
  std::string network;
  InputShape shape;
  std::string shape_text;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& name : network_names()) {
    // Large files of the same layers; PublishedNetworks compares their logits.
    if (name == "resnet34" || name == "resnet50" || name == "vit-small") continue;
    all.push_back({name, {3, 32, 32}, "3x32x32"});
    all.push_back({name, {1, 28, 28}, "1x28x28"});
  }
  return all;
}

std::string stem_of(const std::filesystem::path& folder, const Case& one) {
  return (folder / (one.network + "-" + one.shape_text)).string();
}

// Filters in channels-last, as in training: files must not depend on it.
void to_channels_last(torch::nn::Module& module) {
  for (torch::Tensor& parameter : module.parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.detach().contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

void write(const std::filesystem::path& folder, const Case& one) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  const NetworkPtr network = make_network(one.network, one.shape, kClasses);
  to_channels_last(*network);
  const auto random_images = [&one] {
    return torch::randn({kImages, one.shape.channels, one.shape.height, one.shape.width})
        .contiguous(torch::MemoryFormat::ChannelsLast);
  };
  network->forward(random_images());  // moves BatchNorm's statistics away from 0 and 1
  network->eval();
  const torch::Tensor images = random_images();
  const torch::Tensor logits = network->forward(images);

  const std::string stem = stem_of(folder, one);
  write_pth(stem + ".pth", state_dict(*network));
  write_safetensors(stem + ".safetensors", state_dict(*network),
                    {{"model", one.network},
                     {"input_shape", one.shape_text},
                     {"classes", std::to_string(kClasses)},
                     {"weights_sha256", weights_sha256(*network)}});
  write_safetensors(stem + ".example.safetensors",
                    {{"images", images, false}, {"logits", logits, false}});
}

std::string sha256_of(const std::string& path, const Case& one) {
  const NetworkPtr network = make_network(one.network, one.shape, kClasses);
  load_state_dict(*network, read_safetensors(path).tensors);
  return weights_sha256(*network);
}

void compare(const std::filesystem::path& folder, const Case& one) {
  const std::string stem = stem_of(folder, one);
  const std::string ours = sha256_of(stem + ".safetensors", one);
  const std::string theirs = sha256_of(stem + ".python.safetensors", one);
  if (ours != theirs) {
    throw tandem::DataError(stem + ": weights differ, " + ours + " from tandem, " + theirs +
                            " from Python");
  }
  std::cout << stem << ": " << ours << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string action = argc == 3 ? argv[1] : "";
  if (action != "write" && action != "compare") {
    std::cerr << "usage: model_files write|compare FOLDER\n";
    return 2;
  }
  try {
    std::filesystem::create_directories(argv[2]);
    for (const Case& one : cases()) {
      action == "write" ? write(argv[2], one) : compare(argv[2], one);
    }
  } catch (const std::exception& error) {
    std::cerr << "model_files: " << error.what() << "\n";
    return 1;
  }
}
