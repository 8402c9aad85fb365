#include "tandem/metrics/run_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"

namespace tandem::metrics {
namespace {

constexpr char kName[] = "/run.lock";
constexpr char kCure[] = "; make it writable, or choose another --runs-dir";

File open_lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    throw CannotCreateError(path + ": cannot be opened: " + std::strerror(errno) + kCure);
  }
  return File(descriptor, path);
}

std::string holder_of(const File& file) {
  std::string text(200, '\0');
  text.resize(file.read_at(0, text.data(), text.size()));
  return text.substr(0, text.find('\n'));
}

struct flock whole_file_by(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string describe_self() {
  return "process " + std::to_string(::getpid()) + " on " + kernel_host_name() + "\n";
}

}  // namespace

RunLock::RunLock(const std::string& folder) : file_(open_lock(folder + kName)) {
  struct flock whole_file = whole_file_by(F_WRLCK);
  if (::fcntl(file_.descriptor(), F_OFD_SETLK, &whole_file) != 0) {
    if (errno == EAGAIN || errno == EACCES) {
      throw CannotCreateError(folder + ": another run works in this folder (" + holder_of(file_) +
                              "); wait for it, or choose another --run-id");
    }
    warning_ = folder + ": cannot be locked: " + std::strerror(errno) +
               "; see to it yourself that no two runs work in it";
    return;
  }
  // For the message above only; the lock itself is what counts.
  const std::string self = describe_self();
  if (::ftruncate(file_.descriptor(), 0) != 0) {
    throw CannotCreateError(file_.path() + ": cannot be written: " + std::strerror(errno) + kCure);
  }
  file_.write_at(0, self.data(), self.size());
}

bool RunLock::is_held(const std::string& folder) {
  const std::string path = folder + kName;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return false;
  const File file(descriptor, path);
  struct flock lock = whole_file_by(F_RDLCK);
  return ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace tandem::metrics
