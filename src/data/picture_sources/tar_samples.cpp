#include "tar_samples.hpp"

#include <string_view>

#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::uint64_t kMaxLabelBytes = std::uint64_t{1} << 20;

struct KeyAndSuffix {
  std::string key;
  std::string suffix;  // lower case; empty: none
};

KeyAndSuffix split_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', begin);
  if (dot == std::string::npos || dot == begin) return {name, ""};
  return {name.substr(0, dot), to_lower(name.substr(dot + 1))};
}

bool is_picture(const std::string& suffix) {
  return suffix == "jpg" || suffix == "jpeg" || suffix == "png";
}

// Members such as __key__ describe the archive.
bool is_about_archive(const std::string& name) {
  return begins_with(name, "__") && name.find("__", 2) != std::string::npos;
}

// Python writes NaN and Infinity, which JSON does not have. They become fractions, which are
// numbers but no labels.
std::string without_nan(std::string text) {
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_in_string = !is_in_string;
    if (text[i] == '\\') ++i;
    if (is_in_string) continue;
    for (const std::string_view word : {"NaN", "Infinity"}) {
      if (text.compare(i, word.size(), word) == 0) {
        text.replace(i, word.size(), "0.500000", word.size());
      }
    }
  }
  return text;
}

// `label` or `cls` of an object. Sets `fault` if it is neither a text nor a whole number. False if
// the object has neither.
bool read_json_label(const std::string& text, std::string& label, std::string& fault) {
  const Json object = parse_json_or_discard(without_nan(text));
  if (!object.is_object()) {
    fault = "is not a JSON object, or is nested more than " + std::to_string(kMaxJsonDepth) +
            " levels deep";
    return true;
  }
  for (const char* name : {"label", "cls"}) {
    const auto found = object.find(name);
    if (found == object.end()) continue;
    if (found->is_string()) {
      label = trim(found->get<std::string>());
    } else if (found->is_number_integer()) {
      label = found->dump();
    } else {
      fault = std::string("has a ") + name + " that is neither a text nor a whole number";
    }
    return true;
  }
  return false;
}

}  // namespace

bool TarSamples::next(TarSample& sample) {
  TarMember member;
  while (!has_ended_) {
    if (!index_.next(member)) {
      has_ended_ = true;
      break;
    }
    if (member.is_folder || is_about_archive(member.name)) continue;
    auto [key, suffix] = split_name(member.name);
    if (suffix.empty()) continue;
    const bool begins = key != open_.key && !is_empty();
    if (begins) sample = close();
    open_.key = key;
    take(member, suffix);
    if (begins) return true;
  }
  if (is_empty()) return false;
  sample = close();
  return true;
}

void TarSamples::take(const TarMember& member, const std::string& suffix) {
  if (is_picture(suffix)) {
    if (!open_.picture.name.empty()) {
      open_.picture_fault = "has a second picture, " + member.name + "; leave one of them out";
      return;
    }
    if (!member.is_regular) open_.picture_fault = "is a link or a device; store the file itself";
    open_.picture = member;
  } else if (suffix == "cls") {
    take_label(member, LabelForm::kClass);
  } else if (suffix == "json") {
    take_label(member, LabelForm::kJson);
  } else if (suffix == "txt") {
    take_label(member, LabelForm::kText);
  }
}

void TarSamples::take_label(const TarMember& member, LabelForm form) {
  if (form >= open_.form) return;
  std::string label;
  std::string fault;
  if (!member.is_regular || member.bytes > kMaxLabelBytes) {
    fault = "is not a file of at most 1,048,576 bytes";
  } else {
    const std::string content = index_.content(member);
    if (form == LabelForm::kJson) {
      if (!read_json_label(content, label, fault)) return;
    } else {
      label = trim(content);
    }
    if (form == LabelForm::kClass && !is_digits(label)) {
      fault = "is '" + label.substr(0, 40) + "', a whole number was expected";
    }
  }
  open_.form = form;
  open_.label = member;
  open_.label_text = label;
  open_.label_fault = fault.empty() ? "" : "its label " + member.name + " " + fault;
}

TarSample TarSamples::close() {
  TarSample sample{open_.picture.name, open_.picture.offset, open_.picture.bytes, open_.label_text,
                   open_.picture_fault.empty() ? open_.label_fault : open_.picture_fault};
  const std::string key = open_.key;
  if (sample.name.empty()) {
    sample.name = open_.label.name;
    sample.fault = "has no picture " + key + ".jpg, .jpeg or .png beside it; convert the picture";
  } else if (open_.form == LabelForm::kNone && sample.fault.empty()) {
    sample.fault = "has no label beside it: " + key + ".cls, " + key +
                   ".json with label or cls, or " + key + ".txt";
  }
  open_ = {};
  return sample;
}

}  // namespace tandem::data
