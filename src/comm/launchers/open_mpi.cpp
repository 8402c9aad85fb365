// Open MPI's mpirun: ORTE up to 4, PRRTE from 5 on.
//
// Exit codes: that of the first rank that fails, 128 + n after signal n, 205 if the connection to a
// host is lost, 134 if the program is not found. After SIGTERM to mpirun it is 1.
// Grace: ORTE kills ranks a second after SIGTERM, or after odls_base_sigkill_timeout seconds. It
// also waits twice as long after every exit code but 0. PRRTE ignores that setting and kills after
// half a second. Both pass SIGUSR1 on and kill nothing.
#include "tandem/comm/launchers.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

constexpr auto kSecondsBeforeKill = "5";

std::vector<std::string> common_words(const LaunchLine& line, const std::string& cores) {
  std::vector<std::string> words = {"mpirun", "-np", std::to_string(line.ranks)};
  if (!line.hosts.empty()) words.insert(words.end(), {"--host", shell_word(line.hosts)});
  if (!line.host_file.empty()) words.insert(words.end(), {"--hostfile", line.host_file});
  const bool binds = line.cpus_per_rank > 0;
  words.insert(words.end(), {"--map-by", binds ? "slot:" + cores : "slot", "--bind-to",
                             binds ? "core" : "none"});
  return words;
}

// If the link to a host fails, mpirun would wait 15 minutes for the kernel to notice.
void notice_lost_links(const LaunchLine& line, const std::string& option,
                       std::vector<std::string>& words) {
  if (!line.leaves_host) return;
  words.insert(words.end(),
               {option, "oob_tcp_keepalive_time", "20", option, "oob_tcp_keepalive_intvl", "5",
                option, "oob_tcp_keepalive_probes", "3"});
}

std::vector<std::string> words_of_4(const LaunchLine& line) {
  std::vector<std::string> words = common_words(line, "PE=" + std::to_string(line.cpus_per_rank));
  words.insert(words.end(), {"--mca", "odls_base_sigkill_timeout", kSecondsBeforeKill});
  notice_lost_links(line, "--mca", words);
  return words;
}

std::vector<std::string> words_of_5(const LaunchLine& line) {
  std::vector<std::string> words = common_words(line, "pe=" + std::to_string(line.cpus_per_rank));
  notice_lost_links(line, "--prtemca", words);
  return words;
}

}  // namespace

Launcher open_mpi_4() {
  Launcher launcher;
  launcher.name = "openmpi4";
  launcher.title = "Open MPI 4";
  launcher.library = "Open MPI v4";
  launcher.mark = "OMPI_COMM_WORLD_RANK";
  launcher.rank = "OMPI_COMM_WORLD_RANK";
  launcher.size = "OMPI_COMM_WORLD_SIZE";
  launcher.job = "PMIX_NAMESPACE";
  launcher.binding = "OMPI_MCA_hwloc_base_binding_policy";
  launcher.programs = {"mpirun", "mpiexec", "orterun", "prterun", "prte"};
  launcher.start = "mpirun -np ";
  launcher.holds_output_after_interrupt = true;
  launcher.prints = "OMPI_MCA_orte_launch";
  launcher.is_quiet = "OMPI_MCA_orte_execute_quiet";
  launcher.unbind =
      "mpirun binds ranks to cores where there are at most two of them: start it with --bind-to "
      "none or --map-by slot:PE=N";
  launcher.no_process_reads = "OMPI_MCA_btl_vader_single_copy_mechanism=none";
  launcher.choose_interface = "--mca btl_tcp_if_include";
  launcher.srun_mpi = "pmix";
  launcher.flux_pmi = "pmix";
  launcher.words = words_of_4;
  return launcher;
}

Launcher open_mpi_5() {
  Launcher launcher = open_mpi_4();
  launcher.name = "openmpi5";
  launcher.title = "Open MPI 5";
  launcher.library = "Open MPI v5";
  launcher.binding = nullptr;
  launcher.prints = "PRTE_LAUNCHED";
  launcher.is_quiet = nullptr;
  launcher.no_process_reads = "OMPI_MCA_smsc=^cma";
  launcher.words = words_of_5;
  return launcher;
}

}  // namespace tandem::comm
