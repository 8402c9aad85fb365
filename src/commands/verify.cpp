// tandem verify: checks that packed data sets and model files are intact, each independently of the
// others, and ends with the code of the worst.
#include "tandem/data/verify.hpp"

#include <set>
#include <string>

#include "commands.hpp"
#include "session/engine.hpp"
#include "session/fault_code.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

void verify_data(const std::string& path, bool seal) {
  const data::VerifyReport report = data::verify_dataset(path);
  print_line(path + ": whole; " + report.info.name + ", " + format_count(report.info.train_count) +
             " train and " + format_count(report.info.test_count) + " test images, digest " +
             report.info.digest.substr(0, 16));
  if (report.info.sealed) return;
  if (seal) {
    data::seal(path);
    print_line(path + ": sealed");
  } else {
    print_warning(data::unsealed_warning(path));
  }
}

int run_verify(const Arguments& arguments) {
  Options options = resolve_alone(verify_command(), arguments, true);
  const bool seal = options.flag("seal");
  const bool run_network = options.flag("run-network");
  if (options.positional().empty()) options.add_fault("FILE is missing");
  options.throw_faults("verify");
  ExitCode code = ExitCode::kDone;
  std::set<std::string> said;
  for (const std::string& path : options.positional()) {
    const ExitCode found = checked(said, [&] {
      if (is_folder(path) || ends_with(path, ".safetensors")) {
        return open_engine().verify_model(path, run_network, said);
      }
      verify_data(path, seal);
      return ExitCode::kDone;
    });
    code = worse_of(code, found);
  }
  return static_cast<int>(code);
}

}  // namespace

Command verify_command() {
  return {"verify",
          "FILE... [--seal] [--run-network]",
          "check packed data sets and models completely",
          "tandem verify synthetic.h5",
          {{"seal", "", "false", "add the seal to a data set that was packed by other software",
            "what to do"},
           {"run-network", "", "false",
            "also run the code of a TorchScript network, and check that its tensors fit",
            "what to do"}},
          run_verify,
          nullptr};
}

}  // namespace tandem::app
