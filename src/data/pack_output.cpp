#include "pack_output.hpp"

#include <array>
#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/pack.hpp"
#include "user_block.hpp"

namespace tandem::data {
namespace {

// The first line of a list of broken files.
constexpr std::string_view kListMark = "# tandem pack: files that cannot be packed, and why\n";

}  // namespace

void require_replaceable(const std::string& path) {
  if (!file_exists(path) || is_folder(path)) return;
  const File file = File::open_for_reading(path);
  std::array<char, kUserBlockBytes + 8> start{};
  const std::size_t size = file.read_at(0, start.data(), start.size());
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  const std::string_view bytes(start.data(), size);
  if (bytes.substr(0, 8) == kSignature ||
      (size == start.size() && bytes.substr(kUserBlockBytes) == kSignature)) {
    return;
  }
  throw CannotCreateError(path +
                          ": exists already and is not a packed data set; choose another --output, "
                          "or remove it first");
}

bool is_broken_list(const std::string& path) {
  if (!is_regular_file(path)) return false;
  std::string start(kListMark.size(), '\0');
  const File file = File::open_for_reading(path);
  return file.read_at(0, start.data(), start.size()) == start.size() && start == kListMark;
}

void require_replaceable_list(const std::string& path) {
  if (!is_regular_file(path) || is_broken_list(path)) return;
  throw CannotCreateError(path +
                          ": exists already and is not a list of broken files; choose another "
                          "--output, or remove it first");
}

void write_broken_list(const std::string& path, const std::string& lines) {
  write_file_atomically(path, std::string(kListMark) + lines);
}

std::string broken_list_path(const std::string& output) { return output + ".broken.txt"; }

}  // namespace tandem::data
