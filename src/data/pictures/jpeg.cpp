// Decodes JPEG through libjpeg(-turbo), which only this file and jpeg_output.cpp know.
// Each of the first three needs the one before it and does not say so.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <csetjmp>

#include "exif.hpp"
#include "picture_decoder.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

// A progressive file may go over the whole picture again and again with a few bytes each time.
constexpr int kMaxScans = 100;
// Holds the coefficients of four components of the largest picture, two bytes each.
constexpr long kMaxMemory = 640L << 20;
constexpr std::uint64_t kBlockValues = 64;
// Colors of lower resolution are interpolated from pixels so far outside of a region.
constexpr int kMargin = 4;

// The data behind libjpeg's client pointer. Plain values, because its functions leave by longjmp.
struct Reading {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf on_error{};
  int code = 0;
  char message[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void leave(j_common_ptr info) {
  std::longjmp(static_cast<Reading*>(info->client_data)->on_error, 1);
}

[[noreturn]] void fail(j_common_ptr info) {
  auto* reading = static_cast<Reading*>(info->client_data);
  reading->code = info->err->msg_code;
  info->err->format_message(info, reading->message);
  leave(info);
}

// libjpeg warns and makes up pixels where data is damaged or missing.
void judge_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // a trace message of the decoder
  switch (info->err->msg_code) {
    // Strange, but every pixel is there.
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_TOO_MUCH_DATA:
      return;
    default:
      fail(info);
  }
}

void ignore_output(j_common_ptr /*info*/) {}

void count_scans(j_common_ptr common) {
  const auto* info = reinterpret_cast<j_decompress_ptr>(common);
  if (info->input_scan_number <= kMaxScans) return;
  auto* reading = static_cast<Reading*>(common->client_data);
  std::snprintf(reading->message, sizeof reading->message, "more than %d scans", kMaxScans);
  leave(common);
}

bool read_header(Reading& reading, const unsigned char* bytes, std::size_t size) {
  reading.info.err = jpeg_std_error(&reading.errors);
  reading.errors.error_exit = fail;
  reading.errors.emit_message = judge_message;
  reading.errors.output_message = ignore_output;
  reading.info.client_data = &reading;
  if (setjmp(reading.on_error) != 0) return false;
  jpeg_create_decompress(&reading.info);
  reading.info.mem->max_memory_to_use = kMaxMemory;
  reading.progress.progress_monitor = count_scans;
  reading.info.progress = &reading.progress;
  jpeg_mem_src(&reading.info, bytes, static_cast<unsigned long>(size));
  jpeg_read_header(&reading.info, TRUE);
  return true;
}

bool read_rows(Reading& reading, std::uint8_t* values, std::size_t row_bytes) {
  if (setjmp(reading.on_error) != 0) return false;
  jpeg_start_decompress(&reading.info);
  while (reading.info.output_scanline < reading.info.output_height) {
    JSAMPROW row = values + reading.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&reading.info, &row, 1);
  }
  jpeg_finish_decompress(&reading.info);
  return true;
}

#ifdef LIBJPEG_TURBO_VERSION_NUMBER
bool find_output_size(Reading& reading) {
  if (setjmp(reading.on_error) != 0) return false;
  jpeg_calc_output_dimensions(&reading.info);
  return true;
}

// Narrows the rows to these columns at least. libjpeg may begin further left: it moves `left`.
bool start_columns(Reading& reading, JDIMENSION& left, JDIMENSION width) {
  if (setjmp(reading.on_error) != 0) return false;
  jpeg_start_decompress(&reading.info);
  jpeg_crop_scanline(&reading.info, &left, &width);
  return true;
}

// `row`: room for a row; `at`: the place of the region in it.
bool read_region(Reading& reading, const Region& region, JSAMPROW row, const JSAMPLE* at,
                 const PictureDecoder::OnRow& on_row) {
  if (setjmp(reading.on_error) != 0) return false;
  if (region.top > 0) {
    jpeg_skip_scanlines(&reading.info, static_cast<JDIMENSION>(region.top));
  }
  for (int y = 0; y < region.height; ++y) {
    jpeg_read_scanlines(&reading.info, &row, 1);
    on_row(at);
  }
  return true;
}
#endif

// Cyan, magenta, yellow, black as Adobe writes them, inverted, which Pillow assumes as well.
void cmyk_to_rgb(Picture& picture) {
  const std::size_t pixels = picture.values.size() / 4;
  std::uint8_t* values = picture.values.data();
  for (std::size_t i = 0; i < pixels; ++i) {
    const unsigned light = values[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned scaled = (255U - values[4 * i + c]) * light + 128;
      const unsigned ink = (scaled + (scaled >> 8)) >> 8;  // divided by 255
      values[3 * i + c] = static_cast<std::uint8_t>(light - std::min(ink, light));
    }
  }
  picture.channels = 3;
  picture.values.resize(3 * pixels);
}

