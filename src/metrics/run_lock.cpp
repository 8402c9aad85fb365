#include "tandem/metrics/run_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "lock_record.hpp"
#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/thread.hpp"

namespace tandem::metrics {
namespace {

constexpr char kName[] = "/run.lock";
constexpr std::size_t kLongest = 4096;

[[noreturn]] void throw_unusable(const std::string& path, const char* what, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  throw CannotCreateError(path + what + errno_text(error) +
                          (is_full ? "; free space there" : "; make it writable") +
                          ", or choose another --runs-dir");
}

File open_lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_unusable(path, ": cannot be opened: ", errno);
  return File(descriptor, path);
}

std::optional<File> open_to_look(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  return File(descriptor, path);
}

// Absent if the file cannot be read now. Opens it anew, because NFS shows other hosts' writes only
// after open().
std::optional<std::string> look_into(const std::string& path) {
  const std::optional<File> file = open_to_look(path);
  if (!file) return std::nullopt;
  std::string text(kLongest, '\0');
  const ssize_t size = ::pread(file->descriptor(), text.data(), text.size(), 0);
  if (size < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(size));
  return text;
}

struct flock whole_file_by(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string owner_in(const std::string& content) {
  const auto record = LockRecord::parse(content);
  return record ? record->owner()
                : "an owner whose record in run.lock cannot be read ('" +
                      content.substr(0, content.find('\n')) + "')";
}

// Includes time in which the host was suspended.
double seconds_since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

class RunLock::Heartbeat {
 public:
  Heartbeat(const std::string& folder, LockSettings settings)
      : folder_(folder),
        settings_(std::move(settings)),
        file_(open_lock(folder + kName)),
        record_(LockRecord::of_this_process()) {
    if (!settings_.pause) settings_.pause = sleep_for;
    struct stat status {};
    if (::fstat(file_.descriptor(), &status) == 0) record_.inode = status.st_ino;
    take_kernels_lock();
    const bool was_silent = wait_until_free();
    if (!write_record()) {
      const int error = errno;
      // Otherwise the next start would take the folder for a run.
      if (content().empty()) ::unlink(file_.path().c_str());
      throw_unusable(file_.path(), ": cannot be written: ", error);
    }
    sync_folder(folder_);  // so that a power failure does not keep other files but lose run.lock
    if (was_silent) settle();
    last_look_ = seconds_since_boot();
    thread_ = std::thread([this] { beat_until_stopped(); });
  }

  ~Heartbeat() {
    stop_and_join(thread_, mutex_, changed_, stopping_);
    if (record_.process == ::getpid()) release();
  }

  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void require_held() {
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) return;  // the heartbeat's thread is checking just now
    if (seconds_since_boot() - last_look_ > settings_.stale_seconds) look();
    if (!lost_.empty()) throw CannotCreateError(lost_);
  }

 private:
  [[noreturn]] void refuse(const std::string& owner) const {
    throw CannotCreateError(folder_ + ": another run works in this folder (" + owner +
                            "); wait for it, or choose another --run-id");
  }

  // Tries for `ending_seconds`, because mpirun may end before a rank that it has killed. A restart
  // that follows at once would find the lock held.
  void take_kernels_lock() const {
    struct flock whole_file = whole_file_by(F_WRLCK);
    for (double waited = 0;; waited += settings_.look_seconds) {
      if (::fcntl(file_.descriptor(), F_OFD_SETLK, &whole_file) == 0) return;
      // The file system has no locks; the heartbeat alone keeps others out.
      if (errno != EAGAIN && errno != EACCES) return;
      if (waited >= settings_.ending_seconds) {
        refuse(owner_in(look_into(file_.path()).value_or("")));
      }
      settings_.pause(settings_.look_seconds);
    }
  }

  // Throws if the file cannot be read, because it may belong to another run.
  std::string content() const {
    const auto content = look_into(file_.path());
    if (content) return *content;
    throw IoError(file_.path() + ": cannot be read: " + errno_text() +
                  "; another run may work in this folder");
  }

  // Returns whether it had to wait. Silence is counted in looks, so that time in which this host,
  // and perhaps the owner's, was suspended does not count.
  bool wait_until_free() {
    LockSight sight;
    sight.first = content();
    bool waits = false;
    for (;; sight.silent_seconds += settings_.look_seconds) {
      sight.now = content();
      const auto owner = LockRecord::parse(sight.now);
      sight.owner_start = owner ? start_of_process(owner->process) : std::nullopt;
      const LockVerdict verdict = judge_lock(sight, record_, settings_.silence_seconds);
      if (verdict == LockVerdict::kHeld) {
        // The kernel frees the lock of a process that ends before /proc shows its end.
        if (sight.silent_seconds >= settings_.ending_seconds) refuse(owner_in(sight.now));
        settings_.pause(settings_.look_seconds);
        continue;
      }
      if (verdict == LockVerdict::kFree) {
        if (waits && owner) deposed_ = owner->token;
        return waits;
      }
      if (!std::exchange(waits, true) && settings_.on_wait) {
        settings_.on_wait(folder_ + ": was last used by " + owner_in(sight.now) +
                          ", which did not record its end; watching its heartbeat in run.lock "
                          "for " +
                          format_fixed(settings_.silence_seconds, 0) + " s");
      }
      settings_.pause(settings_.look_seconds);
    }
  }

  // If several runs take a silent lock, the last one to write wins; the others see its token.
  void settle() {
    for (double waited = 0; waited < settings_.settle_seconds; waited += settings_.look_seconds) {
      settings_.pause(settings_.look_seconds);
    }
    const std::string now = content();
    if (judge_beat(now, record_.token, deposed_) == BeatVerdict::kLost) refuse(owner_in(now));
  }

  // Overwrites the previous record in one write and syncs it for other hosts. Truncates the rest
  // of a longer record that an old program or damage left.
  bool write_record() {
    const std::string text = record_.text();
    const int file = file_.descriptor();
    return ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
           ::ftruncate(file, static_cast<off_t>(text.size())) == 0 && ::fdatasync(file) == 0;
  }

  // Under mutex_. False if another run owns the folder.
  bool look() {
    const auto now = look_into(file_.path());
    last_look_ = seconds_since_boot();
    if (!now || judge_beat(*now, record_.token, deposed_) != BeatVerdict::kLost) return true;
    if (lost_.empty()) {
      lost_ =
          folder_ + ": " + owner_in(*now) +
          " has taken over this folder, because this run's heartbeat had stopped; this run ends "
          "and saves nothing more; start only one of the two";
      if (settings_.on_lost) settings_.on_lost(lost_);
    }
    return false;
  }

  void beat_until_stopped() {
    name_this_thread("run lock");
    const auto interval = std::chrono::duration<double>(settings_.beat_seconds);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, interval, [this] { return stopping_; })) {
      if (!look()) return;
      ++record_.beat;
      // On failure the next heartbeat tries again. If all fail, another start takes over, and
      // look() detects it.
      write_record();
    }
  }

  // Spares the next start the wait.
  void release() {
    if (!look()) return;
    record_.released = true;
    write_record();  // if it fails, the next start watches the heartbeat
  }

  const std::string folder_;
  LockSettings settings_;
  File file_;
  LockRecord record_;
  std::string deposed_;
  std::mutex mutex_;  // guards the members below, and record_ and file_ once the thread runs
  std::condition_variable changed_;
  bool stopping_ = false;
  double last_look_ = 0;
  std::string lost_;
  std::thread thread_;  // last
};

RunLock::RunLock(const std::string& folder, LockSettings settings)
    : heartbeat_(std::make_unique<Heartbeat>(folder, std::move(settings))) {}
RunLock::~RunLock() = default;
RunLock::RunLock(RunLock&& other) noexcept = default;
RunLock& RunLock::operator=(RunLock&& other) noexcept = default;

bool RunLock::is_held(const std::string& folder) {
  const std::optional<File> file = open_to_look(folder + kName);
  if (!file) return false;
  struct flock lock = whole_file_by(F_RDLCK);
  return ::fcntl(file->descriptor(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool RunLock::is_in(const std::string& folder) {
  const auto content = look_into(folder + kName);
  return content && (is_blank(*content) || LockRecord::parse(*content).has_value());
}

std::string RunLock::owner_of(const std::string& folder) {
  const auto content = look_into(folder + kName);
  const auto record = content ? LockRecord::parse(*content) : std::nullopt;
  return record ? record->token : "";
}

void RunLock::require_held() const { heartbeat_->require_held(); }

}  // namespace tandem::metrics
