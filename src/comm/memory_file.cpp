#include "memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tandem::comm {
namespace {

// The name of a file in /dev/shm, from its random word.
std::string name_of(std::int64_t word) {
  return "/dev/shm/tandem." + std::to_string(static_cast<std::uint64_t>(word));
}

// 0 if the kernel has no random bytes.
std::uint64_t random_word() {
  std::uint64_t word = 0;
  return ::getrandom(&word, sizeof word, 0) == sizeof word ? word : 0;
}

}  // namespace

MemoryFile::MemoryFile(MemoryFile&& other) noexcept { *this = std::move(other); }

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_named_, other.is_named_);
  std::swap(id_, other.id_);
  return *this;
}

MemoryFile::~MemoryFile() {
  if (is_named_) ::unlink(name_of(id_.word).c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

MemoryFile MemoryFile::make_unnamed() {
  MemoryFile file(::memfd_create("tandem", MFD_CLOEXEC));
  file.write_id(random_word());
  return file;
}

MemoryFile MemoryFile::make_in_dev_shm() {
  const std::uint64_t word = random_word();
  const std::string name = name_of(static_cast<std::int64_t>(word));
  MemoryFile file(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  file.is_named_ = static_cast<bool>(file);
  file.write_id(word);
  file.id_.process = 0;  // opened by name, not through /proc
  return file;
}

void MemoryFile::write_id(std::uint64_t word) {
  struct stat status {};
  const bool can = descriptor_ >= 0 && word != 0 && ::fstat(descriptor_, &status) == 0 &&
                   ::pwrite(descriptor_, &word, sizeof word, 0) == sizeof word;
  id_ = {::getpid(), descriptor_, static_cast<std::int64_t>(status.st_dev),
         static_cast<std::int64_t>(status.st_ino), static_cast<std::int64_t>(word)};
  if (!can) {
    MemoryFile none;
    std::swap(*this, none);
  }
}

MemoryFile MemoryFile::open(const SharedFileId& there) {
  if (there.word == 0) return {};
  std::string path = name_of(there.word);
  if (there.process != 0) {
    path = "/proc/" + std::to_string(there.process) + "/fd/" + std::to_string(there.number);
  }
  MemoryFile file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  std::int64_t word = 0;
  const bool is_theirs =
      file && ::fstat(file.descriptor_, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::int64_t>(status.st_dev) == there.device &&
      static_cast<std::int64_t>(status.st_ino) == there.inode &&
      ::pread(file.descriptor_, &word, sizeof word, 0) == sizeof word && word == there.word;
  return is_theirs ? std::move(file) : MemoryFile();
}

void MemoryFile::withdraw() {
  if (std::exchange(is_named_, false)) ::unlink(name_of(id_.word).c_str());
  // The first page is allocated already, so this cannot fail.
  const std::uint64_t zero = 0;
  [[maybe_unused]] const ssize_t put = ::pwrite(descriptor_, &zero, sizeof zero, 0);
}

bool MemoryFile::resize(std::size_t bytes) {
  const std::size_t least = sizeof id_.word;  // the word is checked by those who open the file
  return ::ftruncate(descriptor_, static_cast<off_t>(std::max(bytes, least))) == 0;
}

bool MemoryFile::reserve(std::size_t first, std::size_t bytes) {
  int failure = 0;
  do {
    failure = ::posix_fallocate(descriptor_, static_cast<off_t>(first), static_cast<off_t>(bytes));
  } while (failure == EINTR);
  return failure == 0;
}

void* MemoryFile::map(std::size_t bytes) const {
  if (descriptor_ < 0) return nullptr;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace tandem::comm
