// Hints for an option that a command does not have, and for a value that does not exist.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace tandem::app {

// "--given is not an option", with the option of `table` that it abbreviates, misspells or has as
// its counterpart in another trainer.
std::string unknown_option(const std::string& given, const OptionTable& table);

// A warning for each TANDEM_ variable of the environment that misspells the variable of one of
// these options. All others may belong to other programs.
std::vector<std::string> mistyped_variables(const std::vector<std::string>& options);

// "'word' was not expected; …" for a word that is no option. If the command takes files, the text
// also explains how to give a file of this name.
std::string unexpected_word(const std::string& word, bool takes_files);

// The likely one of `choices`: equal except for case, the counterpart of another trainer's value,
// or the nearest spelling.
std::optional<std::string> meant_choice(const std::string& given,
                                        const std::vector<std::string>& choices);

// "--data needs a value, FILE.h5 (…)". `given`: the option as the user wrote it.
std::string needs_value(const std::string& given, const OptionSpec& spec);
// The fault of an option without a value, if the parser has taken the next option for the value.
// `words`: the option and, if it is a word of its own, the value.
std::optional<Fault> missing_value(const std::vector<std::string>& words, const OptionTable& table);

}  // namespace tandem::app
