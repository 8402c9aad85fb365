#include "commands.hpp"

#include "tandem/comm/launcher.hpp"

namespace tandem::app {

std::vector<Command> all_commands() {
  return {demo_command(),    pack_command(),   verify_command(),  train_command(),  eval_command(),
          predict_command(), export_command(), inspect_command(), report_command(), runs_command(),
          info_command(),    doctor_command(), emit_command(),    bench_command()};
}

Options resolve_alone(const Command& command, const Arguments& arguments, bool allow_positional) {
  return resolve(command.options,
                 parse_command_line(command.name, command.options, arguments, allow_positional));
}

std::string note_of_mpirun() {
  if (!comm::launcher_reports_exit_code()) return "";
  return "\n  (mpirun's lines below only repeat the exit code)";
}

}  // namespace tandem::app
