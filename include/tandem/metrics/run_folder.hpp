// The folder of a run: the paths of its files, and the small files that describe the run. Holds the
// lock on the folder. One thread at a time, on rank 0. Throws UsageError (run id),
// CannotCreateError, IoError.
#pragma once

#include <cstdint>
#include <string>

#include "tandem/core/json.hpp"
#include "tandem/core/touch.hpp"
#include "tandem/metrics/run_lock.hpp"
#include "tandem/metrics/superseded.hpp"

namespace tandem::metrics {

// Throws UsageError unless `run_id` is 1 to 64 of A-Z a-z 0-9 . _ - and does not begin with a dot.
void check_run_id(const std::string& run_id);
// "20260314-091500-123-1f3a": UTC to the millisecond, so that ids sort by time of start; the last
// part keeps runs of one millisecond apart.
std::string make_run_id();

class RunFolder {
 public:
  // Checks whether create() would work; leaves nothing behind.
  static void require_free(const std::string& runs_dir, const std::string& run_id);
  // Creates `runs_dir`/`run_id`; CannotCreateError if it exists, which is then unchanged.
  static RunFolder create(const std::string& runs_dir, const std::string& run_id,
                          LockSettings lock = {});
  static bool exists(const std::string& runs_dir, const std::string& run_id);
  // Opens the folder of an earlier run to resume it, or an empty folder. CannotCreateError for any
  // other folder, which is left as it is.
  static RunFolder open(const std::string& runs_dir, const std::string& run_id,
                        LockSettings lock = {});

  const std::string& run_id() const { return run_id_; }
  const std::string& path() const { return path_; }
  std::string metrics_path() const { return path_ + "/metrics.jsonl"; }
  // ranks/rank-0000.jsonl
  std::string rank_metrics_path(int rank) const;
  std::string rank_trace_path(int rank) const;
  // The folder of events.out.tfevents.…, one file for each start. TensorBoard names a run by this
  // folder, so it is the run's own. It is tensorboard/ inside if an earlier version began the run.
  std::string tensorboard_path() const;
  std::string manifest_path() const { return path_ + "/manifest.json"; }
  std::string summary_path() const { return path_ + "/summary.json"; }
  std::string evaluation_path() const { return path_ + "/evaluation.json"; }
  std::string report_path() const { return path_ + "/report.html"; }
  std::string checkpoints_path() const { return path_ + "/checkpoints"; }
  std::string safetensors_path() const { return path_ + "/model/model.safetensors"; }
  // The copy of the file that --model names.
  std::string network_path() const { return path_ + "/model/network.pt"; }
  // model/cifar_net.pth for the data set cifar10, model/<data set>_net.pth otherwise.
  std::string pth_path(const std::string& dataset_name) const;

  void write_config(const std::string& ini) const;
  void write_network(const std::string& bytes) const;
  void write_manifest(const Json& manifest) const;
  // The manifest of an earlier segment; null if it cannot be read.
  Json read_manifest() const;
  Json read_summary() const;
  // Written last: its presence says that the run has ended.
  void write_summary(const Json& summary) const;
  void write_evaluation(const Json& evaluation) const;
  // Whether the file holds the evaluation after `step`.
  bool has_evaluation_after(std::uint64_t step) const;
  // Call it before a run resumes from `point`. Moves aside what the run will write again: the end
  // of its metrics, and the summary, page and evaluation of a later step. Removes a summary and
  // page of the same step, because the run has not ended. Calls `touch` for each rank's metrics.
  void supersede_after(const ResumePoint& point, Superseded& aside, const Touch& touch = {}) const;
  // Call it before a run resumes after its end. Removes the summary of that end, then moves its
  // model to model/ of `aside`, but not network.pt, which the run needs.
  void supersede_model(Superseded& aside) const;
  // CannotCreateError if another run has taken over the folder. Call it before writing anything
  // that the other run may write, too. Any thread.
  void require_held() const { lock_.require_held(); }

 private:
  RunFolder(std::string run_id, std::string path, LockSettings lock);
  void supersede_results_after(const ResumePoint& point, Superseded& aside) const;

  std::string run_id_;
  std::string path_;
  RunLock lock_;
};

}  // namespace tandem::metrics
