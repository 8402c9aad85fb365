#include "tandem/data/image_file.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "data/files/byte_stream.hpp"
#include "picture_decoder.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

// Holds the header of nearly every file; some cameras put a preview before it.
constexpr std::size_t kBeginning = std::size_t{64} << 10;

constexpr int kFirstTurned = 5;  // orientations from it on exchange height and width

// The index of the pixel that is at this place of the upright picture, which has this extent.
std::size_t source_of(const Picture& picture, const PictureExtent& extent, int row, int column) {
  if (has_mirrored_rows(picture.orientation)) row = extent.height - 1 - row;
  if (has_mirrored_columns(picture.orientation)) column = extent.width - 1 - column;
  if (picture.orientation >= kFirstTurned) std::swap(row, column);
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(picture.width) +
         static_cast<std::size_t>(column);
}

// A command of ImageMagick. "[0]" is the first picture of an animation. The name keeps its ending,
// because another picture may have the name without it.
std::string conversion_of(const std::string& path) {
  return "magick " + shell_word(path + "[0]") + " " + shell_word(path + ".png");
}

std::string read_some(const File& file, std::uint64_t bytes) {
  std::string content(bytes, '\0');
  content.resize(file.read_at(0, content.data(), content.size()));
  return content;
}

std::uint64_t checked_size(const File& file) {
  const std::uint64_t size = file.size();
  if (size > kMaxPictureBytes) {
    throw DataError(file.path() + ": has " + format_bytes(size) +
                    ", a picture of at most 268 MB was expected; make it smaller");
  }
  return size;
}

}  // namespace

std::unique_ptr<PictureDecoder> open_picture(std::string_view bytes, const std::string& where) {
  if (begins_with(bytes, kPngSignature)) return open_png(bytes, where);
  if (begins_with(bytes, kJpegSignature)) return open_jpeg(bytes, where);
  const bool is_foreign = !foreign_picture(bytes).empty();
  throw DataError(where + ": is " + describe_beginning(bytes.substr(0, 64)) +
                  ", a PNG or JPEG file was expected; convert it" +
                  (is_foreign ? ": " + conversion_of(where) : ", or leave it out"));
}

Picture decode_picture(std::string_view bytes, const std::string& where, std::uint64_t most_pixels,
                       const BeforeTaking& before) try {
  const auto decoder = open_picture(bytes, where);
  const PictureExtent extent = decoder->extent();
  require_fitting(extent, where, most_pixels);
  // upright() makes another picture, of at most four channels.
  if (before) before(decoder->memory() + (extent.orientation == 1 ? 0 : 4 * extent.pixels()));
  return decoder->decode();
} catch (const std::bad_alloc&) {
  throw_out_of_memory(where);
}

// libjpeg refuses the same files at an eighth of the size; docs/design-notes.md has the reasons.
PictureExtent prove_decodable(std::string_view bytes, const std::string& where,
                              std::uint64_t most_pixels, const BeforeTaking& before) try {
  const auto decoder = open_picture(bytes, where);
  const PictureExtent extent = decoder->extent();
  require_fitting(extent, where, most_pixels);
  decoder->reduce(1);
  if (before) before(decoder->memory());
  decoder->decode();
  return extent;
} catch (const std::bad_alloc&) {
  throw_out_of_memory(where);
}

PictureExtent upright(PictureExtent extent) {
  if (extent.orientation >= kFirstTurned) std::swap(extent.height, extent.width);
  extent.orientation = 1;
  return extent;
}

Picture upright(Picture picture) {
  if (picture.orientation == 1) return picture;
  const PictureExtent extent =
      upright(PictureExtent{picture.height, picture.width, false, picture.orientation});
  Picture turned{picture.channels, extent.height, extent.width, {}};
  turned.values.reserve(picture.values.size());
  const auto channels = static_cast<std::size_t>(picture.channels);
  for (int row = 0; row < turned.height; ++row) {
    for (int column = 0; column < turned.width; ++column) {
      const std::size_t source = channels * source_of(picture, extent, row, column);
      const auto first = picture.values.begin() + static_cast<std::ptrdiff_t>(source);
      turned.values.insert(turned.values.end(), first,
                           first + static_cast<std::ptrdiff_t>(channels));
    }
  }
  return turned;
}

std::string read_picture_bytes(const std::string& path, const BeforeTaking& before) try {
  const File file = File::open_for_reading(path);
  const std::uint64_t size = checked_size(file);
  if (before) before(size);
  return read_some(file, size);
} catch (const std::bad_alloc&) {
  throw_out_of_memory(path);
}

PictureExtent read_picture_extent(const std::string& path) {
  const File file = File::open_for_reading(path);
  const std::uint64_t size = checked_size(file);
  PictureExtent extent;
  try {
    extent =
        open_picture(read_some(file, std::min<std::uint64_t>(size, kBeginning)), path)->extent();
  } catch (const DataError&) {
    if (size <= kBeginning) throw;
    extent = open_picture(read_some(file, size), path)->extent();
  }
  require_fitting(extent, path, kMaxPicturePixels);
  return extent;
}

bool is_picture_name(const std::string& path) {
  const std::string name = to_lower(path);
  return ends_with(name, ".png") || ends_with(name, ".jpg") || ends_with(name, ".jpeg");
}

void throw_damaged(const std::string& where, const char* format, const char* message) {
  throw DataError(where + ": is a damaged " + format + " file (" + message +
                  "), a whole one was expected; save or fetch it again");
}

void throw_out_of_memory(const std::string& where) {
  throw PictureMemoryError(where +
                           ": needs more memory than is available; make the picture smaller, or "
                           "use fewer threads");
}

void require_fitting(const PictureExtent& extent, const std::string& where,
                     std::uint64_t most_pixels) {
  const bool has_sides = extent.height > 0 && extent.width > 0 &&
                         extent.height <= kMaxPictureSide && extent.width <= kMaxPictureSide;
  if (has_sides && extent.pixels() <= most_pixels) return;
  throw DataError(where + ": is a picture of " + std::to_string(extent.width) + " x " +
                  std::to_string(extent.height) + " pixels, 1 to " + format_count(most_pixels) +
                  " in all and at most " + format_count(kMaxPictureSide) +
                  " on a side were expected; make it smaller");
}

std::vector<std::string> files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  constexpr int kMaxDepth = 32;  // a link to a folder around it would never end
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink,
                                         error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    const bool is_hidden = entry->path().filename().string().front() == '.';
    const bool is_folder = entry->is_directory(error);
    if (error == std::errc::no_such_file_or_directory || error == std::errc::permission_denied ||
        error == std::errc::too_many_symbolic_link_levels) {
      error.clear();  // a link to nothing, to a closed folder or to itself: reported when opened
      entry.disable_recursion_pending();
    }
    if (error) break;
    if (is_hidden && is_folder) entry.disable_recursion_pending();
    if (!is_hidden && !is_folder) files.push_back(entry->path().string());
    if (entry.depth() > kMaxDepth) {
      throw IoError(folder + ": holds folders in folders more than " + std::to_string(kMaxDepth) +
                    " deep, such as " + entry->path().string() +
                    "; a link back to the folder itself does that");
    }
    entry.increment(error);
  }
  if (error) {
    const std::string message = folder + ": cannot be listed: " + error.message();
    if (error == std::errc::no_such_file_or_directory) throw MissingInputError(message);
    throw IoError(message + "; check the folder");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tandem::data
