// Hydra, the mpiexec of MPICH and Intel MPI. Its proxy, one on each host, starts the ranks.
//
// Exit codes: MPICH's mpiexec returns the codes of all ranks, combined by bitwise OR, and n for a
// rank that died of signal n. tandem itself never ends with 3 to 31, so signals cause a code in
// that range. Intel MPI's mpiexec returns 128 + n. If mpiexec is killed, its ranks live on, but
// tandem's end themselves.
// Grace: mpiexec passes SIGTERM and SIGUSR1 on, waits for the ranks and kills nothing.
// The processes of a job share no variable, but they share the proxy. Slurm's srun --mpi=pmi2,
// which also starts ranks of MPICH, gives them PMI_JOBID.
#include <algorithm>

#include "tandem/comm/launchers.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

std::vector<std::string> words_of_mpich(const LaunchLine& line) {
  std::vector<std::string> words = {"mpiexec", "-n", std::to_string(line.ranks)};
  if (!line.hosts.empty()) words.insert(words.end(), {"-hosts", shell_word(line.hosts)});
  if (!line.host_file.empty()) words.insert(words.end(), {"-f", line.host_file});
  if (line.cpus_per_rank > 0) {
    words.insert(words.end(), {"-bind-to", "core:" + std::to_string(line.cpus_per_rank)});
  } else {
    words.insert(words.end(), {"-bind-to", "none"});
  }
  return words;
}

// Its -hosts takes no numbers of ranks. Hosts of unequal ranks need a machine file, which must be a
// regular file.
std::vector<std::string> words_of_intel(const LaunchLine& line) {
  std::vector<std::string> names;
  std::vector<std::string> numbers;
  std::string machines;
  for (const std::string& host : split(line.hosts, ',')) {
    if (host.empty()) continue;
    names.push_back(host.substr(0, host.find(':')));
    numbers.push_back(host.substr(host.find(':') + 1));
    machines += host + "\\n";
  }
  const bool are_unequal =
      std::any_of(numbers.begin(), numbers.end(),
                  [&](const std::string& number) { return number != numbers.front(); });
  const std::string count = std::to_string(line.ranks);
  std::vector<std::string> words = {"mpiexec", "-n", count};
  if (are_unequal) {
    words = {"printf", shell_word(machines), ">",           "tandem-hosts", "&&", "mpiexec", "-n",
             count,    "-machinefile",       "tandem-hosts"};
  } else if (!names.empty()) {
    words.insert(words.end(), {"-hosts", shell_word(join(names, ",")), "-ppn", numbers.front()});
  } else if (!line.host_file.empty()) {
    words.insert(words.end(), {"-f", line.host_file});
    if (line.ranks_per_host > 0) {
      words.insert(words.end(), {"-ppn", std::to_string(line.ranks_per_host)});
    }
  }
  if (line.cpus_per_rank > 0) {
    words.insert(words.end(),
                 {"-genv", "I_MPI_PIN_DOMAIN", std::to_string(line.cpus_per_rank) + ":compact"});
  } else {
    words.insert(words.end(), {"-genv", "I_MPI_PIN", "0"});
  }
  return words;
}

}  // namespace

Launcher mpich() {
  Launcher launcher;
  launcher.name = "mpich";
  launcher.title = "MPICH";
  launcher.library = "MPICH";
  launcher.mark = "MPI_LOCALRANKID";
  launcher.rank = "PMI_RANK";
  launcher.size = "PMI_SIZE";
  launcher.job = "PMI_JOBID";
  launcher.programs = {"hydra_pmi_proxy", "mpiexec.hydra", "mpiexec", "mpirun"};
  launcher.start = "mpiexec -n ";
  launcher.unbind = "start mpiexec with -bind-to none or -bind-to core:N";
  launcher.no_process_reads = "UCX_TLS=^cma";
  launcher.choose_interface = "mpiexec -iface";
  launcher.srun_mpi = "pmi2";
  launcher.flux_pmi = "simple";
  launcher.words = words_of_mpich;
  return launcher;
}

Launcher intel_mpi() {
  Launcher launcher = mpich();
  launcher.name = "intelmpi";
  launcher.title = "Intel MPI";
  launcher.library = "Intel(R) MPI";
  launcher.unbind = "mpiexec binds ranks: set I_MPI_PIN=0 or I_MPI_PIN_DOMAIN=N";
  launcher.no_process_reads = "I_MPI_SHM_CMA=0";
  launcher.words = words_of_intel;
  return launcher;
}

}  // namespace tandem::comm