class JpegDecoder : public PictureDecoder {
 public:
  JpegDecoder(std::string_view bytes, std::string where)
      : where_(std::move(where)), file_bytes_(bytes.size()), orientation_(exif_orientation(bytes)) {
    if (!read_header(reading_, reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size())) {
      const PictureExtent claimed = extent();
      jpeg_destroy_decompress(&reading_.info);
      if (reading_.code == JERR_IMAGE_TOO_BIG) throw_too_large(claimed);
      fail();
    }
  }
  ~JpegDecoder() override { jpeg_destroy_decompress(&reading_.info); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  PictureExtent extent() const override {
    return {static_cast<int>(reading_.info.image_height),
            static_cast<int>(reading_.info.image_width), reading_.info.num_components != 1,
            orientation_};
  }

  std::uint64_t memory() override {
    const PictureExtent found = extent();
    const auto values_of = [&](int height, int width) {
      return static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width) *
             static_cast<std::uint64_t>(reading_.info.num_components);
    };
    const std::uint64_t values = values_of(reduced(found.height), reduced(found.width));
    // Several scans refine coefficients of two bytes.
    const bool has_scans = jpeg_has_multiple_scans(&reading_.info) != 0;
    return values + (has_scans ? 2 * values_of(found.height, found.width) : 0);
  }

  Picture decode() override {
    require_possible();
    const int channels = reading_.info.num_components;
    if (channels != 1 && channels != 3 && channels != 4) {
      throw_damaged(where_, "JPEG", "its number of color components is not 1, 3 or 4");
    }
    reading_.info.out_color_space = channels == 1   ? JCS_GRAYSCALE
                                    : channels == 3 ? JCS_RGB
                                                    : JCS_CMYK;
    const PictureExtent found = extent();
    Picture picture{channels, reduced(found.height), reduced(found.width), {}, orientation_};
    const std::size_t row_bytes =
        static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(channels);
    picture.values.resize(row_bytes * static_cast<std::size_t>(picture.height));
    if (!read_rows(reading_, picture.values.data(), row_bytes)) fail();
    if (channels == 4) cmyk_to_rgb(picture);
    return picture;
  }

#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  int reduce(int eighths) override {
    reading_.info.scale_num = static_cast<unsigned>(eighths);
    reading_.info.scale_denom = kWholeSize;
    if (!find_output_size(reading_)) fail();
    eighths_ = eighths;
    const PictureExtent found = extent();
    const bool is_reduced =
        reading_.info.output_height == static_cast<JDIMENSION>(reduced(found.height)) &&
        reading_.info.output_width == static_cast<JDIMENSION>(reduced(found.width));
    if (!is_reduced) eighths_ = kWholeSize;  // a lossless file, which libjpeg-turbo 3 can read
    return eighths_;
  }

  bool decode_region(const Region& region, const OnRow& on_row) override {
    const int channels = reading_.info.num_components;
    if ((channels != 1 && channels != 3) || !crops_all_components()) return false;
    require_possible();
    reading_.info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    const int first = std::max(region.left - kMargin, 0);
    const int end = std::min(region.left + region.width + kMargin, reduced(extent().width));
    auto left = static_cast<JDIMENSION>(first);
    if (!start_columns(reading_, left, static_cast<JDIMENSION>(end - first))) fail();
    const auto values = static_cast<std::size_t>(channels);
    std::vector<JSAMPLE> row(reading_.info.output_width * values);
    const auto before = static_cast<JDIMENSION>(region.left) - left;
    const JSAMPLE* at = row.data() + before * values;
    if (!read_region(reading_, region, row.data(), at, on_row)) fail();
    return true;
  }
#endif

 private:
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  // In a reduced picture, libjpeg may decode a component with fewer samples at a larger size than
  // the others. jpeg_crop_scanline() ignores this and crops such a component at a wrong width,
  // unless it is then as wide as the picture. Of the usual forms, only 4:1:0 has such components.
  bool crops_all_components() const {
    const jpeg_decompress_struct& info = reading_.info;
    if (eighths_ == kWholeSize) return true;
    const jpeg_component_info* const first = info.comp_info;
    return std::all_of(first, first + info.num_components, [&](const jpeg_component_info& each) {
      const auto samples = static_cast<JDIMENSION>(each.h_samp_factor);
      const auto most = static_cast<JDIMENSION>(info.max_h_samp_factor);
      return each.downsampled_width == info.output_width ||
             each.downsampled_width == (info.output_width * samples + most - 1) / most;
    });
  }
#endif
  int reduced(int side) const { return (side * eighths_ + kWholeSize - 1) / kWholeSize; }
  // Huffman's codes have a bit at least, and every block has one in a scan at least.
  void require_possible() const {
    if (reading_.info.arith_code != 0) return;
    if (extent().pixels() / kBlockValues <= 8 * file_bytes_) return;
    throw_damaged(where_, "JPEG", "so few bytes cannot hold the pixels that it claims");
  }
  [[noreturn]] void throw_too_large(const PictureExtent& claimed) const {
    throw DataError(where_ + ": is a picture of " + std::to_string(claimed.width) + " x " +
                    std::to_string(claimed.height) + " pixels, at most " +
                    std::to_string(JPEG_MAX_DIMENSION) +
                    " on a side were expected of a JPEG file; make it smaller");
  }
  [[noreturn]] void fail() const {
    if (reading_.code == JERR_OUT_OF_MEMORY || reading_.code == JERR_NO_BACKING_STORE) {
      throw_out_of_memory(where_);
    }
    throw_damaged(where_, "JPEG", reading_.message);
  }

  Reading reading_;
  std::string where_;
  std::uint64_t file_bytes_;
  int orientation_;
  int eighths_ = kWholeSize;
};

}  // namespace

std::unique_ptr<PictureDecoder> open_jpeg(std::string_view bytes, const std::string& where) {
  return std::make_unique<JpegDecoder>(bytes, where);
}

}  // namespace tandem::data
