// Command lines of `tandem train`, as a test gives them.
#pragma once

#include <utility>

#include "cli/train_options.hpp"

namespace tandem::testing {

inline app::Options resolve_train(const app::Arguments& words) {
  const app::OptionTable table = app::train_option_table();
  return app::resolve(table, app::parse_command_line("train", table, words, false));
}

// Reads `words` behind `--data x.h5`, so that they may name another data set.
inline app::Options options_of(app::Arguments words = {}) {
  words.insert(words.begin(), {"--data", "x.h5"});
  return resolve_train(words);
}

inline app::TrainRequest request_of(app::Arguments words) {
  app::Options options = options_of(std::move(words));
  return app::read_train_options(options);
}

}  // namespace tandem::testing
