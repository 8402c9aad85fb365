#include <cstdio>
#include <utility>

#include "self_description.hpp"
#include "tandem/core/text.hpp"
#include "tandem/core/version.hpp"

namespace tandem::app {
namespace {

constexpr std::pair<int, const char*> kExitCodes[] = {
    {0, "done"},
    {1, "internal error; please report it"},
    {2, "usage: an option, a value or a combination"},
    {65, "a data set or model that is damaged, or not recognized"},
    {66, "an input that is not there"},
    {69, "MPI, a GPU or memory that is not available"},
    {70,
     "training failed: a gradient or a weight is not finite, or the run started "
     "--max-stuck-starts times without a new checkpoint"},
    {73, "an output that cannot be made, or exists already"},
    {74, "reading or writing failed"},
    {75, "the run stopped early on request; --resume auto resumes it"},
    {78, "the ranks disagree: options, program version or data set"},
    {124, "a rank stopped advancing"},
};

constexpr std::pair<const char*, const char*> kVariables[] = {
    {"TANDEM_OPTION",
     "the value of an option, such as TANDEM_RUNS_DIR of --runs-dir; weaker than the command "
     "line, stronger than --config, a recipe and the default"},
    {"OMP_NUM_THREADS", "threads per rank where --threads is 0"},
    {"CUDA_VISIBLE_DEVICES", "which GPUs a rank sees"},
    {"NO_COLOR", "where it is not empty, the progress line has no colors"},
    {"TERM", "where it is dumb or absent, no line is redrawn"},
};

// The character as roff names it: \[u2026].
std::string named_character(const CodePoint& point) {
  char name[16];
  std::snprintf(name, sizeof name, "\\[u%04X]", static_cast<unsigned>(point.value));
  return name;
}

// Text within a line; `verbatim`: that is pasted, in which each - is the one of the keyboard.
std::string roff(std::string_view text, bool verbatim = false) {
  std::string out;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) out = "\\&";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_option = text[at] == '-' && text.substr(at, 2) == "--";
    if (text[at] == '\\') {
      out += "\\e";
    } else if (begins_option) {
      out += "\\-\\-";
      ++at;
    } else if (text[at] == '-') {
      out += verbatim ? "\\-" : "-";
    } else if (static_cast<unsigned char>(text[at]) >= 0x80) {
      const CodePoint point = code_point_at(text.substr(at));
      out += named_character(point);
      at += point.bytes - 1;
    } else {
      out += text[at];
    }
  }
  return out;
}

// A macro's argument may hold blanks, and quotes as two.
std::string argument(const std::string& text) {
  std::string out;
  for (const char letter : roff(text, true)) out += letter == '"' ? "\"\"" : std::string(1, letter);
  return "\"" + out + "\"";
}

std::string sentence(std::string text) {
  if (!ends_with(text, ".")) text += ".";
  return text;
}

std::string section(const std::string& name) { return "\n.SH " + argument(name); }

std::string tagged(const std::string& tag, const std::string& text) {
  return "\n.TP\n" + tag + "\n" + roff(sentence(text));
}

std::string option_text(const OptionSpec& spec) {
  const bool is_switch = spec.placeholder.empty();
  std::string tag = "\\fB\\-\\-" + roff(is_switch ? "[no-]" + spec.name : spec.name, true) + "\\fR";
  if (!is_switch) tag += " \\fI" + roff(spec.placeholder, true) + "\\fR";
  return tagged(tag, help_and_default(spec));
}

std::string command_text(const Command& command) {
  std::string text = "\n.SS " + argument("tandem " + command.name + " " + command.usage);
  text += "\n" + roff(sentence(command.purpose));
  if (!command.forms.empty())
    text += "\n.PP\nFORM is one of " + roff(join(command.forms, ", ")) + ".";
  std::string group;
  for (const OptionSpec& spec : command.options) {
    if (spec.group != group) text += "\n.PP\n\\fI" + roff(spec.group) + "\\fR:";
    group = spec.group;
    text += option_text(spec);
  }
  return text + "\n.PP\nExample:\n.RS 4\n.nf\n" + roff(command.example, true) + "\n.fi\n.RE";
}

}  // namespace

std::string man_page(const std::vector<Command>& commands) {
  std::string text = ".\\\" Made by: tandem emit man\n";
  text += ".TH TANDEM 1 \"" + source_date() + "\" " + argument("tandem " + version()) + " " +
          argument("User Commands");
  text += section("NAME") + "\ntandem \\- train image classifiers on several ranks of MPI";
  text += section("SYNOPSIS") + "\n\\fBtandem\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n.br\n" +
          "\\fBtandem\\fR [\\fICOMMAND\\fR] \\fB\\-\\-help\\fR\n.br\n" +
          "\\fBtandem\\fR \\fB\\-\\-version\\fR";
  text += section("DESCRIPTION") + "\n" +
          roff(
              "One program that packs a data set, trains on several ranks started by mpirun or "
              "srun, evaluates and exports. Ranks train as one: the gradient is the mean over the "
              "global batch at any number of ranks, and every image counts exactly once.") +
          "\n.PP\n" +
          roff(
              "Options are long and are never abbreviated; a switch --quiet has a form "
              "--no-quiet. Values in brackets are defaults. The strongest origin of a value wins: "
              "command line, environment, the file of --config, recipe, default.");
  text += section("COMMANDS");
  for (const Command& command : commands) text += command_text(command);
  text += section("EXIT STATUS") + "\n" +
          roff(
              "mpirun and srun answer with the same code, 128 + n after signal n; but Open MPI's "
              "mpirun answers a SIGINT or SIGTERM of its own with 1 (kill -USR1 stops a run), and "
              "MPICH's mpiexec answers n after signal n.");
  for (const auto& [code, meaning] : kExitCodes) {
    text += tagged("\\fB" + std::to_string(code) + "\\fR", meaning);
  }
  text += section("ENVIRONMENT");
  for (const auto& [name, meaning] : kVariables) {
    text += tagged("\\fB" + roff(name) + "\\fR", meaning);
  }
  text += section("FILES") + tagged("\\fIruns/ID\\fR",
                                    "what a run leaves: its options, metrics, checkpoints, model "
                                    "and page");
  return text + section("SEE ALSO") + "\n.BR mpirun (1),\n.BR srun (1)";
}

}  // namespace tandem::app
