#include <algorithm>

#include "self_description.hpp"
#include "session/launch.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"

namespace tandem::app {
namespace {

// The values of an option: words, paths, folders, or unknown.
struct Values {
  std::vector<std::string> words;
  bool are_files = false;
  bool are_folders = false;
};

Values values_of(const OptionSpec& spec) {
  Values values;
  values.words = spec.name == "recipe" ? recipe_names() : spec.choices;
  for (const std::string& kind : split(spec.placeholder, '|')) {
    values.are_files |= kind.rfind("FILE", 0) == 0 || kind == "PATH";
    values.are_folders |= kind == "DIR";
  }
  return values;
}

// Every spelling of the options, "--no-" forms included.
std::vector<std::string> option_words(const OptionTable& table) {
  std::vector<std::string> words;
  for (const OptionSpec& spec : table) {
    words.push_back("--" + spec.name);
    if (spec.placeholder.empty()) words.push_back("--no-" + spec.name);
  }
  words.emplace_back("--help");
  return words;
}

std::string shell_words(const std::vector<std::string>& words) {
  return shell_word(join(words, " "));
}

// "      train:--model) …;;", for options that are followed by a value.
std::string bash_values(const Command& command) {
  std::string cases;
  for (const OptionSpec& spec : command.options) {
    if (spec.placeholder.empty()) continue;
    const Values values = values_of(spec);
    std::string act;
    if (!values.words.empty()) act += "_tandem_words " + shell_words(values.words) + "; ";
    if (values.are_files) act += "_tandem_paths -f; ";
    if (values.are_folders) act += "_tandem_paths -d; ";
    cases += "    " + command.name + ":--" + spec.name + ") " + act + "return ;;\n";
  }
  return cases;
}

// Within single quotes of zsh, in the parts that colons and brackets end.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') {
      out += std::string("\\") + letter;
    } else {
      out += letter;
    }
  }
  return out;
}

// The action of _arguments behind "OPTION:message:".
std::string zsh_action(const Values& values) {
  if (!values.words.empty() && values.are_files) {
    return "{compadd -- " + join(values.words, " ") + "; _files}";
  }
  if (!values.words.empty()) return "(" + join(values.words, " ") + ")";
  if (values.are_folders) return "_files -/";
  return values.are_files ? "_files" : " ";
}

std::string zsh_arguments(const Command& command) {
  std::string text = "_arguments '--help[this command in short]'";
  for (const OptionSpec& spec : command.options) {
    const std::string help = "[" + zsh_text(spec.help) + "]";
    if (spec.placeholder.empty()) {
      text += " \\\n        '--" + spec.name + help + "' '--no-" + spec.name + help + "'";
    } else {
      // "=": the value is the next word, or follows an equals sign.
      text += " \\\n        '--" + spec.name + "=" + help + ":" + zsh_text(spec.placeholder) + ":" +
              zsh_action(values_of(spec)) + "'";
    }
  }
  const std::string operands =
      command.forms.empty() ? "*:file:_files" : "1:form:(" + join(command.forms, " ") + ")";
  return text + " \\\n        '" + operands + "'";
}

std::vector<std::string> first_words(const std::vector<Command>& commands) {
  std::vector<std::string> words;
  for (const Command& command : commands) words.push_back(command.name);
  words.insert(words.end(), {"--help", "--version"});
  return words;
}

}  // namespace

std::string bash_completion(const std::vector<Command>& commands) {
  std::string values;
  std::string options;
  std::string forms;
  for (const Command& command : commands) {
    values += bash_values(command);
    options += "      " + command.name + ") _tandem_words " +
               shell_words(option_words(command.options)) + " ;;\n";
    if (command.forms.empty()) continue;
    forms += "    " + command.name +
             ") if [ \"$COMP_CWORD\" = 2 ] && [[ $current != -* ]]; then _tandem_words " +
             shell_words(command.forms) + "; return; fi ;;\n";
  }
  return "# Completion of tandem " + version() +
         " in bash, made by: tandem emit bash-completion\n" +
         R"(_tandem_words() {
  local word
  while IFS='' read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$current")
}

_tandem_paths() {
  compopt -o filenames 2> /dev/null
  local path
  while IFS='' read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$current")
}

_tandem() {
  COMPREPLY=()
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} i
  if [ "$COMP_CWORD" = 1 ]; then
    _tandem_words )" +
         shell_words(first_words(commands)) + R"(
    return
  fi
  # bash makes three words of --option=value.
  if [ "$current" = = ]; then
    current=''
  elif [ "$previous" = = ]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  # What follows a -- of emit are options of train.
  for ((i = 2; i < COMP_CWORD; ++i)); do
    if [ "$command:${COMP_WORDS[i]}" = emit:-- ]; then command=train; fi
  done
  case $command:$previous in
)" + values +
         R"(  esac
  case $command in
)" + forms +
         R"(  esac
  if [[ $current != -* ]]; then
    _tandem_paths -f
    return
  fi
  case $command in
)" + options +
         R"(  esac
}

complete -F _tandem tandem)";
}

std::string zsh_completion(const std::vector<Command>& commands) {
  std::string names;
  std::string cases;
  for (const Command& command : commands) {
    names += "    '" + command.name + ":" + zsh_text(command.purpose) + "'\n";
    cases += "    " + command.name + ")\n      " + zsh_arguments(command) + " ;;\n";
  }
  return "#compdef tandem\n# Completion of tandem " + version() +
         " in zsh, made by: tandem emit zsh-completion\n" + R"(_tandem() {
  local -a commands=(
)" + names +
         R"(  )
  if (( CURRENT == 2 )); then
    _describe command commands
    compadd -- --help --version
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  # What follows a -- of emit are options of train.
  local -i separator=${words[(i)--]}
  if [[ $command == emit ]] && (( separator < CURRENT )); then
    command=train
    words=(train "${(@)words[separator + 1, -1]}")
    (( CURRENT -= separator - 1 ))
  fi
  case $command in
)" + cases +
         R"(  esac
}

_tandem "$@")";
}

}  // namespace tandem::app
