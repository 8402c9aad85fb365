// In place of src/session/engine_library.cpp: a program that has the engine in it.
#include "session/engine.hpp"

namespace tandem::app {

const Engine& open_engine() { return *tandem_engine(); }

std::vector<std::string> libraries_opened() { return {}; }

}  // namespace tandem::app
