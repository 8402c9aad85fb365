#include "kernel_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "tandem/core/digest.hpp"
#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::gpu {
namespace {

constexpr std::size_t kDigestSize = 64;

// The digest of the content comes first. Nothing where there is no such file or it is damaged.
std::optional<std::string> read_entry(const std::string& path) {
  try {
    const std::string file = read_file(path);
    if (file.size() < kDigestSize) return std::nullopt;
    std::string content = file.substr(kDigestSize);
    if (sha256_hex(content) != file.substr(0, kDigestSize)) return std::nullopt;
    return content;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Held by one process of a host at a time, or by none where the file system has no locks.
class HostLock {
 public:
  explicit HostLock(const std::string& path)
      : descriptor_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~HostLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;

 private:
  const int descriptor_;
};

bool can_have_folder(const std::string& folder) {
  try {
    if (!folder.empty()) make_folders_durably(folder);
    return !folder.empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string cache_folder() {
  const auto value = [](const char* name) {
    const char* const text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  const std::string cache = value("XDG_CACHE_HOME"), home = value("HOME");
  if (!cache.empty()) return cache + "/tandem";
  return home.empty() ? "" : home + "/.cache/tandem";
}

std::string cached(const std::string& folder, const std::string& name,
                   const std::function<std::string()>& make) {
  const std::string path = folder + "/" + name;
  if (!folder.empty()) {
    if (auto found = read_entry(path)) return *found;
  }
  if (!can_have_folder(folder)) return make();
  const HostLock lock(path + ".lock");
  if (auto found = read_entry(path)) return *found;  // made by the process that had the lock
  std::string content = make();
  try {
    write_file_atomically(path, sha256_hex(content) + content);
  } catch (const Error&) {
    // The next run compiles again.
  }
  return content;
}

}  // namespace tandem::gpu
