#include "schedule_choice.hpp"

#include <cstdio>

#include "cli/resume_command.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/metrics/run_record.hpp"
#include "tandem/train/schedule.hpp"

namespace tandem::app {
namespace {

std::string rate_text(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", rate);
  return text;
}

// Checkpoints of earlier versions do not hold the length. The config.ini of the start that wrote
// them holds the duration, and so the length. If it cannot be read, the length is unknown, and that
// of this start is taken, as those versions did.
std::uint64_t length_by_config(const RunStart& start, const ScheduleRequest& request) {
  train::TrainConfig then = request.config;
  try {
    const metrics::RunRecord record = metrics::read_run(start.folder->path());
    then.epochs = parse_real(record.option("epochs"), 1e-6, 1e6, "epochs");
    constexpr std::int64_t kMax = std::int64_t{1} << 40;
    then.max_steps =
        static_cast<std::uint64_t>(parse_integer(record.option("max-steps"), 0, kMax, "max-steps"));
  } catch (const Error&) {
    return request.arithmetic.total_steps;
  }
  then.global_batch_size = request.arithmetic.global_batch;
  return train::BatchArithmetic::of(then, request.image_count, 1).total_steps;
}

// The rates of the last step that was done and of the next one.
std::string describe_rates(std::uint64_t step, const train::Schedule& before,
                           const train::Schedule& after) {
  return "learning rate " + rate_text(before.at(step - 1)) + " before, " +
         rate_text(after.at(step)) + " after";
}

}  // namespace

ScheduleChoice choose_schedule(const RunStart& start, const ScheduleRequest& request) {
  const std::uint64_t asked = request.arithmetic.total_steps;
  const std::uint64_t step = start.state.step;
  const train::ScheduleOptions& options = request.config.schedule;
  const std::uint64_t length =
      start.schedule_steps ? *start.schedule_steps : length_by_config(start, request);
  const bool matters = train::Schedule::depends_on_length(options) && step > 0 && step < asked;
  if (length == asked || !matters) return {request.is_new ? asked : length, ""};
  const auto schedule_of = [&](std::uint64_t steps) {
    return train::Schedule(options, request.arithmetic.learning_rate,
                           request.arithmetic.steps_per_epoch, steps);
  };
  const train::Schedule kept = schedule_of(length);
  const train::Schedule replaced = schedule_of(asked);
  if (request.is_new) {
    return {asked, "a new schedule of " + format_quantity(asked, "step") + " replaces that of " +
                       format_quantity(length, "step") + ": " +
                       describe_rates(step, kept, replaced)};
  }
  const double last = kept.at(length);
  if (asked > length && last == 0) {
    throw UsageError(
        start.run_id + ": the schedule " + options.name + " ends at step " +
        std::to_string(length) + ", where its learning rate is 0, and " +
        format_quantity(asked, "step") + " are asked for\n  fix: go on with a new schedule (" +
        describe_rates(step, kept, replaced) + "): " + request.go_on +
        " --new-schedule\n  or begin another run with these weights: " + request.begin_anew);
  }
  std::string note = "the schedule keeps its length of " + format_quantity(length, "step") +
                     ", and the run ends at step " + std::to_string(asked) + ": " +
                     describe_rates(step, kept, kept) +
                     " (with --new-schedule: " + rate_text(replaced.at(step)) + ")";
  if (asked > length) note += "; its last rate, " + rate_text(last) + ", holds from its end on";
  return {length, note};
}

ScheduleChoice choose_schedule_together(Job& job, const RunRequest& run, const RunStart& start,
                                        const train::BatchArithmetic& arithmetic,
                                        std::uint64_t image_count) {
  ScheduleChoice choice{arithmetic.total_steps, ""};
  if (!start.resumes) return choice;
  comm::agree_on_rank_0(job.world, [&] {
    const std::string program = program_words(job.topology.world);
    choice = choose_schedule(
        start, {run.train.config, arithmetic, image_count, run.train.reporting.new_schedule,
                resume_command(program, run.words, start.run_id, start.runs_dir),
                new_run_command(program, run.words, start.checkpoint_path)});
  });
  job.world.broadcast(Span<std::uint64_t>(&choice.steps, 1));
  return choice;
}

}  // namespace tandem::app
