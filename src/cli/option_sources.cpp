// Where option values come from. The only file that knows Boost.ProgramOptions.
#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "option_hints.hpp"
#include "options.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"

namespace po = boost::program_options;

namespace tandem::app {
namespace {

constexpr auto kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8, as some editors begin files

po::options_description describe(const OptionTable& table) {
  po::options_description description;
  auto add = description.add_options();
  for (const OptionSpec& spec : table) {
    for (const std::string& name : names_of(spec)) {
      if (spec.placeholder.empty()) {
        add(name.c_str(), po::bool_switch());
        add(("no-" + name).c_str(), po::bool_switch());
      } else {
        add(name.c_str(), po::value<std::string>());
      }
    }
  }
  return description;
}

// The values of one source, by option name. An option that is given by two of its names is a fault.
class Layer {
 public:
  // `show`: how the source spells an option's name.
  Layer(std::string (*show)(const std::string& name), Faults& faults)
      : show_(show), faults_(faults) {}

  void set(const OptionSpec& spec, const std::string& given, const std::string& value) {
    const auto [earlier, is_first] = given_.emplace(spec.name, given);
    if (earlier->second != given) {
      faults_.push_back(show_(earlier->second) + " and " + show_(given) +
                        " are the same option; give only " + show_(spec.name));
    }
    if (!is_first && spec.repetition == Repetition::kRefused) {
      faults_.push_back(show_(given) + " is given twice, with " + values_[spec.name] + " and " +
                        value + "; give one of them");
    }
    const bool joins = !is_first && spec.repetition == Repetition::kJoins;
    values_[spec.name] = joins ? values_[spec.name] + "," + value : value;
  }
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::string (*show_)(const std::string& name);
  std::map<std::string, std::string> given_;
  std::map<std::string, std::string> values_;
  Faults& faults_;
};

std::string on_command_line(const std::string& name) { return "--" + name; }
std::string in_file(const std::string& name) { return name; }

void store(const po::option& option, const OptionTable& table, Layer& layer) {
  if (const OptionSpec* spec = find_option(table, option.string_key)) {
    layer.set(*spec, option.string_key, spec->placeholder.empty() ? "true" : option.value.at(0));
    return;
  }
  const std::string name = option.string_key.substr(3);  // of "no-…"
  layer.set(*find_option(table, name), name, "false");
}

// TANDEM_BATCH_SIZE and so on for every name and alias of the table, by option name. Two variables
// of one option are a fault. An unknown TANDEM_ variable is not.
std::map<std::string, std::string> read_environment(const OptionTable& table, Faults& faults) {
  Layer layer(environment_variable, faults);
  for (const OptionSpec& spec : table) {
    for (const std::string& name : names_of(spec)) {
      const std::string variable = environment_variable(name);
      if (const char* value = std::getenv(variable.c_str())) layer.set(spec, name, value);
    }
  }
  return layer.values();
}

// A file of options cannot name another file of options, except that a configuration may name the
// recipe that it changes.
void require_no_other_file(const std::map<std::string, std::string>& values,
                           const std::string& path, const std::vector<std::string>& refused,
                           Faults& faults) {
  for (const std::string& name : refused) {
    if (values.count(name) > 0) {
      faults.push_back(path + ": " + name + " = " + values.at(name) +
                       " cannot stand in this file; give --" + name + " on the command line");
    }
  }
}

// Adds a fault for each value that is given and empty, such as that of a shell's variable that is
// not set. The default takes its place, so that no other check reports it.
void refuse_empty(Options& options) {
  for (const OptionSpec& spec : options.table()) {
    if (options.is_set(spec.name) || options.value(spec.name).origin == Origin::kDefault) continue;
    options.add_fault("--" + spec.name + " is empty; leave it out, or give a value" +
                          options.where_from(spec.name),
                      spec.name);
    options.resolve(spec.name, spec.default_value);
  }
}

}  // namespace

std::string with_dashes(std::string word) {
  if (!begins_with(word, "--")) return word;
  const std::size_t end = std::min(word.find('='), word.size());
  std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return word;
}

std::vector<std::string> take_option(Arguments& words, const std::string& name) {
  const std::string option = "--" + name;
  std::vector<std::string> values;
  Arguments others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string given = with_dashes(words[i]);
    if (given == option && i + 1 < words.size()) {
      values.push_back(words[++i]);
    } else if (begins_with(given, option + "=")) {
      values.push_back(given.substr(option.size() + 1));
    } else {
      others.push_back(words[i]);
    }
  }
  words = std::move(others);
  return values;
}

