#include "tandem/model/state_dict.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {
namespace {

constexpr std::size_t kFaultsShown = 8;

void append(const torch::nn::Module& module, const std::string& prefix,
            std::vector<NamedTensor>& entries) {
  for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
    entries.push_back({prefix + parameter.key(), parameter.value().detach(), false});
  }
  for (const auto& buffer : module.named_buffers(/*recurse=*/false)) {
    entries.push_back({prefix + buffer.key(), buffer.value().detach(), true});
  }
  for (const auto& child : module.named_children()) {
    append(*child.value(), prefix + child.key() + ".", entries);
  }
}

std::string describe(const torch::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : tensor.sizes()) sizes.push_back(std::to_string(size));
  return std::string(c10::toString(tensor.scalar_type())) + " [" + join(sizes, ", ") + "]";
}

bool fits(const torch::Tensor& source, const torch::Tensor& target) {
  const bool both_floating =
      c10::isFloatingType(source.scalar_type()) && c10::isFloatingType(target.scalar_type());
  return source.sizes() == target.sizes() &&
         (both_floating || source.scalar_type() == target.scalar_type());
}

[[noreturn]] void throw_faults(std::vector<std::string> faults) {
  const std::size_t count = faults.size();
  if (count > kFaultsShown) {
    faults.resize(kFaultsShown);
    faults.push_back(std::to_string(count - kFaultsShown) + " more");
  }
  throw DataError("the weights do not belong to this network: " + join(faults, "; ") +
                  ". Choose the model and the classes with which they were trained");
}

}  // namespace

std::vector<NamedTensor> state_dict(const torch::nn::Module& module) {
  std::vector<NamedTensor> entries;
  append(module, "", entries);
  return entries;
}

void load_state_dict(torch::nn::Module& module, const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> faults;
  std::map<std::string, torch::Tensor> sources;
  for (const NamedTensor& source : tensors) {
    if (!sources.emplace(source.name, source.tensor).second) {
      faults.push_back("'" + source.name + "' is given twice");
    }
  }

  const std::vector<NamedTensor> targets = state_dict(module);
  std::set<std::string> expected;
  for (const NamedTensor& target : targets) {
    expected.insert(target.name);
    const auto source = sources.find(target.name);
    if (source == sources.end()) {
      faults.push_back("'" + target.name + "' is missing");
    } else if (!fits(source->second, target.tensor)) {
      faults.push_back("'" + target.name + "' is " + describe(source->second) + ", expected " +
                       describe(target.tensor));
    }
  }
  for (const auto& [name, tensor] : sources) {
    if (expected.count(name) == 0) faults.push_back("'" + name + "' is not part of it");
  }
  if (!faults.empty()) throw_faults(std::move(faults));

  const torch::NoGradGuard no_grad;
  for (const NamedTensor& target : targets) {
    torch::Tensor destination = target.tensor;  // another handle to the module's memory
    destination.copy_(sources.at(target.name));
  }
}

std::vector<std::string> keep_head(const torch::nn::Module& module,
                                   std::vector<NamedTensor>& tensors) {
  const std::vector<NamedTensor> targets = state_dict(module);
  const std::string layer = targets.back().name.substr(0, targets.back().name.rfind('.') + 1);
  std::vector<NamedTensor> head;
  for (const NamedTensor& target : targets) {
    if (begins_with(target.name, layer)) head.push_back(target);
  }
  std::size_t found = 0, differing = 0;
  for (const NamedTensor& own : head) {
    for (const NamedTensor& theirs : tensors) {
      if (theirs.name != own.name) continue;
      ++found;
      if (theirs.tensor.sizes() == own.tensor.sizes()) continue;
      const bool are_other_classes = theirs.tensor.dim() == own.tensor.dim() &&
                                     own.tensor.dim() > 0 &&
                                     theirs.tensor.sizes().slice(1) == own.tensor.sizes().slice(1);
      if (!are_other_classes) return {};  // another layer
      ++differing;
    }
  }
  const bool is_missing = found == 0;
  if (layer.empty() || (!is_missing && (found != head.size() || differing == 0))) return {};
  std::vector<std::string> names;
  for (const NamedTensor& own : head) {
    names.push_back(own.name);
    const auto same = [&own](const NamedTensor& each) { return each.name == own.name; };
    tensors.erase(std::remove_if(tensors.begin(), tensors.end(), same), tensors.end());
    tensors.push_back({own.name, own.tensor.clone(), own.is_buffer});
  }
  return names;
}

std::string weights_sha256(const torch::nn::Module& module) {
  std::vector<NamedTensor> entries = state_dict(module);
  std::sort(entries.begin(), entries.end(),
            [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
  Sha256 digest;
  for (const NamedTensor& entry : entries) {
    const torch::Tensor row_major = entry.tensor.cpu().contiguous();
    digest.update(row_major.data_ptr(), row_major.nbytes());
  }
  return digest.finish();
}

}  // namespace tandem::model
