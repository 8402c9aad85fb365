#include "lock_record.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>
#include <system_error>

#include "tandem/core/host.hpp"
#include "tandem/core/kernel_file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::metrics {
namespace {

constexpr char kHeld[] = "held";
constexpr char kFree[] = "free";  // same length as kHeld

// Replaces control characters, because the kernel allows any in a host name.
std::string as_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return text;
}

std::string own_pid_namespace() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
}

std::string random_token() {
  std::random_device random;
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x%08x%08x", random(), random(), random(),
                random());
  return text.data();
}

// The rest of a line that begins with `key` and a space.
std::optional<std::string> value_of(const std::string& line, const std::string& key) {
  if (!begins_with(line, key + " ")) return std::nullopt;
  return line.substr(key.size() + 1);
}

std::uint64_t number_in(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 10);
}

bool is_of(const LockRecord& record, const LockRecord& self) {
  return !self.boot.empty() && record.boot == self.boot && !self.pid_namespace.empty() &&
         record.pid_namespace == self.pid_namespace;
}

}  // namespace

bool is_blank(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c == '\0' || std::isspace(c) != 0; });
}

LockRecord LockRecord::of_this_process() {
  LockRecord record;
  record.process = ::getpid();
  record.host = as_line(kernel_host_name());
  record.boot = trim(read_kernel_file("/proc/sys/kernel/random/boot_id").value_or(""));
  record.pid_namespace = own_pid_namespace();
  record.started = start_of_process(record.process).value_or(0);
  record.token = random_token();
  return record;
}

std::optional<LockRecord> LockRecord::parse(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  LockRecord record;
  int host_at = 0;
  long long process = 0;
  if (std::sscanf(line.c_str(), "process %lld on %n", &process, &host_at) != 1 || host_at == 0) {
    return std::nullopt;
  }
  record.process = process;
  record.host = line.substr(static_cast<std::size_t>(host_at));
  while (std::getline(lines, line)) {
    if (const auto boot = value_of(line, "boot")) record.boot = *boot;
    if (const auto space = value_of(line, "pid-namespace")) record.pid_namespace = *space;
    if (const auto start = value_of(line, "started")) record.started = number_in(*start);
    if (const auto inode = value_of(line, "inode")) record.inode = number_in(*inode);
    if (const auto token = value_of(line, "token")) record.token = *token;
    if (const auto beat = value_of(line, "beat")) record.beat = number_in(*beat);
    if (const auto state = value_of(line, "state")) record.released = *state == kFree;
  }
  return record;
}

std::string LockRecord::text() const {
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), "%012llu", static_cast<unsigned long long>(beat));
  return owner() + "\nboot " + boot + "\npid-namespace " + pid_namespace + "\nstarted " +
         std::to_string(started) + "\ninode " + std::to_string(inode) + "\ntoken " + token +
         "\nbeat " + number.data() + "\nstate " + (released ? kFree : kHeld) + "\n";
}

std::string LockRecord::owner() const {
  return "process " + std::to_string(process) + " on " + host;
}

std::optional<std::uint64_t> start_of_process(std::int64_t process) {
  if (process <= 0) return std::nullopt;
  if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) return std::nullopt;
  // Empty where /proc hides others' processes: 0, unknown.
  const std::string stat =
      read_kernel_file("/proc/" + std::to_string(process) + "/stat").value_or("");
  const std::string state = field_of_stat(stat, 3);
  if (state == "Z" || state == "X") return std::nullopt;
  return number_in(field_of_stat(stat, 22));
}

LockVerdict judge_lock(const LockSight& sight, const LockRecord& self, double silence_seconds) {
  if (is_blank(sight.now)) return LockVerdict::kFree;
  const std::optional<LockRecord> record = LockRecord::parse(sight.now);
  // Old programs wrote no heartbeat; they held only the kernel's lock.
  if (record && (record->token.empty() || record->released)) return LockVerdict::kFree;
  if (record && is_of(*record, self)) {
    if (!sight.owner_start) return LockVerdict::kFree;
    const bool is_known = *sight.owner_start != 0;
    if (is_known && *sight.owner_start != record->started) return LockVerdict::kFree;
    if (is_known && record->inode == self.inode) return LockVerdict::kHeld;
  }
  if (sight.now != sight.first) return LockVerdict::kHeld;
  return sight.silent_seconds >= silence_seconds ? LockVerdict::kFree : LockVerdict::kUnclear;
}

BeatVerdict judge_beat(const std::string& content, const std::string& token,
                       const std::string& deposed) {
  if (is_blank(content)) return BeatVerdict::kOwned;
  const std::optional<LockRecord> record = LockRecord::parse(content);
  if (!record) return BeatVerdict::kUnclear;  // a partial write; the next look will be complete
  const bool is_mine = record->token == token;
  const bool is_deposed = !deposed.empty() && record->token == deposed;
  return is_mine || is_deposed ? BeatVerdict::kOwned : BeatVerdict::kLost;
}

}  // namespace tandem::metrics
