#include "zip_reader.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "inflating_stream.hpp"
#include "source_file.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/little_endian.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

// The records of a zip file, after PKWARE's APPNOTE.TXT 6.3.
constexpr std::string_view kEndSignature("PK\5\6", 4);
constexpr std::string_view kEnd64LocatorSignature("PK\6\7", 4);
constexpr std::string_view kEnd64Signature("PK\6\6", 4);
constexpr std::string_view kEntrySignature("PK\1\2", 4);
constexpr std::string_view kLocalSignature("PK\3\4", 4);
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kEnd64LocatorBytes = 20;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kEntryBytes = 46;
constexpr std::uint64_t kLocalBytes = 30;
constexpr std::uint64_t kMostComment = 0xFFFF;
constexpr std::uint64_t kMostMembers = 1000;
constexpr std::uint64_t kMostDirectoryBytes = std::uint64_t{1} << 20;
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  // stands where a size is in the zip64 field
constexpr int kDeflateAlone = -MAX_WBITS;

// Sizes that do not fit 32 bits, in this order, each only where the entry says so.
void read_zip64(std::string_view extra, ZipReader::Member& member) {
  while (extra.size() >= 4) {
    const std::uint64_t kind = little_endian(extra, 0, 2);
    const std::uint64_t length =
        std::min<std::uint64_t>(little_endian(extra, 2, 2), extra.size() - 4);
    if (kind == kZip64Field) {
      std::string_view field = extra.substr(4, length);
      for (std::uint64_t* value : {&member.bytes, &member.packed_bytes, &member.header_at}) {
        if (*value != kIn64 || field.size() < 8) continue;
        *value = little_endian(field, 0, 8);
        field.remove_prefix(8);
      }
    }
    extra.remove_prefix(4 + length);
  }
}

// The part of a file that a member is, as it lies there.
class StoredStream : public ByteStream {
 public:
  StoredStream(const File& file, std::uint64_t at, std::uint64_t bytes, std::string where)
      : file_(file), at_(at), left_(bytes), where_(std::move(where)) {}

  std::size_t read(void* data, std::size_t bytes) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, left_));
    const std::size_t got = file_.read_at(at_, data, wanted);
    at_ += got;
    left_ -= got;
    return got;
  }
  std::uint64_t most_left() const override { return left_; }
  std::string where() const override { return where_; }

 private:
  const File& file_;
  std::uint64_t at_;
  std::uint64_t left_;
  std::string where_;
};

class InflatedStream : public InflatingStream {
 public:
  explicit InflatedStream(std::unique_ptr<ByteStream> packed)
      : InflatingStream(kDeflateAlone), packed_(std::move(packed)), input_(std::size_t{1} << 16) {}

  std::uint64_t most_left() const override {
    return ended_ ? 0 : (packed_->most_left() + zlib_.avail_in) * kMostInflated + kInflateWindow;
  }
  std::string where() const override { return packed_->where(); }

 private:
  void inflate_some() override {
    if (zlib_.avail_in == 0) {
      zlib_.next_in = input_.data();
      zlib_.avail_in = static_cast<uInt>(packed_->read(input_.data(), input_.size()));
    }
    const bool at_end = zlib_.avail_in == 0;
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    ended_ = result == Z_STREAM_END;
    const bool stuck = result == Z_BUF_ERROR && at_end;
    if (ended_ || result == Z_OK || (result == Z_BUF_ERROR && !stuck)) return;
    throw fault_at(where(), zlib_.total_in,
                   stuck ? "the end of the compressed data" : "damaged compressed data",
                   "whole deflate data");
  }

  std::unique_ptr<ByteStream> packed_;
  std::vector<Bytef> input_;
};

// Lets a member pass and proves it.
class CheckedStream : public ByteStream {
 public:
  CheckedStream(std::unique_ptr<ByteStream> content, const ZipReader::Member& member)
      : content_(std::move(content)), bytes_(member.bytes), crc32_(member.crc32) {}

  std::size_t read(void* data, std::size_t bytes) override {
    const std::size_t got = content_->read(data, bytes);
    done_ += got;
    if (done_ > bytes_) throw fault_at(where(), bytes_, "more data", expected());
    found_ = static_cast<std::uint32_t>(
        crc32_z(found_, static_cast<const Bytef*>(data), static_cast<z_size_t>(got)));
    if (got < bytes && done_ < bytes_) throw fault_at(where(), done_, "the end", expected());
    if (got < bytes && found_ != crc32_) {
      throw fault_at(where(), 0, "data whose CRC-32 is not that of the archive", "whole data");
    }
    return got;
  }
  std::uint64_t most_left() const override {
    return std::min(bytes_ - done_, content_->most_left());
  }
  std::string where() const override { return content_->where(); }

 private:
  std::string expected() const {
    return format_count(static_cast<std::int64_t>(bytes_)) + " bytes in all";
  }

  std::unique_ptr<ByteStream> content_;
  const std::uint64_t bytes_;
  const std::uint32_t crc32_;
  std::uint64_t done_ = 0;
  std::uint32_t found_ = 0;
};

}  // namespace

ZipReader::ZipReader(const std::string& path)
    : file_(File::open_for_reading(path)), size_(file_.size()) {
  read_directory();
}

