// Rules for the reader under a fuzz target. An error that a reader must not throw leaves the target
// and is a finding.
//
// A target defines LLVMFuzzerTestOneInput, for libFuzzer in the fuzz build and for replay.cpp in
// every other one. Beside what it throws and requires, a leak, 1 GB of memory and 5 s are findings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tandem/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tandem::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Whatever is in a file, it is read or refused as damaged; any other error is a wrong answer.
template <typename Read>
void read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const DataError&) {
  }
}

// What holds of everything that a reader accepts.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "a broken promise: %s\n", promise);
  std::abort();
}

}  // namespace tandem::fuzz
