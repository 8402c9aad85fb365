#include "script.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {

std::string mpirun_line(const Launch& launch) {
  comm::LaunchLine line;
  line.ranks = launch.ranks();
  std::vector<std::string> hosts = launch.hosts;  // each becomes "name:ranks"
  if (hosts.empty()) hosts.emplace_back("localhost");
  for (std::string& host : hosts) {
    if (host.find(':') == std::string::npos) host += ":" + std::to_string(launch.ranks_per_node);
  }
  line.hosts = join(hosts, ",");
  line.cpus_per_rank = launch.cpus_per_rank;
  line.leaves_host = !launch.hosts.empty();
  std::vector<std::string> words = launch.launcher.words(line);
  for (const std::string& word : train_words(launch)) words.push_back(word);
  return join(words, " ");
}

}  // namespace tandem::app