CommandLine parse_command_line(const std::string& command, const OptionTable& table,
                               const Arguments& arguments, bool allow_positional) {
  // Words after "--" are not options.
  const auto end_of_options = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> words;
  std::transform(arguments.begin(), end_of_options, std::back_inserter(words), with_dashes);
  const po::options_description description = describe(table);
  CommandLine result;
  words = take_incomplete(words, table, result.faults);
  Layer layer(on_command_line, result.faults);
  try {
    // Abbreviations are off: they would change meaning whenever an option is added.
    const auto style = po::command_line_style::allow_long |
                       po::command_line_style::long_allow_adjacent |
                       po::command_line_style::long_allow_next;
    const auto parsed =
        po::command_line_parser(words).options(description).style(style).allow_unregistered().run();
    // Stray words after an unknown option are its values, not faults of their own. If the command
    // takes words, only the first one is such a value.
    bool after_unknown = false;
    for (const po::option& option : parsed.options) {
      const bool is_word = option.position_key >= 0 || option.string_key.empty();
      if (is_word && std::exchange(after_unknown, !allow_positional && after_unknown)) continue;
      after_unknown = !is_word && option.unregistered;
      if (is_word) {
        const std::string& word = option.original_tokens.at(0);
        // A lone dash is standard input.
        if (allow_positional && (!begins_with(word, "-") || word == "-")) {
          result.positional.push_back(word);
        } else {
          result.faults.push_back(unexpected_word(word, allow_positional, table));
          const OptionSpec* meant = find_option(table, result.faults.back().without_value);
          after_unknown = meant != nullptr && !meant->placeholder.empty() &&
                          word.find('=') == std::string::npos;
        }
      } else if (option.unregistered) {
        result.faults.push_back(unknown_option(option.string_key, table));
      } else {
        store(option, table, layer);
      }
    }
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; tandem " + command +
                     " --help lists every option");
  }
  for (auto word = end_of_options; word != arguments.end(); ++word) {
    if (word == end_of_options) continue;
    if (allow_positional) {
      result.positional.push_back(*word);
    } else {
      result.faults.push_back("'" + *word +
                              "' was not expected; the command takes no word after --");
    }
  }
  result.values = layer.values();
  return result;
}

std::string environment_variable(const std::string& option) {
  std::string variable = "TANDEM_" + option;
  std::transform(variable.begin(), variable.end(), variable.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return variable;
}

std::map<std::string, std::string> read_config_file(const OptionTable& table,
                                                    const std::string& path, Faults& faults) {
  constexpr std::uint64_t kLargestConfig = std::uint64_t{1} << 16;
  if (File::open_for_reading(path).size() > kLargestConfig) {
    faults.push_back(path +
                     ": is larger than 64 KiB, lines of the form name = value were expected");
    return {};
  }
  Faults found;
  Layer layer(in_file, found);
  std::string text = read_file(path);
  if (begins_with(text, kByteOrderMark)) text.erase(0, std::strlen(kByteOrderMark));
  const std::vector<std::string> lines = split(text, '\n');
  bool has_other_lines = false;  // the first one is a fault
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trim(lines[i].substr(0, lines[i].find('#')));
    const std::size_t sign = line.find('=');
    if (line.empty()) continue;
    if (line.front() == '[' || sign == std::string::npos) {
      if (std::exchange(has_other_lines, true)) continue;
      found.push_back("line " + std::to_string(i + 1) +
                      (line.front() == '[' ? " begins a section, and files of options have none"
                                           : " has no equal sign") +
                      "; lines of the form name = value are expected");
      continue;
    }
    const std::string name = trim(line.substr(0, sign));
    if (const OptionSpec* spec = find_option(table, name)) {
      layer.set(*spec, name, trim(line.substr(sign + 1)));
    } else {
      found.push_back(unknown_option(name, table));
    }
  }
  for (const Fault& fault : found) {
    faults.emplace_back(path + ": " + fault.text, fault.without_value);
  }
  return layer.values();
}

Options resolve(const OptionTable& table, const CommandLine& command_line) {
  std::map<std::string, OptionValue> values;
  for (const OptionSpec& spec : table) values[spec.name] = {spec.default_value, Origin::kDefault};
  const auto overlay = [&](const std::map<std::string, std::string>& layer, Origin origin) {
    for (const auto& [name, text] : layer) values[name] = {text, origin};
  };
  Faults faults = command_line.faults;
  const auto environment = read_environment(table, faults);
  // --recipe and --config may themselves come from a stronger layer.
  const auto strongest = [&](const std::string& name) -> std::string {
    if (command_line.values.count(name) > 0) return command_line.values.at(name);
    return environment.count(name) > 0 ? environment.at(name) : "";
  };
  std::map<std::string, std::string> file;
  if (const std::string path = strongest("config"); !path.empty()) {
    file = read_config_file(table, path, faults);
    require_no_other_file(file, path, {"config"}, faults);
  }
  std::string recipe = strongest("recipe");
  if (recipe.empty() && file.count("recipe") > 0) recipe = file.at("recipe");
  if (!recipe.empty()) {
    try {
      const std::string path = find_recipe(recipe);
      const auto values_of_recipe = read_config_file(table, path, faults);
      require_no_other_file(values_of_recipe, path, {"recipe", "config"}, faults);
      overlay(values_of_recipe, Origin::kRecipe);
    } catch (const UsageError& error) {  // the faults of the other options are reported with it
      faults.emplace_back(error.what());
    }
  }
  overlay(file, Origin::kConfigFile);
  overlay(environment, Origin::kEnvironment);
  overlay(command_line.values, Origin::kCommandLine);
  Options options(table, std::move(values), command_line.positional, std::move(faults));
  refuse_empty(options);
  return options;
}

}  // namespace tandem::app
