// Replaces src/session/engine_library.cpp in a program that links the engine statically.
#include "session/engine.hpp"

namespace tandem::app {

const Engine& open_engine() { return *tandem_engine(); }

std::vector<std::string> libraries_opened() { return {}; }

}  // namespace tandem::app
