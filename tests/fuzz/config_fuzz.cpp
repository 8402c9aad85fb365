// A file of options, with an option of every kind.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "memory_file.hpp"
#include "target.hpp"

using namespace tandem;

namespace {

const app::OptionTable& table() {
  static const app::OptionTable kTable = {
      {"model", "NAME", "lenet", "A choice.", "Options"},
      {"batch-size", "N", "64", "A count.", "Options"},
      {"lr", "X", "0.1", "A real number.", "Options"},
      {"nesterov", "", "false", "A switch.", "Options"},
      {"run-id", "TEXT", "", "A text.", "Options"},
  };
  return kTable;
}

void read(const std::string& path) {
  app::Faults faults;
  std::map<std::string, app::OptionValue> values;
  for (const app::OptionSpec& spec : table()) values[spec.name].text = spec.default_value;
  for (const auto& [name, text] : app::read_config_file(table(), path, faults)) {
    fuzz::require(values.count(name) > 0, "only options of the table are set");
    values[name] = {text, app::Origin::kConfigFile};
  }
  app::Options options(table(), std::move(values), {}, std::move(faults));
  const std::string model = options.choice("model", {"lenet", "mlp", "resnet18"});
  const std::uint64_t batch = options.count("batch-size", 1, 1000);
  const double rate = options.real("lr", 0, 1);
  options.flag("nesterov");
  if (!options.faults().empty()) return;
  fuzz::require(model == "lenet" || model == "mlp" || model == "resnet18",
                "a choice is one of them");
  fuzz::require(batch >= 1 && batch <= 1000, "a count is in its range");
  fuzz::require(rate >= 0 && rate <= 1, "a number is in its range");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  file.write(fuzz::as_text(data, size));
  read(file.path());
  return 0;
}
