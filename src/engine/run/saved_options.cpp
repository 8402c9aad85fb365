#include "saved_options.hpp"

#include <cstdlib>

namespace tandem::app {

std::vector<OptionSpec> fixed_options(const Options& options, bool has_pictures) {
  std::vector<OptionSpec> fixed;
  for (const OptionSpec& spec : options.table()) {
    const OnResume rule = spec.traits.on_resume;
    const bool is_fixed =
        rule == OnResume::kFixed || (has_pictures && rule == OnResume::kFixedForPictures);
    if (is_fixed) fixed.push_back(spec);
  }
  return fixed;
}

std::string options_to_save(const Options& options) {
  Json saved = Json::object();
  for (const OptionSpec& spec : fixed_options(options)) saved[spec.name] = options.text(spec.name);
  return dump_any_bytes(saved);
}

Json saved_options(const RunStart& start) {
  const std::string saved = start.entry("options");
  return saved.empty() ? Json() : parse_json_or_discard(saved);
}

std::string saved_value(const Json& saved, const OptionSpec& spec) {
  for (const std::string& name : names_of(spec)) {
    if (saved.contains(name)) return text_of(saved, name);
  }
  return spec.earlier_value.empty() ? spec.default_value : spec.earlier_value;
}

bool mean_the_same(const std::string& one, const std::string& other) {
  if (one == other) return true;
  char* end_of_one = nullptr;
  char* end_of_other = nullptr;
  const double first = std::strtod(one.c_str(), &end_of_one);
  const double second = std::strtod(other.c_str(), &end_of_other);
  return !one.empty() && !other.empty() && *end_of_one == '\0' && *end_of_other == '\0' &&
         first == second;
}

}  // namespace tandem::app
