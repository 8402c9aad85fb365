#include "color_loops.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::data {
namespace {

int gray_of(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<int>(static_cast<float>(red) * 0.2989F + static_cast<float>(green) * 0.587F +
                          static_cast<float>(blue) * 0.114F);
}

// From [0, 1], as torchvision's to_dtype() does with scale=True.
std::uint8_t scaled_to_byte(float value) {
  return static_cast<std::uint8_t>(static_cast<int>(value * 255.999F));
}

// _rgb_to_hsv() and _hsv_to_rgb() of torchvision. Channel values are in [0, 1].
void turn_pixel(std::uint8_t& red, std::uint8_t& green, std::uint8_t& blue, float share) {
  const float r = static_cast<float>(red) / 255;
  const float g = static_cast<float>(green) / 255;
  const float b = static_cast<float>(blue) / 255;
  const float most = std::max(std::max(r, g), b);
  const float range = most - std::min(std::min(r, g), b);
  if (range == 0) return;  // gray has no hue
  const float from_red = (most - r) / range;
  const float from_green = (most - g) / range;
  const float from_blue = (most - b) / range;
  float hue = most == r   ? from_blue - from_green
              : most == g ? from_red + 2 - from_blue
                          : from_green + 4 - from_red;
  hue = std::fmod(hue * (1.0F / 6) + 1, 1.0F) + share;
  hue -= std::floor(hue);
  const float saturation = range / most;
  const float sixth = hue * 6;
  const float begin = std::floor(sixth);
  const float part = saturation * (sixth - begin);
  const auto unit = [most](float value) { return std::clamp(value * most, 0.0F, 1.0F); };
  const std::uint8_t v = scaled_to_byte(most);
  const std::uint8_t p = scaled_to_byte(unit(1 - saturation));
  const std::uint8_t q = scaled_to_byte(unit(1 - part));
  const std::uint8_t t = scaled_to_byte(unit(part + (1 - saturation)));
  const std::uint8_t reds[] = {v, q, p, p, t, v};
  const std::uint8_t greens[] = {t, v, v, q, p, p};
  const std::uint8_t blues[] = {p, p, t, v, v, q};
  const int place = static_cast<int>(begin) % 6;
  red = reds[place];
  green = greens[place];
  blue = blues[place];
}

}  // namespace

std::uint64_t sum_of_gray(const ColorPlanes& planes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < planes.count; ++i) {
    sum += static_cast<unsigned>(gray_of(planes.red[i], planes.green[i], planes.blue[i]));
  }
  return sum;
}

void scale_saturation(const ColorPlanes& planes, float factor) {
  std::uint8_t* const red = planes.red;
  std::uint8_t* const green = planes.green;
  std::uint8_t* const blue = planes.blue;
  for (std::size_t i = 0; i < planes.count; ++i) {
    const float gray = static_cast<float>(gray_of(red[i], green[i], blue[i])) * (1 - factor);
    red[i] = cut_to_byte(static_cast<float>(red[i]) * factor + gray);
    green[i] = cut_to_byte(static_cast<float>(green[i]) * factor + gray);
    blue[i] = cut_to_byte(static_cast<float>(blue[i]) * factor + gray);
  }
}

void turn_hue(const ColorPlanes& planes, float share) {
  for (std::size_t i = 0; i < planes.count; ++i) {
    turn_pixel(planes.red[i], planes.green[i], planes.blue[i], share);
  }
}

}  // namespace tandem::data
