// Writes messages in the wire format of Protocol Buffers, as far as TensorBoard's files need it.
// The library itself is not used, because libtorch exports the symbols of another version of it.
// One thread per object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::metrics {

class ProtoMessage {
 public:
  // Readers accept a message without default values; here all fields are written.
  ProtoMessage& integer(std::uint32_t field, std::uint64_t value);
  ProtoMessage& real(std::uint32_t field, double value);
  ProtoMessage& single(std::uint32_t field, float value);
  // A field of type string, if the text is UTF-8, or bytes.
  ProtoMessage& bytes(std::uint32_t field, std::string_view value);
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value);
  // repeated double
  ProtoMessage& reals(std::uint32_t field, const std::vector<double>& values);

  const std::string& encoded() const { return encoded_; }

 private:
  void key(std::uint32_t field, std::uint32_t wire_type);
  void varint(std::uint64_t value);
  template <typename Number>
  void fixed(Number value);

  std::string encoded_;
};

// Replaces invalid UTF-8, because readers refuse a message with such a string.
std::string as_utf8(const std::string& text);

}  // namespace tandem::metrics
