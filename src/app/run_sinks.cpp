#include "run_sinks.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/metrics/json_lines.hpp"

namespace tandem::app {

metrics::Sinks make_sinks(const metrics::RunFolder& folder,
                          const metrics::TensorBoardSettings& board,
                          const std::function<metrics::TensorBoardStart()>& describe,
                          metrics::ConsoleSettings console) {
  std::vector<std::string> rank_paths;
  for (std::size_t rank = 0; rank < console.hosts.size(); ++rank) {
    rank_paths.push_back(folder.rank_metrics_path(static_cast<int>(rank)));
  }
  metrics::Sinks sinks;
  sinks.push_back(std::make_unique<metrics::JsonLinesSink>(folder.metrics_path(), rank_paths));
  sinks.push_back(std::make_unique<metrics::TensorBoardSink>(board, describe));
  sinks.push_back(std::make_unique<metrics::ConsoleSink>(std::move(console)));
  return sinks;
}

}  // namespace tandem::app
