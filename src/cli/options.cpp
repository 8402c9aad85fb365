#include "options.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "option_hints.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/named_values.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr NamedValues<Origin, 5> kOrigins{{{Origin::kDefault, "default"},
                                           {Origin::kRecipe, "recipe"},
                                           {Origin::kConfigFile, "config file"},
                                           {Origin::kEnvironment, "environment"},
                                           {Origin::kCommandLine, "command line"}}};

// The variable that gives this option its value, which may be that of an alias.
std::string set_variable(const OptionTable& table, const std::string& name) {
  const OptionSpec* spec = find_option(table, name);
  if (spec != nullptr) {
    for (const std::string& alias : spec->aliases) {
      std::string variable = environment_variable(alias);
      if (std::getenv(variable.c_str()) != nullptr) return variable;
    }
  }
  return environment_variable(name);
}

}  // namespace

const OptionSpec* find_option(const OptionTable& table, const std::string& name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const OptionSpec& spec) {
    const auto& aliases = spec.aliases;
    return spec.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end();
  });
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const OptionSpec& spec) {
  std::vector<std::string> names{spec.name};
  names.insert(names.end(), spec.aliases.begin(), spec.aliases.end());
  return names;
}

std::vector<std::string> texts_of(const Faults& faults) {
  std::vector<std::string> texts;
  for (const Fault& fault : faults) texts.push_back(fault.text);
  return texts;
}

Options::Options(const OptionTable& table, std::map<std::string, OptionValue> values,
                 std::vector<std::string> positional, Faults faults)
    : table_(table),
      values_(std::move(values)),
      positional_(std::move(positional)),
      faults_(std::move(faults)) {}

const OptionValue& Options::value(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw InternalError("option --" + name + " is in no table");
  return found->second;
}

std::string Options::where_from(const std::string& name) const {
  const Origin origin = value(name).origin;
  if (origin == Origin::kCommandLine || origin == Origin::kDefault) return "";
  return " (from the " + name_of(kOrigins, origin) +
         (origin == Origin::kEnvironment ? ": " + set_variable(table_, name) : "") + ")";
}

bool Options::flag(const std::string& name) {
  const std::string& given = text(name);
  if (given == "true" || given == "1" || given == "yes" || given == "on") return true;
  if (given == "false" || given == "0" || given == "no" || given == "off") return false;
  add_fault("--" + name + ": '" + given + "' is not true or false" + where_from(name));
  return false;
}

std::uint64_t Options::count(const std::string& name, std::uint64_t lowest, std::uint64_t highest) {
  return static_cast<std::uint64_t>(parsed(name, [&](const std::string& given) {
    return parse_integer(given, static_cast<std::int64_t>(lowest),
                         static_cast<std::int64_t>(highest), "--" + name);
  }));
}

double Options::real(const std::string& name, double lowest, double highest) {
  return parsed(name, [&](const std::string& given) {
    return parse_real(given, lowest, highest, "--" + name);
  });
}

std::string Options::choice(const std::string& name) {
  if (const OptionSpec* spec = find_option(table_, name)) return choice(name, spec->choices);
  throw InternalError("option --" + name + " is in no table");
}

std::string Options::choice(const std::string& name, const std::vector<std::string>& choices) {
  std::string given = text(name);
  if (std::find(choices.begin(), choices.end(), given) != choices.end()) return given;
  const auto suggestion = meant_choice(given, choices);
  add_fault("--" + name + ": '" + given + "' is not one of " + join(choices, ", ") +
            (suggestion ? "; did you mean " + *suggestion + "?" : "") + where_from(name));
  return choices.front();
}

void Options::add_fault(const std::string& text, const std::string& option) {
  const bool is_known = std::any_of(faults_.begin(), faults_.end(),
                                    [&](const Fault& fault) { return fault.text == text; });
  if (!is_known) faults_.emplace_back(text, option);
}

void Options::require(const std::string& name) {
  const bool lacks_value = std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return fault.without_value == name;
  });
  if (!is_set(name) && !lacks_value) add_fault("--" + name + " is missing");
}

void Options::throw_faults(const std::string& command) const {
  if (faults_.empty()) return;
  throw UsageError(join(texts_of(faults_), "\n  ") + "\n  tandem " + command +
                   " --help lists every option");
}

