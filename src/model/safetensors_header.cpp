#include "safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::model {
namespace {

constexpr std::size_t kMaxDimensions = 32;

struct Dtype {
  const char* name;
  torch::ScalarType type;
};

constexpr std::array<Dtype, 10> kDtypes{{{"F64", torch::kFloat64},
                                         {"F32", torch::kFloat32},
                                         {"F16", torch::kFloat16},
                                         {"BF16", torch::kBFloat16},
                                         {"I64", torch::kInt64},
                                         {"I32", torch::kInt32},
                                         {"I16", torch::kInt16},
                                         {"I8", torch::kInt8},
                                         {"U8", torch::kUInt8},
                                         {"BOOL", torch::kBool}}};

[[noreturn]] void fail(const std::string& path, const std::string& tensor, const std::string& found,
                       const std::string& expected) {
  throw DataError(path + ": " + (tensor.empty() ? "the header: " : "tensor '" + tensor + "': ") +
                  "found " + found + ", expected " + expected +
                  "; the file is damaged or not safetensors, fetch it again");
}

// Follows the grammar event by event instead of building the document, so that a header cannot make
// it take more memory than the entries that it really holds.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(const std::string& path, SafetensorsHeader& header) : path_(path), header_(header) {}

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && key_ == "__metadata__") {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTop) {
      place_ = Place::kTensor;
      entry_ = {};
      entry_.name = key_;
      fields_.clear();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (fields_.count(field) == 0) {
          fail(path_, entry_.name, "no '" + std::string(field) + "'", "one");
        }
      }
      header_.entries.push_back(std::move(entry_));
    }
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::kTop && !names_.insert(key).second) {
      fail(path_, key, "its name twice", "every name once");
    }
    if (place_ == Place::kMetadata && header_.metadata.count(key) != 0) {
      fail(path_, "", "the metadata key '" + key + "' twice", "every key once");
    }
    if (place_ == Place::kTensor) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        fail(path_, entry_.name, "the key '" + key + "'", "only dtype, shape and data_offsets");
      }
      if (!fields_.insert(key).second) fail(path_, entry_.name, "'" + key + "' twice", "it once");
    }
    key_ = key;
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata.emplace(key_, value);
    } else if (place_ == Place::kTensor && key_ == "dtype") {
      entry_.type = type_named(value);
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") unexpected("an array");
    place_ = Place::kNumbers;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    if (key_ == "shape") {
      entry_.shape = numbers_;
    } else if (numbers_.size() == 2) {
      entry_.begin = static_cast<std::uint64_t>(numbers_[0]);
      entry_.end = static_cast<std::uint64_t>(numbers_[1]);
    } else {
      fail(path_, entry_.name, std::to_string(numbers_.size()) + " data_offsets", "two");
    }
    place_ = Place::kTensor;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kNumbers) unexpected("a number");
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(path_, entry_.name, std::to_string(value) + " in '" + key_ + "'", "a number below 2^63");
    }
    if (numbers_.size() == kMaxDimensions) {
      fail(path_, entry_.name,
           "more than " + std::to_string(kMaxDimensions) + " numbers in '" + key_ + "'", "fewer");
    }
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("true or false"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const std::string& text) override { unexpected(text); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail(path_, "", "no JSON at its byte " + std::to_string(position), "JSON");
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kTensor, kNumbers };

  [[noreturn]] void unexpected(const std::string& found) const {
    switch (place_) {
      case Place::kOutside:
        fail(path_, "", found, "one object");
      case Place::kTop:
        fail(path_, key_, found, "an object");
      case Place::kMetadata:
        fail(path_, "", found + " as metadata '" + key_ + "'", "a string");
      case Place::kTensor:
        fail(path_, entry_.name, found + " as '" + key_ + "'",
             key_ == "dtype" ? "a string" : "an array of whole numbers");
      case Place::kNumbers:
        fail(path_, entry_.name, found + " in '" + key_ + "'", "whole numbers from 0 on");
    }
    throw InternalError("safetensors: a place that does not exist");
  }

  torch::ScalarType type_named(const std::string& name) const {
    std::vector<std::string> allowed;
    for (const Dtype& dtype : kDtypes) {
      if (name == dtype.name) return dtype.type;
      allowed.emplace_back(dtype.name);
    }
    fail(path_, entry_.name, "dtype '" + name + "'", "one of " + join(allowed, ", "));
  }

  const std::string& path_;
  SafetensorsHeader& header_;
  Place place_ = Place::kOutside;
  std::string key_;              // the last one read
  std::set<std::string> names_;  // of tensors, and "__metadata__"
  SafetensorsEntry entry_;       // being read, with the fields it has so far
  std::set<std::string> fields_;
  std::vector<std::int64_t> numbers_;
};

// Absent if the number overflows. A size of 0 counts as 1 until the end, because torch multiplies
// the others for strides.
std::optional<std::uint64_t> bytes_of(const SafetensorsEntry& entry) {
  std::uint64_t bytes = c10::elementSize(entry.type);
  bool is_empty = false;
  for (const std::int64_t size : entry.shape) {
    is_empty = is_empty || size == 0;
    const std::uint64_t factor = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (factor > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / bytes) {
      return std::nullopt;
    }
    bytes *= factor;
  }
  return is_empty ? 0 : bytes;
}

void check_sizes(const std::string& path, const SafetensorsEntry& entry) {
  const std::optional<std::uint64_t> bytes = bytes_of(entry);
  if (!bytes) fail(path, entry.name, "a shape of more than 2^63 bytes", "one that fits the file");
  if (entry.end < entry.begin || entry.end - entry.begin != *bytes) {
    fail(path, entry.name,
         "data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]",
         std::to_string(*bytes) + " bytes, as dtype and shape say");
  }
}

void check_cover(const std::string& path, const std::vector<SafetensorsEntry>& entries,
                 std::uint64_t data_bytes) {
  std::vector<const SafetensorsEntry*> by_offset;
  for (const SafetensorsEntry& entry : entries) by_offset.push_back(&entry);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
              return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
            });
  std::uint64_t covered = 0;
  for (const SafetensorsEntry* entry : by_offset) {
    if (entry->begin != covered) {
      fail(path, entry->name, "its data at " + std::to_string(entry->begin),
           std::to_string(covered) + ", where the tensor before it ends");
    }
    covered = entry->end;
  }
  if (covered != data_bytes) {
    fail(path, "", std::to_string(data_bytes) + " bytes after the header",
         std::to_string(covered) + ", which its tensors take");
  }
}

}  // namespace

const char* safetensors_dtype_name(torch::ScalarType type) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.type == type) return dtype.name;
  }
  return nullptr;
}

SafetensorsHeader parse_safetensors_header(const std::string& path, const std::string& json,
                                           std::uint64_t data_bytes) {
  SafetensorsHeader header;
  HeaderReader reader(path, header);
  Json::sax_parse(json, &reader);
  for (const SafetensorsEntry& entry : header.entries) check_sizes(path, entry);
  check_cover(path, header.entries, data_bytes);
  return header;
}

}  // namespace tandem::model
