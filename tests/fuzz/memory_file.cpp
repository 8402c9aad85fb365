#include "memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tandem::fuzz {
namespace {

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

}  // namespace

MemoryFile::MemoryFile() : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  if (descriptor_ < 0) fail("memfd_create");
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

void MemoryFile::write(std::string_view content) {
  if (::ftruncate(descriptor_, 0) != 0) fail("ftruncate");
  const ssize_t put = ::pwrite(descriptor_, content.data(), content.size(), 0);
  if (put != static_cast<ssize_t>(content.size())) fail("pwrite");
}

MemoryFolder::MemoryFolder(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    files_.emplace_back();
    std::filesystem::create_symlink(files_.back().path(), folder_ / name);
  }
}

}  // namespace tandem::fuzz