const ZipReader::Member* ZipReader::find(const std::string& name) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& each) { return each.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

std::unique_ptr<ByteStream> ZipReader::open(const Member& member) const {
  const std::uint64_t at = data_of(member);
  if (member.packed_bytes > size_ - at) {
    throw fault_at(path(), at, "the end inside of " + member.name, "a whole archive");
  }
  std::unique_ptr<ByteStream> content = std::make_unique<StoredStream>(
      file_, at, member.packed_bytes, path() + ": member " + member.name);
  if (member.deflated) content = std::make_unique<InflatedStream>(std::move(content));
  return std::make_unique<CheckedStream>(std::move(content), member);
}

// The directory is at the end, behind it a record that tells where it begins, and a comment.
void ZipReader::read_directory() {
  const std::uint64_t tail_bytes = std::min(size_, kEndBytes + kMostComment);
  const std::string tail = read_bytes(size_ - tail_bytes, tail_bytes, "an end");
  const std::size_t found = tail.rfind(kEndSignature);
  if (found == std::string::npos || tail.size() - found < kEndBytes) {
    throw DataError(path() + ": is " + describe_file(path()) +
                    " without the end of a zip archive, as an interrupted copy leaves it; a whole "
                    ".npz file was expected");
  }
  const std::uint64_t end_at = size_ - tail_bytes + found;
  std::uint64_t count = little_endian(tail, found + 10, 2);
  std::uint64_t bytes = little_endian(tail, found + 12, 4);
  std::uint64_t at = little_endian(tail, found + 16, 4);
  if (at == kIn64 || bytes == kIn64 || count == 0xFFFF) {
    if (end_at < kEnd64LocatorBytes) throw fault_at(path(), 0, "no zip64 record", "one");
    const std::string locator =
        read_bytes(end_at - kEnd64LocatorBytes, kEnd64LocatorBytes, "a zip64 record");
    if (locator.substr(0, 4) != kEnd64LocatorSignature) {
      throw fault_at(path(), end_at - kEnd64LocatorBytes, "no zip64 record", "one");
    }
    const std::uint64_t end64_at = little_endian(locator, 8, 8);
    const std::string end64 = read_bytes(end64_at, kEnd64Bytes, "a zip64 record");
    if (end64.substr(0, 4) != kEnd64Signature) {
      throw fault_at(path(), end64_at, "no zip64 record", "one");
    }
    count = little_endian(end64, 32, 8);
    bytes = little_endian(end64, 40, 8);
    at = little_endian(end64, 48, 8);
  }
  if (count > kMostMembers || bytes > kMostDirectoryBytes) {
    throw fault_at(path(), end_at, std::to_string(count) + " members", "at most 1,000");
  }
  read_entries(at, bytes, count);
}

void ZipReader::read_entries(std::uint64_t at, std::uint64_t bytes, std::uint64_t count) {
  const std::string directory = read_bytes(at, bytes, "the archive's directory");
  std::string_view rest = directory;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t here = at + (bytes - rest.size());
    if (rest.size() < kEntryBytes || rest.substr(0, 4) != kEntrySignature) {
      throw fault_at(path(), here, "no entry", "an entry of the archive's directory");
    }
    const std::uint64_t flags = little_endian(rest, 8, 2);
    const std::uint64_t method = little_endian(rest, 10, 2);
    Member member;
    member.crc32 = static_cast<std::uint32_t>(little_endian(rest, 16, 4));
    member.packed_bytes = little_endian(rest, 20, 4);
    member.bytes = little_endian(rest, 24, 4);
    member.header_at = little_endian(rest, 42, 4);
    const std::uint64_t name = little_endian(rest, 28, 2);
    const std::uint64_t extra = little_endian(rest, 30, 2);
    const std::uint64_t comment = little_endian(rest, 32, 2);
    rest.remove_prefix(kEntryBytes);
    if (name + extra + comment > rest.size()) {
      throw fault_at(path(), here, "an entry that ends too early", "a whole one");
    }
    member.name = rest.substr(0, name);
    read_zip64(rest.substr(name, extra), member);
    rest.remove_prefix(name + extra + comment);
    constexpr std::uint64_t kEncrypted = 1;
    if ((flags & kEncrypted) != 0 || (method != 0 && method != 8)) {
      throw fault_at(path(), here, "the member " + member.name + " of another method",
                     "members that are stored or deflated, and not encrypted");
    }
    member.deflated = method == 8;
    members_.push_back(std::move(member));
  }
}

std::string ZipReader::read_bytes(std::uint64_t at, std::uint64_t bytes, const char* what) const {
  if (at > size_ || bytes > size_ - at) {
    throw fault_at(path(), std::min(at, size_), "the end", what);
  }
  std::string content(bytes, '\0');
  content.resize(file_.read_at(at, content.data(), content.size()));
  if (content.size() < bytes) throw fault_at(path(), at + content.size(), "the end", what);
  return content;
}

std::uint64_t ZipReader::data_of(const Member& member) const {
  const std::string header = read_bytes(member.header_at, kLocalBytes, "the header of a member");
  if (header.substr(0, 4) != kLocalSignature) {
    throw fault_at(path(), member.header_at, "no header", "the header of " + member.name);
  }
  const std::uint64_t at =
      member.header_at + kLocalBytes + little_endian(header, 26, 2) + little_endian(header, 28, 2);
  return std::min(at, size_);
}

}  // namespace tandem::data
