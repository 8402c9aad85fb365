#include "archive_reader.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "source_file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::size_t kInputBytes = std::size_t{1} << 16;
constexpr std::uint64_t kMaxTar = std::uint64_t{1} << 30;  // a bomb would be larger
constexpr std::uint64_t kMaxZipMembers = 1000;

bool leaves_folder(const std::string& name) {
  if (name.empty() || name[0] == '/') return true;
  const std::vector<std::string> parts = split(name, '/');
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

}  // namespace

ArchiveReader::ArchiveReader(std::unique_ptr<ByteStream> tar)
    : tar_(std::move(tar)), buffer_(kInputBytes), archive_(archive_read_new(), archive_read_free) {
  archive_read_support_format_tar(archive_.get());
  check(open());
}

ArchiveReader::ArchiveReader(File zip)
    : zip_(std::move(zip)), buffer_(kInputBytes), archive_(archive_read_new(), archive_read_free) {
  archive_read_support_format_zip_seekable(archive_.get());
  archive_read_set_seek_callback(archive_.get(), seek_input);
  if (open() == ARCHIVE_OK) return;
  if (error_) std::rethrow_exception(error_);
  throw DataError(zip_->path() + ": is " + describe_file(zip_->path()) +
                  " without the end of a zip archive, as an interrupted copy leaves it; a whole "
                  ".npz file was expected");
}

bool ArchiveReader::next() {
  for (;;) {
    if (members_ > 0) check(archive_read_data_skip(archive_.get()));
    const std::int64_t members_end = archive_filter_bytes(archive_.get(), 0);
    ::archive_entry* entry = nullptr;
    const int code = check(archive_read_next_header(archive_.get(), &entry));
    if (code == ARCHIVE_EOF) {
      if (tar_) finish_tar(members_end);
      return false;
    }
    ++members_;
    const char* name = archive_entry_pathname(entry);
    name_ = name == nullptr ? "" : name;
    size_ = left_ = static_cast<std::uint64_t>(archive_entry_size(entry));
    if (tar_) require_inside_folder(entry);
    if (zip_) require_known_method(entry);
    // Of a zip archive the local header differs from the directory. Of a tar archive nothing is
    // amiss but a name, such as the owner's, that is not in ASCII.
    if (zip_ && code == ARCHIVE_WARN && !name_.empty()) check(ARCHIVE_FAILED);
    if (archive_entry_filetype(entry) == AE_IFREG) return true;
  }
}

std::size_t ArchiveReader::read(void* data, std::size_t bytes) {
  const la_ssize_t got = archive_read_data(archive_.get(), data, bytes);
  if (got < 0) check(ARCHIVE_FAILED);
  const auto size = static_cast<std::size_t>(got);
  if (size > left_ || (size < bytes && size < left_)) {
    fail("another size than the header of " + name_ + " says", "a whole archive");
  }
  left_ -= size;
  return size;
}

std::uint64_t ArchiveReader::most_left() const {
  if (zip_) return std::min(left_, zip_->size() * kMaxInflated);
  const auto taken = static_cast<std::uint64_t>(archive_filter_bytes(archive_.get(), 0));
  return std::min(left_, input_at_ - taken + tar_->most_left());
}

std::string ArchiveReader::where() const {
  return (tar_ ? tar_->where() : zip_->path()) + ": member " + name_;
}

std::ptrdiff_t ArchiveReader::read_input(::archive* /*archive*/, void* self, const void** data) {
  auto& reader = *static_cast<ArchiveReader*>(self);
  std::vector<char>& buffer = reader.buffer_;
  try {
    const std::size_t got =
        reader.tar_ ? reader.tar_->read(buffer.data(), buffer.size())
                    : reader.zip_->read_at(reader.input_at_, buffer.data(), buffer.size());
    reader.input_at_ += got;
    reader.input_ended_ = got == 0;
    if (reader.tar_ && reader.input_at_ > kMaxTar) {
      reader.fail_at_end("more than 1 GiB", "a smaller archive");
    }
    *data = buffer.data();
    return static_cast<std::ptrdiff_t>(got);
  } catch (...) {
    reader.error_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

std::int64_t ArchiveReader::seek_input(::archive* /*archive*/, void* self, std::int64_t offset,
                                       int whence) {
  auto& reader = *static_cast<ArchiveReader*>(self);
  try {
    const std::uint64_t from = whence == SEEK_SET   ? 0
                               : whence == SEEK_CUR ? reader.input_at_
                                                    : reader.zip_->size();
    reader.input_at_ = from + static_cast<std::uint64_t>(offset);
    return static_cast<std::int64_t>(reader.input_at_);
  } catch (...) {
    reader.error_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

int ArchiveReader::open() {
  archive_read_set_read_callback(archive_.get(), read_input);
  archive_read_set_callback_data(archive_.get(), this);
  return archive_read_open1(archive_.get());
}

int ArchiveReader::check(int code) const {
  if (error_) std::rethrow_exception(error_);
  if (code == ARCHIVE_OK || code == ARCHIVE_EOF || code == ARCHIVE_WARN) return code;
  if (tar_ && input_ended_) fail_at_end("the end", "a whole tar archive");
  const char* reason = archive_error_string(archive_.get());
  fail(std::string("damage (") + trim(reason == nullptr ? "unknown" : reason) + ")",
       tar_ ? "a whole tar archive" : "a whole zip archive");
}

void ArchiveReader::require_inside_folder(::archive_entry* entry) const {
  if (leaves_folder(name_)) {
    fail("the member '" + name_ + "'", "names inside the archive's folder");
  }
  const bool is_plain =
      archive_entry_filetype(entry) == AE_IFDIR ||
      (archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr &&
       archive_entry_sparse_count(entry) == 0);
  if (!is_plain) {
    fail("the member '" + name_ + "', a link, device or sparse file",
         "regular files and folders only");
  }
}

void ArchiveReader::require_known_method(::archive_entry* entry) const {
  if (members_ > kMaxZipMembers) fail("more than 1,000 members", "at most 1,000");
  const std::string_view form = archive_format_name(archive_.get());  // "ZIP 2.0 (deflation)"
  const bool is_known = form.find("(uncompressed)") != std::string_view::npos ||
                        form.find("(deflation)") != std::string_view::npos;
  if (!is_known || archive_entry_is_encrypted(entry) != 0) {
    fail("the member " + name_ + " of another method",
         "members that are stored or deflated, and not encrypted");
  }
}

// libarchive also accepts an archive without a mark at its end.
void ArchiveReader::finish_tar(std::int64_t members_end) {
  if (archive_filter_bytes(archive_.get(), 0) == members_end) {
    fail_at_end("the end", "a whole tar archive");
  }
  const void* data = nullptr;
  while (read_input(archive_.get(), this, &data) > 0) {
  }
  check(ARCHIVE_OK);
}

void ArchiveReader::fail(const std::string& found, const std::string& expected) const {
  const auto at = static_cast<std::uint64_t>(archive_read_header_position(archive_.get()));
  throw fault_at(tar_ ? tar_->where() + " (uncompressed)" : zip_->path(), at, found, expected);
}

void ArchiveReader::fail_at_end(const std::string& found, const std::string& expected) const {
  throw fault_at(tar_->where() + " (uncompressed)", input_at_, found, expected);
}

}  // namespace tandem::data