const OptionSpec* negated_option(const OptionTable& table, const std::string& name) {
  constexpr std::string_view kNo = "no-";
  return begins_with(name, kNo) ? find_option(table, name.substr(kNo.size())) : nullptr;
}

bool has_option(const OptionTable& table, const std::string& name) {
  const OptionSpec* negated = negated_option(table, name);
  return find_option(table, name) != nullptr ||
         (negated != nullptr && negated->placeholder.empty());
}

OptionSpec only_with(UsedWith used_with, OptionSpec spec) {
  spec.used_with = std::move(used_with);
  return spec;
}

OptionSpec in_group(const std::string& group, OptionSpec spec) {
  spec.group = group;
  return spec;
}

namespace {

// "a", "a or b", "a, b or c"
std::string one_of(std::vector<std::string> values) {
  const std::string last = values.back();
  values.pop_back();
  return values.empty() ? last : join(values, ", ") + " or " + last;
}

}  // namespace

std::vector<std::string> describe_unused(const Options& options) {
  std::vector<std::string> sentences;
  for (const OptionSpec& spec : options.table()) {
    const OptionValue& given = options.value(spec.name);
    const bool is_switched_off = spec.placeholder.empty() && given.text == "false";
    if (given.origin != Origin::kCommandLine || spec.used_with.option.empty() || is_switched_off) {
      continue;
    }
    const auto& [other, values] = spec.used_with;
    const std::string found = options.text(other);
    const bool is_used = values.empty()
                             ? !found.empty()
                             : std::find(values.begin(), values.end(), found) != values.end();
    if (is_used) continue;
    sentences.push_back("--" + spec.name + " has no effect " +
                        (found.empty() ? "without --" + other : "with --" + other + " " + found) +
                        "; leave it out, or give --" + other +
                        (values.empty() ? "" : " " + one_of(values)));
  }
  return sentences;
}

std::string describe_options(const Options& options) {
  std::string text;
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  for (const OptionSpec& spec : options.table()) {
    name_width = std::max(name_width, spec.name.size());
    value_width = std::max(value_width, options.text(spec.name).size());
  }
  value_width = std::min<std::size_t>(value_width, 40);
  for (const OptionSpec& spec : options.table()) {
    const OptionValue& value = options.value(spec.name);
    std::string line = spec.name;
    line.resize(name_width + 2, ' ');
    line += value.text.empty() ? "-" : value.text;
    if (line.size() < name_width + 2 + value_width) line.resize(name_width + 2 + value_width, ' ');
    text += (text.empty() ? "" : "\n") + line + "  " + name_of(kOrigins, value.origin);
  }
  return text;
}

std::string help_and_default(const OptionSpec& spec) {
  if (spec.default_value.empty()) return spec.help;
  const bool is_switch = spec.placeholder.empty();
  const std::string of_switch = spec.default_value == "true" ? "on" : "off";
  return spec.help + " [" + (is_switch ? of_switch : spec.default_value) + "]";
}

namespace {

// The option, and its help in a column.
std::string option_lines(const OptionSpec& spec) {
  constexpr std::size_t kColumn = 30;
  constexpr std::size_t kWidth = 98;
  std::string text;
  std::string line = "  --" + (spec.placeholder.empty() ? "[no-]" + spec.name
                                                        : spec.name + " " + spec.placeholder);
  line.resize(std::max(line.size() + 2, kColumn), ' ');
  for (const std::string& word : split(help_and_default(spec), ' ')) {
    if (line.size() + word.size() > kWidth) {
      text += trim("|" + line).substr(1) + "\n";
      line.assign(kColumn, ' ');
    }
    line += word + " ";
  }
  return text + trim("|" + line).substr(1) + "\n";
}

}  // namespace

std::string help_text(const std::string& usage, const std::string& purpose,
                      const OptionTable& table, const std::string& example,
                      const std::vector<std::string>& first) {
  std::string text = "usage: " + usage + "\n\n" + purpose + "\n";
  if (!first.empty()) text += "\nthe " + format_quantity(first.size(), "option") + " you need:\n";
  for (const std::string& name : first) text += option_lines(*find_option(table, name));
  if (!first.empty()) text += "\nall options, each in its group:\n";
  std::string group;
  for (const OptionSpec& spec : table) {
    if (spec.group != group) text += "\n" + spec.group + ":\n";
    group = spec.group;
    text += option_lines(spec);
  }
  return text + "\nexample:\n  " + example;
}

}  // namespace tandem::app
