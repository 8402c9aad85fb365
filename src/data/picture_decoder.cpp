#include "picture_decoder.hpp"

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {

void throw_damaged(const std::string& where, const char* format, const char* message) {
  throw DataError(where + ": is a damaged " + format + " file (" + message +
                  "), a whole one was expected; save or fetch it again");
}

void throw_out_of_memory(const std::string& where) {
  throw DataError(where +
                  ": takes more memory than there is; make the picture smaller, or use fewer "
                  "threads");
}

void require_fitting(const PictureExtent& extent, const std::string& where,
                     std::uint64_t most_pixels) {
  const auto pixels =
      static_cast<std::uint64_t>(extent.height) * static_cast<std::uint64_t>(extent.width);
  const bool has_sides = extent.height > 0 && extent.width > 0 &&
                         extent.height <= kMaxPictureSide && extent.width <= kMaxPictureSide;
  if (has_sides && pixels <= most_pixels) return;
  throw DataError(where + ": is a picture of " + std::to_string(extent.width) + " x " +
                  std::to_string(extent.height) + " pixels, 1 to " +
                  format_count(static_cast<std::int64_t>(most_pixels)) + " in all and at most " +
                  format_count(kMaxPictureSide) + " on a side were expected; make it smaller");
}

}  // namespace tandem::data
