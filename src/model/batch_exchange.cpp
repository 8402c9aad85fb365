#include "tandem/model/batch_exchange.hpp"

#include <algorithm>

#include "batch_statistics.hpp"

namespace tandem::model {

std::vector<std::vector<double>> BatchExchange::all(const std::vector<double>& mine) const {
  std::vector<double> padded = mine;
  padded.resize(values_);
  const std::vector<double> of_all = gather_(padded);
  std::vector<std::vector<double>> ranks;
  for (std::size_t at = 0; at < of_all.size(); at += values_) {
    const auto begin = of_all.begin() + static_cast<std::ptrdiff_t>(at);
    ranks.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(mine.size()));
  }
  return ranks;
}

void BatchExchange::take_part_without_images() const {
  for (std::size_t i = 0; i < 2 * layers_; ++i) all({});
}

std::shared_ptr<BatchExchange> synchronize_norms(Network& network, BatchExchange::Gather gather) {
  std::vector<SynchronizedNorm*> norms;
  std::size_t most_channels = 0;
  for (const std::shared_ptr<torch::nn::Module>& module : network.modules()) {
    auto* const norm = dynamic_cast<SynchronizedNorm*>(module.get());
    if (norm == nullptr || !module->is_training()) continue;
    norms.push_back(norm);
    most_channels = std::max(most_channels, norm->channels());
  }
  if (norms.empty()) return nullptr;
  // Forward: count, means and squares. Backward: sums and products.
  auto exchange =
      std::make_shared<BatchExchange>(std::move(gather), norms.size(), 1 + 2 * most_channels);
  for (SynchronizedNorm* norm : norms) norm->exchange = exchange;
  return exchange;
}

}  // namespace tandem::model
