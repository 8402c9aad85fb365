// What: what the kernel counts of this process: /proc/self/status and io, and getrusage().
// Module-private. Owns: nothing. Threads: any. Throws: nothing; what a kernel does
// not tell is absent.
//
// The parsers take the text, so that tests need no such process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::metrics {

// The file's text, read in one go as files of the kernel want to be; nothing where it cannot be.
std::optional<std::string> read_kernel_file(const std::string& path);

// The number behind `name` in lines "name number" or "name: number kB"; kB are made bytes.
std::optional<std::uint64_t> field_of(std::string_view text, std::string_view name);

// Of all threads of this process; `proc` is its folder in /proc.
struct ProcessCounters {
  std::optional<double> cpu_seconds;
  std::optional<std::uint64_t> rss_bytes;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> write_bytes;
  std::optional<std::uint64_t> context_switches;
  std::optional<std::uint64_t> forced_switches;
};
ProcessCounters read_process(const std::string& proc = "/proc/self");

}  // namespace tandem::metrics
