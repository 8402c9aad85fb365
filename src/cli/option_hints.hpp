// Hints for an option that a command does not have, and for a value that does not exist.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace tandem::app {

// "--given is not an option", and what plays its part here: the option that it begins or nearly is,
// or, for the words of other trainers, ours. Never one that is not in `table`.
std::string unknown_option(const std::string& given, const OptionTable& table);

// A warning for each TANDEM_ variable of the environment that nearly is the variable of one of
// these options, but of none exactly. All others may belong to other programs.
std::vector<std::string> mistyped_variables(const std::vector<std::string>& options);

// "'word' was not expected; …" for a word that is no option; how to name such a file if the command
// takes files.
std::string unexpected_word(const std::string& word, bool takes_files);

// Which of `choices` was meant: the same in other letters' case, what others call it, or the
// nearest.
std::optional<std::string> meant_choice(const std::string& given,
                                        const std::vector<std::string>& choices);

}  // namespace tandem::app
