// Hints for unknown options and values. Faults of options without their value and of switches with
// one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace tandem::app {

// "--given is not an option", with the option of `table` that it abbreviates, misspells or has as
// its counterpart in another trainer. That option has no value because of the fault.
Fault unknown_option(const std::string& given, const OptionTable& table);

// A warning for each TANDEM_ variable of the environment that misspells the variable of one of
// these options. All others may belong to other programs.
std::vector<std::string> mistyped_variables(const std::vector<std::string>& options);

// "'word' was not expected; …" for a word that is no option, with the option of `table` that has
// one dash too few. If the command takes files, the text also explains how to give a file of this
// name.
Fault unexpected_word(const std::string& word, bool takes_files, const OptionTable& table);

// The likely one of `choices`: equal except for case, the counterpart of another trainer's value,
// or the nearest spelling.
std::optional<std::string> meant_choice(const std::string& given,
                                        const std::vector<std::string>& choices);

// Removes each option that lacks its value and each switch that has one, and adds a fault for it. A
// word that begins with -- is a value only after an equal sign. Returns the other words.
Arguments take_incomplete(const Arguments& words, const OptionTable& table, Faults& faults);

}  // namespace tandem::app
