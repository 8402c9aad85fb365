// The options of other trainers and launchers, and their counterparts in tandem.
#pragma once

#include <string>

namespace tandem::app {

// tandem's option for the other program's `name`, with its value if only one fits:
// "precision bf16". nullptr: unknown.
const char* our_option(const std::string& name);
// A sentence for an option without a counterpart in tandem; nullptr: unknown.
const char* answer_to(const std::string& name);
// tandem's value for the other program's, such as cuda for gpu; nullptr: unknown.
const char* our_value(const std::string& value);

}  // namespace tandem::app
