// TensorBoard's events as encoded messages (tensorboard/compat/proto, and the plugin hparams).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/metrics/tensorboard.hpp"

namespace tandem::metrics {

// Writes messages in the wire format of Protocol Buffers, as far as TensorBoard's files need it.
// The library itself is not used, because libtorch exports the symbols of another version of it.
// One thread per object.
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

// The first event of a file.
std::string version_event(double time);
// Has readers drop what earlier files hold of `step` and later ones.
std::string start_event(double time, std::uint64_t step);

// Values that are shown at one step, each under its tag.
class Summary {
 public:
  void scalar(const std::string& tag, double value);
  // Markdown.
  void text(const std::string& tag, const std::string& markdown);
  void image(const std::string& tag, const PngImage& image);
  void histogram(const std::string& tag, Span<const float> values);
  // The run's hyper-parameters, and the tags that are the measure of it.
  void hparams(const HyperParameters& parameters, const std::vector<std::string>& metrics,
               const std::string& run_id, double time);
  // Records that the run is complete.
  void hparams_end(double time);

  bool empty() const { return message_.encoded().empty(); }
  std::string event(double time, std::uint64_t step) const;

 private:
  void hparams_value(const std::string& tag, const ProtoMessage& content);

  ProtoMessage message_;
};

// Buckets of equal width between the minimum and the maximum; values that are not finite are
// ignored.
struct Histogram {
  double least = 0;
  double largest = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;  // the upper one of each bucket
  std::vector<double> counts;
};
Histogram histogram_of(Span<const float> values);

}  // namespace tandem::metrics
