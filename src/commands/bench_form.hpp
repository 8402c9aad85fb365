// The forms of `tandem bench`, one measurement each. A new form is a file and a row in
// bench.cpp. Main thread. Throws as Command's functions do.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "session/job.hpp"

namespace tandem::app {

struct BenchForm {
  std::string name;  // "allreduce"
  // An option that several forms have is the same in each; its group names them.
  OptionTable options;
  // Collective. Measures, prints on rank 0 and returns the exit code. The words after -- are
  // options of `train`; empty if the form takes none.
  int (*run)(Job&, Options&, const std::vector<std::string>& words) = nullptr;
  bool takes_words_of_train = false;
};

// In the order of the help.
std::vector<BenchForm> bench_forms();

BenchForm bench_step_form();
BenchForm bench_allreduce_form();
BenchForm bench_loader_form();
BenchForm bench_tta_form();

// Headings of options that two forms have.
inline constexpr char kStepAndLoader[] = "step and loader";
inline constexpr char kStepAndAllReduce[] = "step and allreduce";

// The options of all forms.
OptionSpec bench_json_option();
// The options of step and loader.
OptionSpec bench_batch_option();
OptionSpec bench_steps_option();
// The options of step and allreduce.
OptionSpec bench_grad_dtype_option();

// A number of bytes: "4096", "64K", "32M", "1G", with powers of 1024 as in nccl-tests. From 4 bytes
// to 4G.
std::size_t parse_size(const std::string& text, const std::string& what);

}  // namespace tandem::app
