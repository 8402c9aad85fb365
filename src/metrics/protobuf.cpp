#include "protobuf.hpp"

#include <cstring>

#include "tandem/core/json.hpp"

namespace tandem::metrics {
namespace {

// protobuf.dev/programming-guides/encoding
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kBytes = 2;
constexpr std::uint32_t kFixed32 = 5;

}  // namespace

ProtoMessage& ProtoMessage::integer(std::uint32_t field, std::uint64_t value) {
  key(field, kVarint);
  varint(value);
  return *this;
}

ProtoMessage& ProtoMessage::real(std::uint32_t field, double value) {
  key(field, kFixed64);
  fixed(value);
  return *this;
}

ProtoMessage& ProtoMessage::single(std::uint32_t field, float value) {
  key(field, kFixed32);
  fixed(value);
  return *this;
}

ProtoMessage& ProtoMessage::bytes(std::uint32_t field, std::string_view value) {
  key(field, kBytes);
  varint(value.size());
  encoded_.append(value);
  return *this;
}

ProtoMessage& ProtoMessage::message(std::uint32_t field, const ProtoMessage& value) {
  return bytes(field, value.encoded_);
}

ProtoMessage& ProtoMessage::reals(std::uint32_t field, const std::vector<double>& values) {
  key(field, kBytes);
  varint(values.size() * sizeof(double));
  for (const double value : values) fixed(value);
  return *this;
}

void ProtoMessage::key(std::uint32_t field, std::uint32_t wire_type) {
  varint(std::uint64_t{field} << 3 | wire_type);
}

void ProtoMessage::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) encoded_ += static_cast<char>((value & 0x7F) | 0x80);
  encoded_ += static_cast<char>(value);
}

// Little-endian, as every processor that tandem runs on is.
template <typename Number>
void ProtoMessage::fixed(Number value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  encoded_.append(bytes, sizeof bytes);
}

std::string as_utf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

}  // namespace tandem::metrics
