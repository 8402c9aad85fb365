// The forms of `tandem bench`, one measurement each. A new form is a file and a row in
// command_bench.cpp. Main thread. Throws as Command's functions do.
#pragma once

#include <string>
#include <vector>

#include "tandem/app/job.hpp"
#include "tandem/app/options.hpp"

namespace tandem::app {

struct BenchForm {
  std::string name;  // "allreduce"
  // An option that several forms have is the same in each; its group names them.
  OptionTable options;
  // Collective. Measures, prints on rank 0 and returns the exit code. The words are those after a
  // --, which are options of `train`; none where the form takes none.
  int (*run)(Job&, Options&, const std::vector<std::string>& words) = nullptr;
  bool takes_words_of_train = false;
};

// In the order in which they are told of.
std::vector<BenchForm> bench_forms();

BenchForm bench_step_form();
BenchForm bench_allreduce_form();
BenchForm bench_loader_form();
BenchForm bench_tta_form();

// What all of them have.
OptionSpec bench_json_option();
// What step and loader have.
OptionSpec bench_batch_option();
OptionSpec bench_steps_option();
OptionSpec bench_channels_last_option();
// What step and allreduce have.
OptionSpec bench_grad_dtype_option();

// Of bytes: "4096", "64K", "32M", "1G", powers of 1024 as nccl-tests has them. At least a
// float's, at most 4G.
std::size_t parse_size(const std::string& text, const std::string& what);

}  // namespace tandem::app
