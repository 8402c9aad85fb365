// Options of `tandem train` for recipes beyond an optimizer's own. A bad value is a fault of the
// options.
#pragma once

#include <string>

#include "options.hpp"
#include "tandem/train/config.hpp"

namespace tandem::app {

OptionSpec trust_coefficient_option(const std::string& group);
OptionSpec polynomial_power_option(const std::string& group);
OptionSpec early_stop_option(const std::string& group);
OptionSpec class_weights_option(const std::string& group);
OptionSpec ema_option(const std::string& group);

// Reads them after the optimizer's options.
void read_recipe_options(Options& options, train::TrainConfig& config);

}  // namespace tandem::app
