// Flux: `flux batch` gives the script an instance of its own, in which `flux run` starts the ranks.
#include "script.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {

std::string flux_script(const Launch& launch) {
  std::string script =
      "#!/bin/bash\n"
      "# Submit this file with flux batch; words after its name go to `tandem train`. It leaves\n"
      "# runs/job-NUMBER and tandem-NUMBER.out in the folder from which it is submitted. To let "
      "it\n"
      "# continue by itself after its time limit: TANDEM_JOB_SCRIPT=THIS_FILE flux batch "
      "THIS_FILE\n"
      "# flux: --job-name=tandem\n";
  script += directive("# flux: --bank=", launch.account);
  script += directive("# flux: --queue=", launch.partition);
  script += directive("# flux: --nodes=", launch.nodes);
  script += directive("# flux: --nslots=", launch.ranks());
  script += directive("# flux: --cores-per-slot=", launch.cpus_per_rank);
  const std::uint64_t gpus =
      launch.gpus_per_node == 0 ? 0 : launch.gpus_per_node / launch.ranks_per_node;
  script += directive("# flux: --gpus-per-slot=", gpus);
  script += directive("# flux: --time-limit=", launch.seconds_limit, "s");
  script +=
      "# flux: --output=" + (launch.output.empty() ? "tandem-{{id}}.out" : launch.output) + "\n";
  script += "number=$(flux job id --to=dec \"$(flux getattr jobid)\") || exit\n";
  script += prologue(launch, {"export it before flux batch", "$number", ""});
  std::vector<std::string> words = {"flux", "run", "--nodes=" + std::to_string(launch.nodes),
                                    "--ntasks=" + std::to_string(launch.ranks())};
  if (launch.cpus_per_rank > 0) {
    words.push_back("--cores-per-task=" + std::to_string(launch.cpus_per_rank));
  }
  if (gpus > 0) words.push_back("--gpus-per-task=" + std::to_string(gpus));
  words.insert(words.end(), {"-o", std::string("pmi=") + launch.launcher.flux_pmi});
  for (const std::string& word : job_words(launch, "")) words.push_back(word);
  words.push_back("\"$@\"");
  script += "\ncode=0\n" + join(words, " ") + " || code=$?\n";
  script += submit_again(launch, "flux --parent batch \"$TANDEM_JOB_SCRIPT\" \"$@\"");
  return script + "exit \"$code\"";
}

}  // namespace tandem::app
