#include "tandem/model/freeze.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {
namespace {

constexpr std::ptrdiff_t kNamesShown = 3;

bool fits_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& each) { return fits_pattern(name, each); });
}

bool is_frozen_norm(const torch::nn::Module& module) {
  const auto own = module.named_parameters(/*recurse=*/false);
  return !own.is_empty() && module.named_buffers(/*recurse=*/false).contains("running_mean") &&
         std::none_of(own.begin(), own.end(),
                      [](const auto& each) { return each.value().requires_grad(); });
}

}  // namespace

void require_fitting(const Network& network, const std::vector<std::string>& patterns,
                     const std::string& option) {
  const std::vector<std::string> names = network.named_parameters().keys();
  for (const std::string& pattern : patterns) {
    if (std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return fits_pattern(name, pattern); })) {
      continue;
    }
    std::vector<std::string> some(
        names.begin(), names.begin() + std::min(names.end() - names.begin(), kNamesShown));
    some.push_back("…");
    some.push_back(names.back());
    throw UsageError(option + ": no parameter fits '" + pattern + "'; the parameters are " +
                     join(some, ", "));
  }
}

void require_trained(const Network& network, const std::vector<std::string>& patterns,
                     const std::string& option) {
  const auto parameters = network.named_parameters();
  for (const std::string& pattern : patterns) {
    const auto is_trained = [&](const auto& each) {
      return each.value().requires_grad() && fits_pattern(each.key(), pattern);
    };
    if (std::any_of(parameters.begin(), parameters.end(), is_trained)) continue;
    throw UsageError(option + ": all parameters that fit '" + pattern +
                     "' are frozen, so it has no effect; leave it out, or freeze fewer");
  }
}

void freeze(Network& network, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return;
  require_fitting(network, patterns, "--freeze");
  bool has_trained = false;
  for (const auto& each : network.named_parameters()) {
    if (fits_any(each.key(), patterns)) {
      torch::Tensor parameter = each.value();
      parameter.set_requires_grad(false);
    } else {
      has_trained = true;
    }
  }
  if (!has_trained) {
    throw UsageError(
        "--freeze: all parameters fit, and none is left to train; leave a pattern out");
  }
  std::vector<std::shared_ptr<torch::nn::Module>> norms;
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (is_frozen_norm(*module)) norms.push_back(module);
  }
  network.keep_in_evaluation(std::move(norms));
}

}  // namespace tandem::model
