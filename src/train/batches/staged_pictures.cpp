#include "staged_pictures.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::train {
namespace {

// The name of a file until all ranks have it open.
class Name {
 public:
  explicit Name(std::string path) : path_(std::move(path)) {}
  ~Name() { ::unlink(path_.c_str()); }
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;

 private:
  const std::string path_;
};

void reserve(const File& file, const std::string& folder, std::uint64_t bytes) {
  struct statvfs disk {};
  const bool is_known = ::fstatvfs(file.descriptor(), &disk) == 0;
  const std::uint64_t free = is_known ? std::uint64_t{disk.f_bavail} * disk.f_frsize : bytes;
  // A file system without this call fails at a write.
  const bool is_full =
      free < bytes || (::fallocate(file.descriptor(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
                       (errno == ENOSPC || errno == EDQUOT || errno == EFBIG));
  if (!is_full) return;
  throw UnavailableError("--stage " + folder + ": the picture files take " + format_bytes(bytes) +
                         ", and the disk has " + format_bytes(free) +
                         " free; fix: name a folder on another disk, or leave out --stage; then "
                         "ranks read the data set");
}

// Collective. The first rank of each host creates the file, and all ranks of the host open it.
File open_together(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                   const std::string& folder) {
  std::string path;
  std::optional<Name> name;
  std::optional<File> file;
  comm::agree(world, [&] {
    if (node.rank() != 0) return;
    path = temporary_name(folder + "/tandem-stage");
    const int descriptor =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0) {
      throw CannotCreateError("--stage " + folder + ": a file cannot be created there: " +
                              errno_text() + "; name a folder on a disk of each host");
    }
    name.emplace(path);
    file.emplace(descriptor, path);
  });
  path = node.broadcast_string(path);
  comm::agree(world, [&] {
    if (file) return;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
      throw CannotCreateError("--stage " + folder + ": this rank cannot open " + path +
                              ", which the first rank of its host created: " + errno_text() +
                              "; name a folder that all ranks of the host share");
    }
    file.emplace(descriptor, path);
  });
  return std::move(*file);
}

}  // namespace

void stage_pictures(comm::MpiCommunicator& world, comm::MpiCommunicator& node,
                    const std::string& folder, data::PictureBlocks& pictures) {
  const auto copy = std::make_shared<File>(open_together(world, node, folder));
  // The file has no name any more, so nothing is left of it if the job is killed.
  comm::agree(world, [&] {
    if (node.rank() == 0) reserve(*copy, folder, pictures.extent());
  });
  comm::agree(world, [&] {
    if (node.rank() == 0) pictures.copy_to(*copy);
  });
  pictures.read_from(copy, folder);
}

}  // namespace tandem::train
