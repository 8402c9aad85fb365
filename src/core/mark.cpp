#include "tandem/core/mark.hpp"

#include <algorithm>
#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"

namespace tandem {
namespace {

// Of the head of a page, of the header of a .safetensors, whose metadata come first, or of the
// directory at the end of an archive.
constexpr std::uint64_t kSeenBytes = std::uint64_t{1} << 18;

std::string part_of(const File& file, std::uint64_t offset) {
  std::string bytes(static_cast<std::size_t>(std::min(kSeenBytes, file.size() - offset)), '\0');
  bytes.resize(file.read_at(offset, bytes.data(), bytes.size()));
  return bytes;
}

bool has(std::string_view bytes, std::string_view mark) {
  return bytes.find(mark) != std::string_view::npos;
}

// Pages of versions before 2026-11-25, which have no generator. All of them begin so.
bool is_old_page(std::string_view bytes) {
  constexpr std::string_view kBegin =
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head>";
  return begins_with(bytes, kBegin) &&
         has(bytes,
             "form-action &#39;none&#39;\"/><meta name=\"referrer\" "
             "content=\"no-referrer\"/><title>") &&
         has(bytes, " – tandem</title><style>");
}

}  // namespace

bool has_mark(const std::string& path) {
  const File file = File::open_for_reading(path);
  if (ends_with(path, ".html")) {
    const std::string head = part_of(file, 0);
    return has(head, std::string("name=\"generator\" content=\"") + kMarkGenerator) ||
           is_old_page(head);
  }
  if (ends_with(path, ".safetensors")) {
    return has(part_of(file, 0), std::string("\"") + kMarkKey + "\":");
  }
  // "PK\1\2" begins an entry of the directory; its name follows 42 bytes later.
  const std::string end = part_of(file, file.size() - std::min(kSeenBytes, file.size()));
  return has(end, "PK\x01\x02") && has(end, std::string("/") + kMarkEntry);
}

void require_replaceable(const std::string& path) {
  if (!is_regular_file(path) || has_mark(path)) return;  // anything else fails when it is written
  const bool is_archive = ends_with(path, ".pth") || ends_with(path, ".pt");
  throw CannotCreateError(path + ": exists already, and " +
                          (is_archive ? "has no mark of tandem (versions before 2026-11-25 left "
                                        "none in .pth and .pt files)"
                                      : "tandem did not write it") +
                          "; choose another --output, or add --force to replace it");
}

}  // namespace tandem
