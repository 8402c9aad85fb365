#include "tandem/model/script_network.hpp"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "safetensors_header.hpp"
#include "script_module.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/mark.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/gpu_failure.hpp"
#include "tandem/model/tensor_memory.hpp"

namespace tandem::model {
namespace {

using torch::jit::ObjectPtr;
constexpr std::int64_t kTrialImages = 2;  // BatchNorm takes no single one where it is 1x1

// Runtime errors of TorchScript are tracebacks; the last line is the message.
std::string reason_of(const std::exception& error) {
  return trim(split(trim(message_of(error)), '\n').back());
}

// The interpreter keeps of an exception only what it says.
bool is_out_of_memory(const std::string& message) {
  return message.find("out of memory") != std::string::npos ||
         message.find(kNoTensorMemory) != std::string::npos;
}

std::string sizes_of(const torch::Tensor& tensor) { return c10::str(tensor.sizes()); }

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw DataError(file + ": cannot be trained: " + why);
}

// The tree of a TorchScript module as one of libtorch's modules, with the same names, so that the
// parts that know those know these tensors too.
class ScriptNetwork final : public Network {
 public:
  ScriptNetwork(std::string file, const torch::jit::Module& script, std::int64_t classes)
      : file_(std::move(file)), script_(script), classes_(classes) {
    if (!script_.find_method("forward")) refuse(file_, "it has no forward()");
    if (!script_.hasattr("training")) {
      refuse(file_,
             "it has no 'training', as torch.jit.freeze leaves a module; export it before it is "
             "frozen");
    }
    adopt(script_._ivalue(), *this, "");
    if (trained_.empty()) {
      refuse(file_, has_frozen_ ? "none of its parameters requires a gradient; call "
                                  "requires_grad_(True) before it is exported"
                                : "it has no parameters");
    }
  }

  torch::Tensor forward(torch::Tensor images) override {
    const std::int64_t count = images.size(0);
    torch::jit::IValue result;
    try {
      result = script_.forward({std::move(images)});
    } catch (const std::exception& error) {
      if (auto of_gpu = gpu_failure(error); !of_gpu.empty()) throw UnavailableError(of_gpu);
      const std::string reason = reason_of(error);
      if (is_out_of_memory(reason)) throw UnavailableError(file_ + ": " + reason);
      throw DataError(file_ + ": its forward() failed: " + reason);
    }
    follow_assignments();
    if (!result.isTensor()) {
      throw DataError(file_ + ": its forward() returns a " + result.tagKind() +
                      ", one tensor with a logit for each image and class was expected");
    }
    require_logits(result.toTensor(), count);
    return result.toTensor();
  }

  void train(bool on) override {
    Network::train(on);
    script_.train(on);
  }

  // A move would leave the script's constants on the old device.
  using Network::to;
  void to(torch::Device device, bool /*non_blocking*/) override {
    if (device == trained_.front().tensor.device()) return;
    throw InternalError(file_ + ": cannot move to " + device.str() + "; load it there");
  }

  void seed_dropout(std::uint64_t key) override { torch::manual_seed(key); }

  const torch::jit::Module& script() const { return script_; }
  const std::string& file() const { return file_; }

 private:
  struct Trained {
    ObjectPtr owner;
    std::size_t slot;
    torch::Tensor tensor;  // in the slot, and registered
    std::string name;
  };
  // A registered tensor of its own over the memory of the one in the slot: forward() may put
  // another there, while backward still needs the first as it was.
  struct Outside {
    ObjectPtr owner;
    std::size_t slot;
    torch::Tensor inside;
    torch::Tensor registered;
    std::string name;
  };

  // Counting correct predictions relies on their number. The trial checks their type; autocast
  // makes them short.
  void require_logits(const torch::Tensor& logits, std::int64_t count) const {
    const std::vector<std::int64_t> expected{count, classes_};
    const bool is_short =
        logits.scalar_type() == torch::kBFloat16 || logits.scalar_type() == torch::kFloat16;
    if (logits.sizes() == expected && (is_short || logits.scalar_type() == torch::kFloat32)) return;
    refuse(file_, "for " + format_quantity(count, "image") +
                      (is_training() ? "" : " in evaluation") + " its forward() returns " +
                      c10::toString(logits.scalar_type()) + " " + sizes_of(logits) + ", Float [" +
                      std::to_string(count) + ", " + std::to_string(classes_) +
                      "] was expected for the " + std::to_string(classes_) +
                      " classes of the data set");
  }

  void adopt(const ObjectPtr& source, torch::nn::Module& target, const std::string& prefix) {
    const auto type = source->type();
    for (std::size_t slot = 0; slot < type->numAttributes(); ++slot) {
      const torch::jit::IValue value = source->getSlot(slot);
      const std::string name = type->getAttributeName(slot);
      if (value.isModule()) {
        const auto child = target.register_module(name, std::make_shared<torch::nn::Module>());
        adopt(value.toObject(), *child, prefix + name + ".");
      } else if (value.isTensor() && value.toTensor().defined()) {
        if (type->is_parameter(slot) && value.toTensor().requires_grad()) {
          adopt_trained({source, slot, value.toTensor(), prefix + name}, target, name);
        } else if (type->is_parameter(slot) || type->is_buffer(slot)) {
          has_frozen_ = has_frozen_ || type->is_parameter(slot);
          adopt_outside({source, slot, value.toTensor(), {}, prefix + name}, target, name);
        }
      }
    }
  }

