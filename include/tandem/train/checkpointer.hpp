// Saves checkpoints: all ranks verify that their states are equal, rank 0 copies the state, and a
// background thread writes the copy while training continues. Network, arena and optimizer must
// outlive it. Make the same calls on every rank, on one thread. Throws what drift_check.hpp throws.
// A failed write is reported and does not end training; finish() returns whether the last one
// failed.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/json.hpp"
#include "tandem/model/network.hpp"
#include "tandem/train/checkpoint_store.hpp"
#include "tandem/train/optimizer.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/training_state.hpp"

namespace tandem::train {

// The effect of a save on the buffers of the other ranks.
enum class Buffers {
  kShare,  // they become rank 0's, as after a resume
  kLeave,  // they stay, so that the save has no effect on the results
};

class Checkpointer {
 public:
  struct Context {
    comm::Communicator& comm;
    model::Network& network;
    ParameterArena& arena;
    Optimizer& optimizer;
    // Collective: tensors of rank 0 that are saved too. Null: none.
    std::function<std::vector<model::NamedTensor>()> more_state = {};
  };
  struct Reports {
    std::function<void(std::uint64_t step, const std::string& path, bool is_best)> on_written;
    std::function<void(std::uint64_t step, const std::string& message, bool is_best)> on_failed;
    // The checkpoint is durable, but something else failed.
    std::function<void(std::uint64_t step, const std::string& message)> on_warning;
    // Called by the writing thread before the checkpoint is written. If it throws, the write fails.
    std::function<void()> before_write;
  };

  // `metadata` goes into every checkpoint. The reports are called on rank 0, by save(),
  // finish_write() and finish(). `durable`: the state that the run resumes from, if it does.
  Checkpointer(Context context, CheckpointStore store, KeepRules keep,
               std::map<std::string, std::string> metadata, Reports reports,
               const std::optional<TrainingState>& durable = std::nullopt);

  // The next checkpoint becomes best.safetensors too; on rank 0.
  void mark_best() { is_best_ = true; }
  // Collective. Waits for the previous write, if it still runs. A state that is durable already is
  // written again only to become the best.
  void save(const TrainingState& state, Buffers buffers = Buffers::kShare);
  // Waits for the write in progress, if any, and reports what became of it.
  void finish_write();
  // Whether this rank is waiting for the write. Any thread.
  bool is_awaited() const { return is_awaited_; }
  // Waits for the last write. On rank 0 returns why it failed, or ""; elsewhere "".
  std::string finish();

 private:
  void save_swapped(const TrainingState& state, Buffers buffers);
  void share_buffers();

  Context context_;
  const KeepRules keep_;
  const std::map<std::string, std::string> metadata_;
  const Reports reports_;
  CheckpointStore store_;     // used by the write while it is in progress
  bool is_best_ = false;      // what is saved next
  bool writes_best_ = false;  // the write in progress
  std::uint64_t step_ = 0;    // of the write in progress
  std::uint64_t bytes_ = 0;   // likewise, tensors alone
  Json progress_;             // likewise
  Json durable_;              // of the last write that succeeded
  std::string last_failure_;
  std::atomic<bool> is_awaited_{false};
  std::future<std::vector<std::string>> write_;  // last: its destructor waits for the write
};

}  // namespace tandem::train
