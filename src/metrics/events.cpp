#include "events.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tandem/core/json.hpp"

namespace tandem::metrics {
namespace {

constexpr std::size_t kBuckets = 64;
constexpr char kHparams[] = "hparams";

// Numbers of fields, from the .proto files of tensorboard.
namespace event_field {
constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace summary_field {
constexpr std::uint32_t kValue = 1;
}
namespace value_field {
constexpr std::uint32_t kTag = 1, kSimpleValue = 2, kImage = 4, kHistogram = 5, kTensor = 8,
                        kMetadata = 9;
}

// SummaryMetadata, which says which plugin shows a value.
ProtoMessage metadata_of(std::string_view plugin, std::string_view content) {
  return ProtoMessage().message(1, ProtoMessage().bytes(1, plugin).bytes(2, content));
}

// google.protobuf.Value
ProtoMessage value_of(const std::variant<double, bool, std::string>& value) {
  ProtoMessage message;
  if (const double* number = std::get_if<double>(&value)) {
    message.real(2, *number);
  } else if (const bool* flag = std::get_if<bool>(&value)) {
    message.integer(4, *flag ? 1 : 0);
  } else {
    message.bytes(3, as_utf8(std::get<std::string>(value)));
  }
  return message;
}

// DataType of hparams: string, bool, number.
std::uint64_t type_of(const std::variant<double, bool, std::string>& value) {
  if (std::holds_alternative<std::string>(value)) return 1;
  return std::holds_alternative<bool>(value) ? 2 : 3;
}

// protobuf.dev/programming-guides/encoding
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kBytes = 2;
constexpr std::uint32_t kFixed32 = 5;

}  // namespace

std::string version_event(double time) {
  return ProtoMessage()
      .real(event_field::kWallTime, time)
      .bytes(event_field::kFileVersion, "brain.Event:2")
      .encoded();
}

std::string start_event(double time, std::uint64_t step) {
  constexpr std::uint64_t kStart = 1;
  return ProtoMessage()
      .real(event_field::kWallTime, time)
      .integer(event_field::kStep, step)
      .message(event_field::kSessionLog, ProtoMessage().integer(1, kStart))
      .encoded();
}

void Summary::scalar(const std::string& tag, double value) {
  message_.message(summary_field::kValue,
                   ProtoMessage()
                       .bytes(value_field::kTag, tag)
                       .single(value_field::kSimpleValue, static_cast<float>(value)));
}

void Summary::text(const std::string& tag, const std::string& markdown) {
  constexpr std::uint64_t kStringType = 7;  // DT_STRING
  const ProtoMessage shape = ProtoMessage().message(2, ProtoMessage().integer(1, 1));
  ProtoMessage tensor;
  tensor.integer(1, kStringType).message(2, shape).bytes(8, as_utf8(markdown));
  ProtoMessage message;
  message.bytes(value_field::kTag, tag).message(value_field::kTensor, tensor);
  message.message(value_field::kMetadata, metadata_of("text", ""));
  message_.message(summary_field::kValue, message);
}

void Summary::image(const std::string& tag, const PngImage& image) {
  ProtoMessage content;
  content.integer(1, static_cast<std::uint64_t>(image.height));
  content.integer(2, static_cast<std::uint64_t>(image.width));
  content.integer(3, static_cast<std::uint64_t>(image.channels)).bytes(4, image.png);
  ProtoMessage message;
  message.bytes(value_field::kTag, tag).message(value_field::kImage, content);
  message_.message(summary_field::kValue, message);
}

void Summary::histogram(const std::string& tag, Span<const float> values) {
  const Histogram histogram = histogram_of(values);
  if (histogram.counts.empty()) return;
  double count = 0;
  for (const double each : histogram.counts) count += each;
  ProtoMessage content;
  content.real(1, histogram.least).real(2, histogram.largest).real(3, count);
  content.real(4, histogram.sum).real(5, histogram.sum_of_squares);
  content.reals(6, histogram.limits).reals(7, histogram.counts);
  ProtoMessage message;
  message.bytes(value_field::kTag, tag).message(value_field::kHistogram, content);
  message_.message(summary_field::kValue, message);
}

// Version 0 is the default and so not written.
void Summary::hparams_value(const std::string& tag, const ProtoMessage& content) {
  ProtoMessage message;
  message.bytes(value_field::kTag, tag);
  message.message(value_field::kMetadata, metadata_of(kHparams, content.encoded()));
  message_.message(summary_field::kValue, message);
}

void Summary::hparams(const HyperParameters& parameters, const std::vector<std::string>& metrics,
                      const std::string& run_id, double time) {
  ProtoMessage experiment;
  ProtoMessage session;
  for (const auto& [name, value] : parameters) {
    experiment.message(4, ProtoMessage().bytes(1, name).integer(4, type_of(value)));
    // An entry of map<string, Value>.
    session.message(1, ProtoMessage().bytes(1, name).message(2, value_of(value)));
  }
  for (const std::string& tag : metrics) {
    experiment.message(5, ProtoMessage().message(1, ProtoMessage().bytes(2, tag)));
  }
  experiment.real(3, time);
  session.bytes(4, run_id).real(5, time);
  hparams_value("_hparams_/experiment", ProtoMessage().message(2, experiment));
  hparams_value("_hparams_/session_start_info", ProtoMessage().message(3, session));
}

void Summary::hparams_end(double time) {
  constexpr std::uint64_t kSuccess = 1;
  hparams_value("_hparams_/session_end_info",
                ProtoMessage().message(4, ProtoMessage().integer(1, kSuccess).real(2, time)));
}

std::string Summary::event(double time, std::uint64_t step) const {
  return ProtoMessage()
      .real(event_field::kWallTime, time)
      .integer(event_field::kStep, step)
      .message(event_field::kSummary, message_)
      .encoded();
}

Histogram histogram_of(Span<const float> values) {
  Histogram histogram;
  double least = std::numeric_limits<double>::infinity();
  double largest = -least;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min<double>(least, value);
    largest = std::max<double>(largest, value);
  }
  if (least > largest) return histogram;
  histogram.least = least;
  histogram.largest = largest;
  const double width = (largest - least) / static_cast<double>(kBuckets);
  const std::size_t buckets = width > 0 ? kBuckets : 1;
  histogram.counts.assign(buckets, 0);
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    histogram.sum += value;
    histogram.sum_of_squares += static_cast<double>(value) * value;
    const double place = width > 0 ? (value - least) / width : 0;
    ++histogram.counts[std::min(static_cast<std::size_t>(place), buckets - 1)];
  }
  for (std::size_t i = 1; i < buckets; ++i) {
    histogram.limits.push_back(least + width * static_cast<double>(i));
  }
  histogram.limits.push_back(largest);
  return histogram;
}

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
  return Json::parse(dump_any_bytes(Json(text))).get<std::string>();
}

}  // namespace tandem::metrics
