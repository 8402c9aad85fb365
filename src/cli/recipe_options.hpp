// Options of `tandem train` for training recipes: the trust coefficient of lars, the polynomial
// schedule, early stopping, class weights and the moving average. Bad values are added to the
// options as faults.
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

// Call it after --loss is read: --class-weights refuses a summed loss.
void read_recipe_options(Options& options, train::TrainConfig& config);

}  // namespace tandem::app
