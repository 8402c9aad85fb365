#include "script.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// "n1:4,n2:2"
std::string host_list(const Launch& launch) {
  const std::string ranks = ":" + std::to_string(launch.ranks_per_node);
  if (launch.hosts.empty()) return "localhost" + ranks;
  std::vector<std::string> hosts;
  for (const std::string& host : launch.hosts) {
    hosts.push_back(host.find(':') == std::string::npos ? host + ranks : host);
  }
  return join(hosts, ",");
}

std::uint64_t ranks_in(const std::string& hosts) {
  std::uint64_t ranks = 0;
  for (const std::string& host : split(hosts, ',')) {
    ranks += std::stoull(host.substr(host.find(':') + 1));
  }
  return ranks;
}

}  // namespace

std::string mpirun_line(const Launch& launch) {
  comm::LaunchLine line;
  line.hosts = host_list(launch);
  line.ranks = ranks_in(line.hosts);
  line.cpus_per_rank = launch.cpus_per_rank;
  line.leaves_host = !launch.hosts.empty();
  std::vector<std::string> words = launch.launcher.words(line);
  for (const std::string& word : train_words(launch)) words.push_back(word);
  return join(words, " ");
}

}  // namespace tandem::app
