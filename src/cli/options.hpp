// The options of a command as one table, and their values from command line, environment, file and
// recipe. Throws UsageError with all faults at once; MissingInputError if a file is missing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "option_traits.hpp"
#include "tandem/core/error.hpp"

namespace tandem::app {

// The words of a command line, without the program and its command.
using Arguments = std::vector<std::string>;

// Of an option that one source gives more than once.
// kJoins: a list, with commas; kRefused: a fault.
enum class Repetition { kLastCounts, kJoins, kRefused };

// The condition for an option to have an effect: another option has one of these values, or any
// value if the list is empty. `train` warns about an option without effect, because scripts may
// have it. A new option should be refused instead.
struct UsedWith {
  std::string option;  // empty: the option needs nothing
  std::vector<std::string> values;
};

struct OptionSpec {
  std::string name;                       // "batch-size"
  std::string placeholder;                // "N"; empty: a switch, which also has a --no- form
  std::string default_value;              // "" : not set; switches: "true" or "false"
  std::string help;                       // one sentence, with the unit
  std::string group;                      // heading in --help
  OptionTraits traits = {};               // complete in the table of `train`
  std::vector<std::string> choices = {};  // allowed values; empty: any
  OtherBits other_bits = {};
  std::vector<std::string> aliases = {};  // other names, accepted wherever `name` is
  std::string earlier_value = {};         // of starts without the option; empty: the default
  Repetition repetition = Repetition::kLastCounts;
  UsedWith used_with = {};
};
using OptionTable = std::vector<OptionSpec>;

// The option with this name or alias; nullptr if the table has none.
const OptionSpec* find_option(const OptionTable& table, const std::string& name);
// `spec` with this condition, or under another heading.
OptionSpec only_with(UsedWith used_with, OptionSpec spec);
OptionSpec in_group(const std::string& group, OptionSpec spec);
// The option that "no-NAME" negates, a switch or not; nullptr if the table has none.
const OptionSpec* negated_option(const OptionTable& table, const std::string& name);
// Whether the table has --NAME: an option, an alias, or the no- form of a switch.
bool has_option(const OptionTable& table, const std::string& name);
// The name, then the aliases.
std::vector<std::string> names_of(const OptionSpec& spec);

// Where a value came from, weakest first.
enum class Origin { kDefault, kRecipe, kConfigFile, kEnvironment, kCommandLine };

struct OptionValue {
  std::string text;
  Origin origin = Origin::kDefault;
};

// The upper limit of options that need no lower one.
inline constexpr double kMaxReal = 1e9;

// A fault in the options of a command.
struct Fault {
  Fault(std::string words, std::string option = {})
      : text(std::move(words)), without_value(std::move(option)) {}

  std::string text;
  std::string without_value;  // the option that has no value because of this fault; may be empty
};
using Faults = std::vector<Fault>;
std::vector<std::string> texts_of(const Faults& faults);

// Values by option name, read with range checks. Faults are collected, so that a user sees all of
// them at once.
class Options {
 public:
  Options(const OptionTable& table, std::map<std::string, OptionValue> values,
          std::vector<std::string> positional = {}, Faults faults = {});

  const OptionTable& table() const { return table_; }
  const OptionValue& value(const std::string& name) const;
  bool is_set(const std::string& name) const { return !value(name).text.empty(); }
  const std::vector<std::string>& positional() const { return positional_; }

  std::string text(const std::string& name) const { return value(name).text; }
  bool flag(const std::string& name);
  std::uint64_t count(const std::string& name, std::uint64_t lowest, std::uint64_t highest);
  double real(const std::string& name, double lowest, double highest);
  // One of the option's choices, or of these; the message suggests the nearest.
  std::string choice(const std::string& name);
  std::string choice(const std::string& name, const std::vector<std::string>& choices);
  // Parses by `parse`, whose UsageError becomes one of the faults.
  template <typename Parse>
  auto parsed(const std::string& name, const Parse& parse) -> decltype(parse(std::string())) {
    try {
      return parse(text(name));
    } catch (const UsageError& error) {
      add_fault(error.what() + where_from(name));
      return {};
    }
  }
  // Replaces a value such as auto by the resolved one.
  void resolve(const std::string& name, const std::string& text) { values_.at(name).text = text; }
  // Adds a fault if the option is not set, unless an earlier fault explains that.
  void require(const std::string& name);
  // Adds a fault, unless one has this text. `option`: the one that has no value because of it, if
  // any.
  void add_fault(const std::string& text, const std::string& option = {});
  const Faults& faults() const { return faults_; }
  // Throws UsageError with all faults, if there are any.
  void throw_faults(const std::string& command) const;
  // " (from TANDEM_LR)", for values from outside the command line.
  std::string where_from(const std::string& name) const;

 private:
  OptionTable table_;
  std::map<std::string, OptionValue> values_;
  std::vector<std::string> positional_;
  Faults faults_;
};

// "--batch-size=8" for "--batch_size=8", a spelling that torchrun also accepts. Other words stay
// unchanged.
std::string with_dashes(std::string word);
// Takes an option and its values out of the words of a command line, in each spelling that is
// accepted. Returns the values in order.
std::vector<std::string> take_option(Arguments& words, const std::string& name);

// One parsed command line, not yet merged with other sources. An unknown option is a fault that
// suggests the nearest one. Other faults: an option without its value, a switch with a value, an
// option that is given by its name and by an alias, and one that must not be repeated.
struct CommandLine {
  std::map<std::string, std::string> values;  // by option name; switches "true" or "false"
  std::vector<std::string> positional;
  Faults faults;  // reported with those of the values
};
CommandLine parse_command_line(const std::string& command, const OptionTable& table,
                               const Arguments& arguments, bool allow_positional);

// "TANDEM_BATCH_SIZE" for "batch-size".
std::string environment_variable(const std::string& option);
// Reads an INI file of "name = value" lines; errors are added to `faults`. The result is by option
// name, also for a line with an alias.
std::map<std::string, std::string> read_config_file(const OptionTable& table,
                                                    const std::string& path, Faults& faults);

// Command line > environment > file > recipe > default. `command_line` may name --config and
// --recipe, if the table has them.
Options resolve(const OptionTable& table, const CommandLine& command_line);

// A sentence for each option of the command line that has no effect with the values of the other
// options. Options of other sources get none, because a run's config file has all options.
std::vector<std::string> describe_unused(const Options& options);
// "--name  value  origin" lines.
std::string describe_options(const Options& options);
std::string help_and_default(const OptionSpec& spec);  // the latter in brackets, if it has one
// Help text: usage line, the options named by `first`, then all of them in groups, with defaults,
// and an example; at most 100 columns.
std::string help_text(const std::string& usage, const std::string& purpose,
                      const OptionTable& table, const std::string& example,
                      const std::vector<std::string>& first = {});

// The shipped recipes, sorted; empty if the program has none beside it.
std::vector<std::string> recipe_names();
// The file of recipe NAME, or NAME itself if it is a path; UsageError suggests the nearest.
std::string find_recipe(const std::string& name);
// Whether NAME is one of the shipped recipes, whose values may differ between versions.
bool is_shipped_recipe(const std::string& name);

}  // namespace tandem::app