  void adopt_trained(Trained entry, torch::nn::Module& target, const std::string& name) {
    const torch::Tensor& tensor = entry.tensor;
    if (tensor.scalar_type() != torch::kFloat32 || tensor.layout() != torch::kStrided) {
      refuse(file_, "parameter '" + entry.name + "' is " + c10::toString(tensor.scalar_type()) +
                        (tensor.layout() == torch::kStrided ? "" : " and sparse") +
                        ", Float was expected; call .float() before it is exported (--precision "
                        "makes training itself short)");
    }
    if (tensor.numel() > 0 && tensor.is_cpu()) {
      const auto [other, is_new] = addresses_.emplace(tensor.data_ptr(), entry.name);
      if (!is_new) {
        refuse(file_, "parameters '" + other->second + "' and '" + entry.name +
                          "' are one tensor, which TorchScript does not keep together; give each "
                          "its own");
      }
    }
    target.register_parameter(name, tensor, /*requires_grad=*/true);
    trained_.push_back(std::move(entry));
  }

  void adopt_outside(Outside entry, torch::nn::Module& target, const std::string& name) {
    const torch::ScalarType type = entry.inside.scalar_type();
    if (safetensors_dtype_name(type) == nullptr || entry.inside.layout() != torch::kStrided) {
      refuse(file_, "'" + entry.name + "' is a tensor of " + c10::toString(type) +
                        ", which a checkpoint cannot hold");
    }
    put_inside(entry, entry.inside);
    entry.registered = entry.inside.variable_data();
    target.register_buffer(name, entry.registered);
    outside_.push_back(std::move(entry));
  }

  // Row-major, because buffers are sent to other ranks as they lie.
  static void put_inside(Outside& entry, const torch::Tensor& tensor) {
    entry.inside = tensor.detach().contiguous();
    entry.owner->setSlot(entry.slot, entry.inside);
  }

  // TorchScript lets forward() assign to what it has, as in self.count = self.count + 1.
  void follow_assignments() {
    for (Outside& entry : outside_) {
      const torch::Tensor now = entry.owner->getSlot(entry.slot).toTensor();
      if (now.is_same(entry.inside)) continue;
      if (now.sizes() != entry.inside.sizes() || now.scalar_type() != entry.inside.scalar_type()) {
        throw DataError(file_ + ": its forward() makes '" + entry.name + "' a tensor of " +
                        sizes_of(now) + ", " + sizes_of(entry.inside) +
                        " of the same type was expected: a buffer must keep its shape");
      }
      put_inside(entry, now);
      entry.registered.set_data(entry.inside);
    }
    for (const Trained& entry : trained_) {
      if (entry.owner->getSlot(entry.slot).toTensor().is_same(entry.tensor)) continue;
      throw DataError(file_ + ": its forward() assigns to the parameter '" + entry.name +
                      "', which only training may change; make it a buffer");
    }
  }

  const std::string file_;
  torch::jit::Module script_;
  const std::int64_t classes_;
  std::vector<Trained> trained_;
  std::vector<Outside> outside_;
  bool has_frozen_ = false;
  std::map<const void*, std::string> addresses_;  // of trained parameters
};

// Leaves gradients and counts in `network`, which must be discarded.
void try_out(ScriptNetwork& network, InputShape shape, torch::Device device) {
  const auto images = [&](std::int64_t count) {
    return torch::zeros({count, shape.channels, shape.height, shape.width},
                        torch::TensorOptions(device));
  };
  const torch::AutoGradMode with_gradients(true);
  network.train(true);
  const torch::Tensor logits = network.forward(images(kTrialImages));
  try {
    if (logits.requires_grad()) logits.sum().backward();
  } catch (const std::exception& error) {
    if (auto of_gpu = gpu_failure(error); !of_gpu.empty()) throw UnavailableError(of_gpu);
    refuse(network.file(), "its backward pass failed: " + reason_of(error));
  }
  for (const auto& parameter : network.named_parameters()) {
    if (parameter.value().grad().defined()) continue;
    refuse(network.file(),
           "its output does not depend on the parameter '" + parameter.key() +
               "'; leave it out, or call requires_grad_(False) on it, before it is exported");
  }
  const torch::NoGradGuard no_grad;
  network.train(false);
  for (const std::int64_t count : {std::int64_t{1}, kTrialImages}) network.forward(images(count));
}

}  // namespace

NetworkPtr make_script_network(const std::string& name, const std::string& bytes, InputShape shape,
                               std::int64_t classes, torch::Device device) {
  // Then an interpreter runs operator by operator, as Python does.
  torch::jit::getProfilingMode() = false;
  // A load to another device copies each tensor, and which of them were one does not show there.
  if (!device.is_cpu()) ScriptNetwork(name, load_script(name, bytes, torch::kCPU), classes);
  ScriptNetwork trial(name, load_script(name, bytes, device), classes);
  try_out(trial, shape, device);
  auto network = std::make_shared<ScriptNetwork>(name, load_script(name, bytes, device), classes);
  network->train(true);
  return network;
}

std::string script_warning(const Network& network) {
  const auto* script = dynamic_cast<const ScriptNetwork*>(&network);
  const std::size_t fixed = script == nullptr ? 0 : count_fixed_modes(script->script());
  if (fixed == 0) return "";
  return script->file() + ": " + std::to_string(fixed) +
         " of its BatchNorm and dropout operators " + (fixed == 1 ? "does" : "do") +
         " the same in training and in evaluation, as torch.jit.trace writes them; "
         "torch.jit.script keeps both modes";
}

std::string to_script(const Network& network) {
  torch::jit::Module script = dynamic_cast<const ScriptNetwork&>(network).script();
  const bool was_training = script.is_training();
  script.eval();
  std::ostringstream stream;
  script.save(stream, {{kMarkEntry, kMarkText}});
  script.train(was_training);
  return stream.str();
}

}  // namespace tandem::model
