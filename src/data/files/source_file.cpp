#include "source_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "name_rules.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

File open_nameless() {
  const std::string folder = std::filesystem::temp_directory_path();
  std::string path = folder + "/tandem-pack-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) {
    throw CannotCreateError(folder + ": a temporary file cannot be made there: " + errno_text() +
                            "; set TMPDIR to a writable folder");
  }
  ::unlink(path.c_str());
  return File(descriptor, path);
}

}  // namespace

DataError fault_at(const std::string& where, std::uint64_t offset, const std::string& found,
                   const std::string& expected) {
  return DataError(where + ": at offset " + std::to_string(offset) + ": found " + found +
                   ", expected " + expected + "; check the file or fetch it again");
}

SourceFile read_exactly(ByteStream& stream, std::string name, std::size_t size,
                        Span<const std::uint8_t> have, const std::optional<MemoryRoom>& available) {
  SourceFile file;
  file.name = std::move(name);
  file.where = stream.where();
  file.size = size;
  // Not for what a header only claims. Not cleared, unlike a vector: it is 30 MB at a time.
  const auto room =
      static_cast<std::size_t>(std::min<std::uint64_t>(size, have.size() + stream.most_left()));
  if (available && room > available->bytes) {
    throw DataError(file.where + ": takes " + format_bytes(room) + " of memory, " +
                    available->text() + "; pack it where there is more");
  }
  file.bytes.reset(new std::uint8_t[room]);
  std::copy(have.begin(), have.end(), file.bytes.get());
  const std::size_t got =
      have.size() + stream.read(file.bytes.get() + have.size(), room - have.size());
  const std::string expected = format_count(size) + " bytes in all";
  if (got < size) {
    const std::string_view beginning(reinterpret_cast<const char*>(file.bytes.get()),
                                     std::min<std::size_t>(got, 64));
    throw fault_at(file.where, got, "the end (of " + describe_beginning(beginning) + ")", expected);
  }
  std::uint8_t extra;
  if (stream.read(&extra, 1) != 0) throw fault_at(file.where, size, "more data", expected);
  return file;
}

std::string digest_line(const SourceFile& file) {
  Sha256 digest;
  digest.update(file.bytes.get(), file.size);
  return digest.finish() + "  " + file.name + "\n";
}

std::string digest_of(const std::vector<SourceFile>& files) {
  std::string lines;
  for (const SourceFile& file : files) lines += digest_line(file);
  return sha256_hex(lines);
}

std::vector<std::string> parse_class_names(const std::string& text, const std::string& where,
                                           std::size_t most) {
  std::vector<std::string> names = split(text, '\n');
  for (std::string& name : names) {
    if (!name.empty() && name.back() == '\r') name.pop_back();
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  check_class_names(names, where, most);
  return names;
}

std::vector<std::string> read_class_names(const std::string& path, std::size_t most) {
  constexpr std::uint64_t kMaxFile = std::uint64_t{8} << 20;
  std::string text = read_file(path, kMaxFile);
  text.erase(0, byte_order_mark_bytes(text));
  return parse_class_names(text, path, most);
}

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
    throw IoError(file_.path() +
                  ": is shorter than the data written to it; check the disk of TMPDIR");
  }
  return file;
}

}  // namespace tandem::data
