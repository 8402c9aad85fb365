#include "list_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "data/files/byte_stream.hpp"
#include "tandem/core/durable.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::size_t kListBytesAtOnce = std::size_t{1} << 16;
// Longer than any path. Limits the damage of a quote that is never closed.
constexpr std::size_t kMaxFieldBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxFields = 10'000;

constexpr std::array<std::string_view, 7> kPathNames = {
    "path", "file", "filename", "file_name", "filepath", "image", "image_path"};
constexpr std::array<std::string_view, 5> kLabelNames = {"label", "labels", "class", "class_name",
                                                         "target"};

// The index of the column with one of these names; the number of columns if there is none.
template <std::size_t N>
std::size_t column_of(const std::vector<std::string>& header,
                      const std::array<std::string_view, N>& names) {
  const auto is_named = [&](const std::string& field) {
    return std::find(names.begin(), names.end(), to_lower(trim(field))) != names.end();
  };
  return static_cast<std::size_t>(std::find_if(header.begin(), header.end(), is_named) -
                                  header.begin());
}

}  // namespace

ListFile::ListFile(const std::string& path)
    : file_(File::open_for_reading(path)), buffer_(kListBytesAtOnce) {
  peek();
  const std::string_view start(buffer_.data(), buffered_);
  at_ = byte_order_mark_bytes(start);
  const std::string_view first_line = start.substr(0, start.find('\n'));
  const bool has_tab = first_line.find('\t') != std::string_view::npos;
  if (ends_with(to_lower(path), ".tsv") || (!ends_with(to_lower(path), ".csv") && has_tab)) {
    between_ = '\t';
  }
  read_header();
}

int ListFile::peek() {
  if (at_ == buffered_) {
    buffered_ = file_.read_at(offset_, buffer_.data(), buffer_.size());
    offset_ += buffered_;
    at_ = 0;
  }
  return at_ == buffered_ ? kEnd : static_cast<unsigned char>(buffer_[at_]);
}

int ListFile::take() {
  const int byte = peek();
  if (byte != kEnd) ++at_;
  if (byte == '\n') ++line_;
  return byte;
}

// Reads up to the separator or the end of the line, and leaves these unread.
void ListFile::take_field() {
  std::string& field = fields_.emplace_back();
  const bool is_quoted = peek() == '"';
  if (is_quoted) take();
  for (bool is_open = is_quoted;;) {
    const int byte = peek();
    if (byte == kEnd && is_open) fail(row_line_, "has a quoted field without its second quote");
    if (byte == kEnd || (!is_open && (byte == between_ || byte == '\n'))) return;
    take();
    if (!is_open && is_quoted && byte != '\r') {
      fail(row_line_, "has text after a quoted field; double the quotes inside a field");
    }
    if (is_open && byte == '"') {
      is_open = peek() == '"';
      if (!is_open) continue;
      take();
    }
    if (!is_open && byte == '\r' && (peek() == '\n' || peek() == kEnd)) continue;
    field += static_cast<char>(byte);
    if (field.size() > kMaxFieldBytes) {
      fail(row_line_, "has a field of more than 65,536 bytes; is a quote missing?");
    }
  }
}

// The next row that has text. False at the end.
bool ListFile::read_fields() {
  while (peek() != kEnd) {
    row_line_ = line_;
    fields_.clear();
    do {
      if (!fields_.empty()) take();  // the separator
      take_field();
      if (fields_.size() > kMaxFields) fail(row_line_, "has more than 10,000 fields");
    } while (peek() == between_);
    take();  // the end of the line
    if (fields_.size() > 1 || !trim(fields_.front()).empty()) return true;
  }
  return false;
}

void ListFile::read_header() {
  has_row_ = read_fields();
  const std::size_t path = column_of(fields_, kPathNames);
  const std::size_t label = column_of(fields_, kLabelNames);
  if (path == fields_.size() || label == fields_.size()) {
    if (fields_.size() == columns_) require_picture();
    return;
  }
  columns_ = fields_.size();
  path_column_ = path;
  label_column_ = label;
  has_row_ = false;
}

// Without this check, a header with unknown names would become a picture and a class. A field with
// a slash or a dot is a path.
void ListFile::require_picture() const {
  const std::string& path = fields_[path_column_];
  const auto folder = std::filesystem::path(folder_of(file_.path()));
  const bool is_word = !path.empty() && path.find_first_of("/.") == std::string::npos;
  if (!is_word || is_regular_file(folder / path)) return;
  fail(row_line_, "is '" + fields_[0] + "' and '" + fields_[1] +
                      "', which is neither a picture and its label nor a known header; name the "
                      "columns path and label, or " +
                      join({kPathNames.begin() + 1, kPathNames.end()}, ", ") + " and " +
                      join({kLabelNames.begin() + 1, kLabelNames.end()}, ", "));
}

bool ListFile::next(ListRow& row) {
  if (!has_row_ && !read_fields()) return false;
  has_row_ = false;
  if (fields_.size() != columns_) {
    fail(row_line_,
         "has " + format_quantity(fields_.size(), "field") + ", " + std::to_string(columns_) +
             " are expected" +
             (columns_ == 2 ? ": path and label; with other columns the first line names "
                              "them, two of them path and label"
                            : ", as the first line has"));
  }
  row = {fields_[path_column_], fields_[label_column_], row_line_};
  if (row.path.empty()) fail(row_line_, "has no path");
  return true;
}

void ListFile::fail(std::uint64_t line, const std::string& fault) const {
  throw DataError(file_.path() + ": line " + std::to_string(line) + " " + fault);
}

bool looks_like_list(const std::string& path) {
  const std::string name = to_lower(path);
  return (ends_with(name, ".csv") || ends_with(name, ".tsv")) && is_regular_file(path);
}

}  // namespace tandem::data
