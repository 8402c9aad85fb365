#include "spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

File open_nameless() {
  const std::string folder = std::filesystem::temp_directory_path();
  std::string path = folder + "/tandem-pack-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) {
    throw CannotCreateError(folder + ": a temporary file cannot be made there: " +
                            std::strerror(errno) + "; set TMPDIR to a writable folder");
  }
  ::unlink(path.c_str());
  return File(descriptor, path);
}

}  // namespace

Spool::Spool(std::size_t members) : file_(open_nameless()), members_(members), offsets_(members) {}

void Spool::put(std::size_t index, SourceFile member) {
  offsets_[index] = end_;
  file_.write_at(end_, member.bytes.get(), member.size);
  end_ += member.size;
  member.bytes.reset();
  members_[index] = std::move(member);
}

std::shared_ptr<const SourceFile> Spool::get(std::size_t index) const {
  const SourceFile& member = members_[index];
  auto file = std::make_shared<SourceFile>();
  file->name = member.name;
  file->where = member.where;
  file->size = member.size;
  file->bytes = std::make_unique<std::uint8_t[]>(member.size);
  if (file_.read_at(offsets_[index], file->bytes.get(), member.size) != member.size) {
    throw IoError(file_.path() + ": ends within what was written to it; see to the disk of TMPDIR");
  }
  return file;
}

}  // namespace tandem::data
