// The options of other trainers and launchers, and what stands for them here.
#pragma once

#include <string>

namespace tandem::app {

// Our option for the other's `name`, with its value if only one fits: "precision bf16". nullptr:
// unknown.
const char* our_option(const std::string& name);
// A sentence for an option that none of ours replaces; nullptr: unknown.
const char* answer_to(const std::string& name);
// Our value for the other's, such as cuda for gpu; nullptr: unknown.
const char* our_value(const std::string& value);

}  // namespace tandem::app
