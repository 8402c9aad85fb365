#include "option_hints.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "other_trainers.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

bool is_switch(const OptionSpec* spec) { return spec != nullptr && spec->placeholder.empty(); }

std::vector<std::string> option_names(const OptionTable& table) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : table) {
    names.push_back(spec.name);
    if (spec.placeholder.empty()) names.push_back("no-" + spec.name);
  }
  names.emplace_back("help");
  return names;
}

// The only option whose first words these are; "" where there is none, or more than one.
std::string begun_by(const std::string& name, const OptionTable& table) {
  std::string found;
  for (const OptionSpec& spec : table) {
    if (!begins_with(spec.name, name + "-")) continue;
    if (!found.empty()) return "";
    found = spec.name;
  }
  return found;
}

// The name of the option that has this name or alias; "" if the table has none.
std::string meant_option(const OptionTable& table, const std::string& name) {
  const OptionSpec* spec = find_option(table, name);
  return spec == nullptr ? "" : spec->name;
}

// The last option that the answer names; "" if it names none. Absent if the command lacks one of
// them. Options directly after `mpirun`, `sbatch`, `srun`, `tandem` or RUN (a script's argument)
// belong to those programs.
std::optional<std::string> option_of_answer(const std::string& answer, const OptionTable& table) {
  const std::vector<std::string> others{"mpirun", "sbatch", "srun", "tandem", "RUN"};
  std::string last;
  const std::vector<std::string> words = split(answer, ' ');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!begins_with(words[i], "--")) continue;
    const bool is_of_other =
        i > 0 && std::find(others.begin(), others.end(), words[i - 1]) != others.end();
    const std::size_t end = words[i].find_last_not_of(".,:;");
    if (is_of_other) continue;
    last = meant_option(table, words[i].substr(2, end - 1));
    if (last.empty()) return std::nullopt;
  }
  return last;
}

}  // namespace

Fault unknown_option(const std::string& given, const OptionTable& table) {
  const std::string unknown = "--" + given + " is not an option";
  if (given == "help") return unknown + " after the word --; give it before";
  // Of --trainer.max_epochs, as Lightning's command line has it, the last part counts.
  const std::string name = given.substr(given.rfind('.') + 1);
  const char* ours = our_option(name);
  // --hosts of a plan is a number, and no addresses.
  const bool is_of_plan =
      ours != nullptr && ours == std::string("hosts") && has_option(table, "plan");
  const std::string other = ours == nullptr ? "" : split(ours, ' ').front();
  if (ours != nullptr && !is_of_plan && has_option(table, other)) {
    return {unknown + "; here it is --" + ours, meant_option(table, other)};
  }
  if (name != given && has_option(table, name)) {
    return {unknown + "; here it is --" + name, meant_option(table, name)};
  }
  const std::string begun = begun_by(name, table);
  if (!begun.empty()) return {unknown + "; did you mean --" + begun + "?", begun};
  const char* answer = answer_to(name);
  const auto of_answer = answer == nullptr ? std::nullopt : option_of_answer(answer, table);
  if (of_answer) return {unknown + ": " + answer, *of_answer};
  if (const OptionSpec* spec = negated_option(table, name)) {
    return {unknown + ": --" + spec->name + " needs a value, " + spec->placeholder +
                (spec->default_value.empty() ? "" : "; leave it out for " + spec->default_value),
            spec->name};
  }
  const auto suggestion = nearest(name, option_names(table));
  if (!suggestion) return unknown;
  return {unknown + "; did you mean --" + *suggestion + "?", meant_option(table, *suggestion)};
}

Fault unexpected_word(const std::string& word, bool takes_files, const OptionTable& table) {
  const std::string found = "'" + word + "' was not expected; ";
  const std::string option = with_dashes("-" + word.substr(0, word.find('=')));
  const std::string meant = begins_with(option, "--") ? meant_option(table, option.substr(2)) : "";
  if (!meant.empty()) return {found + "did you mean " + option + "?", meant};
  return found + "options begin with --" +
         (takes_files ? ", and a file of this name is given as " + shell_word("./" + word) +
                            " or after the word --"
                      : "");
}

std::vector<std::string> mistyped_variables(const std::vector<std::string>& options) {
  constexpr std::string_view kPrefix = "TANDEM_";
  constexpr std::size_t kShortest = 5;  // of a word that is like few others
  std::vector<std::string> warnings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string variable = split(*entry, '=').front();
    if (!begins_with(variable, kPrefix) || variable.size() < kPrefix.size() + kShortest) continue;
    std::string name = to_lower(variable.substr(kPrefix.size()));
    std::replace(name.begin(), name.end(), '_', '-');
    if (std::find(options.begin(), options.end(), name) != options.end()) continue;
    const char* ours = our_option(name);
    const auto meant = nearest(ours == nullptr ? name : split(ours, ' ').front(), options);
    if (!meant) continue;
    warnings.push_back("environment: " + variable + " belongs to no option; did you mean " +
                       environment_variable(*meant) + "?");
  }
  std::sort(warnings.begin(), warnings.end());
  return warnings;
}

std::optional<std::string> meant_choice(const std::string& given,
                                        const std::vector<std::string>& choices) {
  const std::string lower = to_lower(given);
  const auto is_choice = [&choices](const std::string& word) {
    return std::find(choices.begin(), choices.end(), word) != choices.end();
  };
  if (is_choice(lower)) return lower;
  const char* ours = our_value(lower);
  if (ours != nullptr && is_choice(ours)) return ours;
  return nearest(lower, choices);
}

Arguments take_incomplete(const Arguments& words, const OptionTable& table, Faults& faults) {
  constexpr std::string_view kDashes = "--";
  Arguments others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string option = split(word, '=').front();
    const std::string name = option.substr(std::min(option.size(), kDashes.size()));
    const OptionSpec* spec = begins_with(word, kDashes) ? find_option(table, name) : nullptr;
    const bool is_joined = option.size() < word.size();
    const bool is_empty = is_joined && option.size() + 1 == word.size();
    const bool has_next = !is_joined && i + 1 < words.size();
    const OptionSpec* of_switch = spec == nullptr ? negated_option(table, name) : spec;
    if (is_joined && is_switch(of_switch)) {
      faults.emplace_back(option + " takes no value" +
                          (is_empty ? "" : ", found '" + word.substr(option.size() + 1) + "'") +
                          "; give --" + of_switch->name + " or --no-" + of_switch->name);
    } else if (spec == nullptr && is_empty && !name.empty()) {
      others.push_back(option);  // the parser would end with its own message
    } else if (spec == nullptr || is_switch(spec)) {
      others.push_back(word);
    } else if (is_empty || (!is_joined && (!has_next || begins_with(words[i + 1], kDashes)))) {
      faults.emplace_back(
          option + " needs a value, " + spec->placeholder + " (" + spec->help + ")" +
              (has_next ? "; found " + split(words[i + 1], '=').front() + " in its place" : ""),
          spec->name);
    } else {
      others.push_back(word);
      if (has_next) others.push_back(words[++i]);
    }
  }
  return others;
}

}  // namespace tandem::app
