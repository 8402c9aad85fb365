#include "npy_array.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

// numpy/lib/format.py: magic, version, length of the dict (2 or 4 bytes), the dict, the values.
constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kVersionBytes = 2;
constexpr std::uint64_t kMaxDict = std::uint64_t{64} << 10;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 36;
constexpr std::size_t kMaxDimensions = 8;

// The dict of a header: keys and values as Python prints them.
class DictReader {
 public:
  DictReader(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  NpyHeader read() {
    NpyHeader header;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!skip('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) {
        header.type = quoted();
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header.fortran_order = truth();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        header.shape = numbers();
      } else {
        fail("the key '" + key + "'");
      }
      if (!skip(',') && peek() != '}') fail("no comma");
    }
    if (!has_type || !has_order || !has_shape) fail("a header that lacks a key");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& found) const {
    throw fault_at(where_, at_, found,
                   "numpy's header {'descr': '|u1', 'fortran_order': False, 'shape': (…)}");
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool skip(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!skip(wanted)) fail("no '" + std::string(1, wanted) + "'");
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("something other than a plain type or name");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a name without an end");
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }
  bool truth() {
    peek();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      const std::size_t length = std::strlen(word);
      if (text_.substr(at_, length) != word) continue;
      at_ += length;
      return value;
    }
    fail("neither True nor False");
  }
  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> all;
    expect('(');
    while (!skip(')')) {
      std::uint64_t value = 0;
      if (peek() < '0' || peek() > '9') fail("no number");
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
        if (value > kMaxBytes) fail("too large an extent");
      }
      all.push_back(value);
      if (all.size() > kMaxDimensions) fail("too many extents");
      if (!skip(',') && peek() != ')') fail("no comma");
    }
    return all;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string where_;
};

std::string_view as_text(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_more(ByteStream& stream, std::vector<std::uint8_t>& bytes, std::size_t count) {
  const std::size_t before = bytes.size();
  bytes.resize(before + count);
  const std::size_t got = stream.read(bytes.data() + before, count);
  if (got < count) throw fault_at(stream.where(), before + got, "the end", "numpy's header");
}

// The bytes before the values, and the dict among them.
std::vector<std::uint8_t> read_beginning(ByteStream& stream, std::string_view& dict) {
  std::vector<std::uint8_t> bytes;
  read_more(stream, bytes, kMagic.size() + kVersionBytes);
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    throw fault_at(stream.where(), 0, describe_beginning(as_text(bytes)),
                   "an array in numpy's form");
  }
  const unsigned version = bytes[kMagic.size()];
  if (version < 1 || version > 3) {
    throw fault_at(stream.where(), kMagic.size(), "version " + std::to_string(version), "1 to 3");
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t length_at = bytes.size();
  read_more(stream, bytes, length_bytes);
  const std::uint64_t length = little_endian(as_text(bytes), length_at, length_bytes);
  if (length > kMaxDict) {
    throw fault_at(stream.where(), length_at, "a header of " + std::to_string(length) + " bytes",
                   "at most 65,536");
  }
  const std::size_t dict_at = bytes.size();
  read_more(stream, bytes, static_cast<std::size_t>(length));
  dict = as_text(bytes).substr(dict_at, static_cast<std::size_t>(length));
  return bytes;
}

// Bytes of a value of an integer type, 0 for every other type.
std::size_t integer_bytes(const std::string& type) {
  static constexpr std::pair<const char*, std::size_t> kTypes[] = {
      {"|u1", 1}, {"|i1", 1}, {"<u2", 2}, {"<i2", 2},
      {"<u4", 4}, {"<i4", 4}, {"<u8", 8}, {"<i8", 8}};
  for (const auto& [name, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  return 0;
}

// A mere cast would turn images from 0 to 1 black.
std::string way_to_integers(const std::string& type) {
  std::string cast = "numpy.ascontiguousarray(array, dtype=…)";
  if (type.size() < 2 || type[1] != 'f') return cast;
  return "(images * 255).round().astype('uint8') where images are from 0 to 1, else with " + cast;
}

}  // namespace

NpyHeader NpyHeader::parse(std::string_view dict, const std::string& where) {
  return DictReader(dict, where).read();
}

std::string NpyArray::text() const {
  std::vector<std::string> extents;
  for (const std::uint64_t extent : header.shape) extents.push_back(std::to_string(extent));
  return "'" + header.type + "' [" + join(extents, ", ") + "]";
}

NpyArray read_npy(ByteStream& stream, std::string name,
                  const std::function<void(const NpyArray&)>& check) {
  NpyArray array;
  std::string_view dict;
  const std::vector<std::uint8_t> beginning = read_beginning(stream, dict);
  array.header = NpyHeader::parse(dict, stream.where());
  array.data_at = beginning.size();
  std::uint64_t bytes = integer_bytes(array.header.type);
  if (bytes == 0 || array.header.fortran_order) {
    throw DataError(stream.where() + ": is an array of type '" + array.header.type + "'" +
                    (array.header.fortran_order ? " in Fortran order" : "") +
                    ", whole numbers in C order were expected; convert it with " +
                    way_to_integers(array.header.type));
  }
  for (const std::uint64_t extent : array.header.shape) {
    if (extent != 0 && bytes > kMaxBytes / extent) {
      throw DataError(stream.where() + ": claims to be an array " + array.text() +
                      ", at most 64 GiB were expected");
    }
    bytes *= extent;
  }
  array.file.where = stream.where();
  check(array);
  array.file = read_exactly(stream, std::move(name), array.data_at + bytes, beginning);
  return array;
}

std::int64_t integer_at(const NpyArray& array, std::size_t index) {
  const std::size_t bytes = integer_bytes(array.header.type);
  const std::uint8_t* at = array.values() + index * bytes;
  std::uint64_t value = little_endian({reinterpret_cast<const char*>(at), bytes}, 0, bytes);
  const bool is_negative = array.header.type[1] == 'i' && (at[bytes - 1] & 0x80) != 0;
  if (is_negative && bytes < 8) value |= ~std::uint64_t{0} << (8 * bytes);
  return static_cast<std::int64_t>(value);
}

}  // namespace tandem::data
