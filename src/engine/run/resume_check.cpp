#include "resume_check.hpp"

#include "run_segments.hpp"
#include "saved_options.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {

std::vector<std::string> differences_from(const RunStart& start, const Options& options,
                                          const data::DatasetInfo& info,
                                          const std::string& network_sha256,
                                          std::uint64_t global_batch) {
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& name, const std::string& then,
                           const std::string& now) {
    if (mean_the_same(then, now)) return;
    differences.push_back(name + ": the run has '" + then + "', now '" + now + "' is asked for");
  };
  compare("data set digest", start.entry("dataset_digest"), info.digest);
  compare("global batch", std::to_string(start.global_batch), std::to_string(global_batch));
  // A network file is compared by its content, not by its name.
  const std::string network_then = start.entry("network_sha256");
  const bool has_file = !network_then.empty() && !network_sha256.empty();
  if (has_file) compare("SHA-256 of the network", network_then, network_sha256);
  const Json saved = saved_options(start);
  for (const OptionSpec& spec : fixed_options(options, info.is_encoded())) {
    if (spec.name == "model" && has_file) continue;
    compare("--" + spec.name, saved_value(saved, spec), options.text(spec.name));
  }
  return differences;
}

void require_same_run(Job& job, const RunStart& start, const Options& options,
                      const data::DatasetInfo& info, const std::string& network_sha256,
                      std::uint64_t global_batch) {
  if (!start.resumes) return;
  comm::agree_on_rank_0(job.world, [&] {
    const std::vector<std::string> differences =
        differences_from(start, options, info, network_sha256, global_batch);
    if (differences.empty()) return;
    throw DisagreementError(
        start.checkpoint_path +
        ": these options differ from those of the run; give its options, or start another "
        "run\n  " +
        join(differences, "\n  "));
  });
}

void require_progress(Job& job, const RunStart& start, std::uint64_t most) {
  comm::agree_on_rank_0(job.world, [&] {
    if (most == 0 || !start.folder) return;
    const std::uint64_t step = start.state.step;
    const std::uint64_t starts =
        starts_from(member(start.folder->read_manifest(), "segments"), step);
    if (starts < most) return;
    throw TrainingError(start.folder->path() + ": the last " + format_quantity(starts, "start") +
                        " began at step " + format_count(step) +
                        " and saved no new checkpoint, so this one does not train "
                        "(--max-stuck-starts " +
                        std::to_string(most) +
                        "); find out why they ended, allow more time or a shorter "
                        "--checkpoint-every, and start once with --max-stuck-starts 0");
  });
}

}  // namespace tandem::app
