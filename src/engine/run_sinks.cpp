#include "run_sinks.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/metrics/json_lines.hpp"

namespace tandem::app {
namespace {

// The first sink: throws before any other sink writes to files that another run has taken over.
class OwnerSink : public metrics::Sink {
 public:
  explicit OwnerSink(const metrics::RunFolder& folder) : folder_(folder) {}
  void on_step(const metrics::StepRecord& /*record*/) override { folder_.require_held(); }
  void on_epoch(const metrics::EpochRecord& /*record*/) override { folder_.require_held(); }
  void on_evaluation(const metrics::EvaluationRecord& /*record*/) override {
    folder_.require_held();
  }
  void on_note(const metrics::NoteRecord& /*record*/) override { folder_.require_held(); }

 private:
  const metrics::RunFolder& folder_;
};

}  // namespace

metrics::Sinks make_sinks(const metrics::RunFolder& folder,
                          const metrics::TensorBoardSettings& board,
                          const std::function<metrics::TensorBoardStart()>& describe,
                          metrics::ConsoleSettings console) {
  std::vector<std::string> rank_paths;
  for (std::size_t rank = 0; rank < console.hosts.size(); ++rank) {
    rank_paths.push_back(folder.rank_metrics_path(static_cast<int>(rank)));
  }
  metrics::Sinks sinks;
  sinks.push_back(std::make_unique<OwnerSink>(folder));
  sinks.push_back(std::make_unique<metrics::JsonLinesSink>(folder.metrics_path(), rank_paths));
  sinks.push_back(std::make_unique<metrics::TensorBoardSink>(board, describe));
  sinks.push_back(std::make_unique<metrics::ConsoleSink>(std::move(console)));
  return sinks;
}

}  // namespace tandem::app
