// tandem bench: measures one part of the work, in the form that its first word names.
#include <algorithm>
#include <utility>

#include "bench_form.hpp"
#include "cli/stall_options.hpp"
#include "cli/train_options.hpp"
#include "commands.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 32;  // MPI counts fp32 numbers in an int

std::vector<std::string> names_of_bench_forms() {
  std::vector<std::string> names;
  for (const BenchForm& form : bench_forms()) names.push_back(form.name);
  return names;
}

BenchForm find_bench_form(const Arguments& arguments) {
  const bool has_word = !arguments.empty() && !begins_with(arguments.front(), "-");
  for (const BenchForm& form : bench_forms()) {
    if (has_word && form.name == arguments.front()) return form;
  }
  const auto suggestion =
      has_word ? nearest(arguments.front(), names_of_bench_forms()) : std::nullopt;
  throw UsageError(
      (has_word ? "'" + arguments.front() + "' is not a form"
                : std::string("the form is missing")) +
      ": " + join(names_of_bench_forms(), ", ") +
      (suggestion ? "; did you mean " + *suggestion + "?" : "; for example: tandem bench step"));
}

// The fault of an option that only other forms have, or `train`; "" for other options.
std::string fault_of_other_form(const BenchForm& form, const std::string& option) {
  const std::string name = option.substr(2);
  if (has_option(form.options, name)) return "";
  if (form.takes_words_of_train && has_option(train_option_table(), name)) {
    return option + " is an option of `tandem train`; give it after a --";
  }
  std::vector<std::string> others;
  for (const BenchForm& other : bench_forms()) {
    if (has_option(other.options, name)) others.push_back(other.name);
  }
  if (others.empty()) return "";
  return option + " is for bench " + join(others, " and ") + ", not for bench " + form.name +
         "; leave it out";
}

// Takes such options out of the words, each with the words after it. Returns their faults.
std::vector<std::string> take_options_of_other_forms(const BenchForm& form, Arguments& words) {
  std::vector<std::string> faults;
  Arguments own;
  bool is_own = true;
  for (const std::string& word : words) {
    if (begins_with(word, "--")) {
      const std::string fault =
          fault_of_other_form(form, with_dashes(word.substr(0, word.find('='))));
      is_own = fault.empty();
      if (!is_own) faults.push_back(fault);
    }
    if (is_own) own.push_back(word);
  }
  words = std::move(own);
  return faults;
}

// The options of all forms without duplicates, grouped.
OptionTable options_of_all_forms() {
  OptionTable all;
  for (const BenchForm& form : bench_forms()) {
    for (const OptionSpec& spec : form.options) {
      const auto same = [&](const OptionSpec& other) { return other.name == spec.name; };
      if (std::any_of(all.begin(), all.end(), same)) continue;
      auto place = std::find_if(all.rbegin(), all.rend(), [&](const OptionSpec& other) {
                     return other.group == spec.group;
                   }).base();
      if (place == all.begin()) place = all.end();
      all.insert(place, spec);
    }
  }
  return all;
}

int run_bench(Job& job, const Arguments& arguments) {
  BenchForm form;
  comm::agree(job.world, [&] { form = find_bench_form(arguments); });
  comm::require_equal(job.world, {{"form of bench", form.name}});
  auto end = arguments.end();
  if (form.takes_words_of_train) end = std::find(arguments.begin(), end, "--");
  const Arguments words(end == arguments.end() ? end : end + 1, arguments.end());
  Arguments own(arguments.begin() + 1, end);
  const std::vector<std::string> faults = take_options_of_other_forms(form, own);
  Options options = resolve_together(job, "bench", form.options, own);
  for (const std::string& fault : faults) options.add_fault(fault);
  return form.run(job, options, words);
}

}  // namespace

std::vector<BenchForm> bench_forms() {
  std::vector<BenchForm> forms{bench_step_form(), bench_allreduce_form(), bench_loader_form(),
                               bench_tta_form()};
  for (BenchForm& form : forms) form.options = with_stall_options(form.options, "all forms");
  return forms;
}

OptionSpec bench_json_option() {
  return {"json", "", "false", "one JSON object on standard output", "all forms"};
}

OptionSpec bench_batch_option() {
  return {"batch-size", "N", "64", "images per rank and step", kStepAndLoader};
}

OptionSpec bench_steps_option() {
  return {"steps", "N", "30", "that are timed, after a few others", kStepAndLoader};
}

OptionSpec bench_grad_dtype_option() {
  return {"grad-dtype",
          "NAME",
          "fp32",
          "how gradients travel: fp32; bf16, in half the bytes; or powersgd (step only)",
          kStepAndAllReduce,
          {},
          {"fp32", "bf16", "powersgd"}};
}

std::size_t parse_size(const std::string& text, const std::string& what) {
  const std::string units = "KMG";
  const std::size_t unit = text.empty() ? std::string::npos : units.find(text.back());
  const bool has_unit = unit != std::string::npos;
  const std::int64_t factor = has_unit ? std::int64_t{1} << (10 * (unit + 1)) : 1;
  const std::int64_t least = has_unit ? 1 : static_cast<std::int64_t>(sizeof(float));
  try {
    return static_cast<std::size_t>(factor *
                                    parse_integer(text.substr(0, text.size() - (has_unit ? 1 : 0)),
                                                  least, kLargestSize / factor, what));
  } catch (const UsageError&) {
    throw UsageError(what + ": '" + text + "' is not a number of bytes from " +
                     std::to_string(sizeof(float)) + " to 4G, such as 4096, 64K, 16M or 1G");
  }
}

Command bench_command() {
  return {"bench",
          "FORM [options] [-- options of train]",
          "measure a training step, the all-reduce, the batch loader, or time to accuracy",
          "mpirun -np 2 --bind-to none tandem bench allreduce --max-bytes 256K",
          options_of_all_forms(),
          nullptr,
          run_bench,
          names_of_bench_forms()};
}

}  // namespace tandem::app
