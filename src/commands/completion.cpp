#include <algorithm>
#include <string_view>

#include "self_description.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// Tells a shell to complete paths itself. The help of kFiles is the pattern of file names; empty:
// all files.
constexpr const char* kFiles = ":files";
constexpr const char* kFolders = ":folders";

// The candidates for an option's value. Recipes come before files: files are offered only for a
// word that begins no recipe.
std::vector<Candidate> values_of(const OptionSpec& spec, const std::string& typed) {
  const bool is_recipe = spec.name == "recipe";
  std::vector<Candidate> values;
  for (const std::string& word : is_recipe ? recipe_names() : spec.choices) {
    if (begins_with(word, typed)) values.push_back({word, ""});
  }
  if (is_recipe && !values.empty()) return values;
  constexpr std::string_view kFile = "FILE";
  for (const std::string& kind : split(spec.placeholder, '|')) {
    if (begins_with(kind, kFile)) {
      const std::string ending = is_recipe ? ".conf" : kind.substr(kFile.size());
      values.push_back({kFiles, ending.empty() ? "" : "*" + ending});
    }
    if (kind == "PATH") values.push_back({kFiles, ""});
    if (kind == "DIR") values.push_back({kFolders, ""});
  }
  return values;
}

// The candidates for the command's arguments besides options.
std::vector<Candidate> words_of(const Command& command) {
  const bool takes_folders =
      begins_with(command.usage, "RUN_DIR") || begins_with(command.usage, "[DIR]");
  return {{takes_folders ? kFolders : kFiles, ""}};
}

// Every spelling of the options, "--no-" forms included.
std::vector<Candidate> spellings_of(const Command& command) {
  std::vector<Candidate> words;
  for (const OptionSpec& spec : command.options) {
    words.push_back({"--" + spec.name, spec.help});
    if (spec.placeholder.empty()) words.push_back({"--no-" + spec.name, spec.help});
  }
  words.push_back({"--help", "this command in short"});
  return words;
}

const Command* find(const std::vector<Command>& commands, const std::string& name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

// For the last word of a command line of at least two.
std::vector<Candidate> candidates(const std::vector<Command>& commands,
                                  const std::vector<std::string>& words) {
  const Command* command = find(commands, words.front());
  if (command == nullptr) return {};
  // Words after the -- of emit and of bench tta are options of train.
  const bool takes_words_of_train =
      command->name == "emit" || (command->name == "bench" && words[1] == "tta");
  const bool is_of_train =
      takes_words_of_train && std::find(words.begin(), words.end() - 1, "--") != words.end() - 1;
  if (is_of_train) command = find(commands, "train");
  const std::string& previous = words[words.size() - 2];
  const OptionSpec* option =
      begins_with(previous, "--") ? find_option(command->options, previous.substr(2)) : nullptr;
  if (option != nullptr && !option->placeholder.empty()) return values_of(*option, words.back());
  if (begins_with(words.back(), "-")) return spellings_of(*command);
  if (command->forms.empty() || words.size() > 2) return words_of(*command);
  std::vector<Candidate> forms;
  for (const std::string& form : command->forms) forms.push_back({form, ""});
  return forms;
}

// --option=value as two words. bash makes three of it, zsh one.
std::vector<std::string> without_equals_signs(const std::vector<std::string>& words) {
  std::vector<std::string> plain;
  for (const std::string& word : words) {
    const bool is_option = begins_with(word, "--");
    if (const auto at = word.find('='); is_option && at != std::string::npos) {
      plain.push_back(word.substr(0, at));
      plain.push_back(word.substr(at + 1));
    } else if (word != "=") {
      plain.push_back(word);
    }
  }
  if (!words.empty() && words.back() == "=") plain.emplace_back();
  return plain;
}

}  // namespace

std::vector<Candidate> complete(const std::vector<Command>& commands,
                                const std::vector<std::string>& typed) {
  const std::vector<std::string> words = without_equals_signs(typed);
  if (words.empty()) return {};
  std::vector<Candidate> all;
  if (words.size() == 1) {
    for (const Command& command : commands) all.push_back({command.name, command.purpose});
    all.push_back({"--help", "all commands"});
    all.push_back({"--version", "of the program and its libraries"});
  } else {
    all = candidates(commands, words);
  }
  const auto differs = [&](const Candidate& each) {
    return each.word.front() != ':' && !begins_with(each.word, words.back());
  };
  all.erase(std::remove_if(all.begin(), all.end(), differs), all.end());
  return all;
}

std::string bash_completion() {
  return "# Completion of tandem in bash, made by: tandem emit bash-completion\n"
         R"(_tandem_paths() {
  local path
  compopt -o filenames 2> /dev/null
  while IFS='' read -r path; do COMPREPLY+=("$path"); done < <(compgen "$@" -- "$current")
}

_tandem() {
  local current=${COMP_WORDS[COMP_CWORD]} word help
  COMPREPLY=()
  [ "$current" != = ] || current=''
  while IFS=$'\t' read -r word help; do
    case $word in
      :files)
        _tandem_paths -f -X "!${help:-*}"
        [ -z "$help" ] || _tandem_paths -d
        ;;
      :folders) _tandem_paths -d ;;
      *) COMPREPLY+=("$word") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}

# After mpirun … tandem; before that word, files.
_tandem_launched() {
  local at words=("${COMP_WORDS[@]}")
  for ((at = 1; at < COMP_CWORD; ++at)); do
    case ${words[at]} in
      tandem | */tandem)
        local COMP_WORDS=("${words[@]:at}") COMP_CWORD=$((COMP_CWORD - at))
        _tandem
        return
        ;;
    esac
  done
  COMPREPLY=()
  compopt -o default 2> /dev/null
}

complete -F _tandem tandem
complete -F _tandem_launched mpirun mpiexec)";
}

std::string zsh_completion() {
  return "#compdef tandem mpirun mpiexec\n"
         "# Completion of tandem in zsh, made by: tandem emit zsh-completion\n"
         R"(_tandem() {
  # After mpirun … tandem; before that word, what zsh offers anyway.
  local -i at=${words[(i)(tandem|*/tandem)]}
  if (( at >= CURRENT )); then
    _default
    return
  fi
  shift $((at - 1)) words
  (( CURRENT -= at - 1 ))
  local -a offered paths
  local word help
  while IFS=$'\t' read -r word help; do
    case $word in
      :files) paths=(_files ${help:+-g} ${help:+$help}) ;;
      :folders) paths=(_files -/) ;;
      *) offered+=("${word//:/\\:}:$help") ;;
    esac
  done < <($words[1] __complete "${(@Q)words[2,CURRENT]}" 2> /dev/null)
  local -a kind
  if [[ $words[CURRENT] == --*=* ]]; then
    compset -P 1 '*='
  elif [[ $words[CURRENT] == -* ]]; then
    kind=(-o)
  fi
  (( ! $#offered )) || _describe $kind tandem offered
  (( ! $#paths )) || $paths
}

_tandem "$@")";
}

}  // namespace tandem::app
