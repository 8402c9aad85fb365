// An MPIJob of the MPI Operator, kubeflow.org/v2beta1: a launcher, and workers to which it connects
// by ssh. The operator gives the launcher the list of hosts.
#include <algorithm>

#include "script.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr auto kFolder = "/scratch";  // that of the images of tandem's Dockerfile
constexpr auto kKeys = "/home/tandem/.ssh";

// A JSON value is a YAML value, too.
std::string yaml(const Json& value) { return value.dump(); }

// Kubernetes itself replaces $(NAME) in the words of a command, and reads $$ as $.
std::string command_words(std::vector<std::string> words) {
  for (std::string& word : words) {
    for (std::size_t at = 0; at + 1 < word.size(); ++at) {
      if (word[at] == '$' && (word[at + 1] == '$' || word[at + 1] == '(')) word.insert(at++, "$");
    }
  }
  return yaml(words);
}

std::string container(const Launch& launch, const std::string& name,
                      const std::vector<std::string>& command) {
  return "          containers:\n"
         "          - name: " +
         name +
         "\n"
         "            image: " +
         yaml(launch.image) +
         "\n"
         "            command: " +
         command_words(command) +
         "\n"
         "            workingDir: " +
         kFolder + "\n";
}

std::string volumes(const Launch& launch) {
  return std::string(
             "            volumeMounts:\n"
             "            - name: scratch\n"
             "              mountPath: ") +
         kFolder +
         "\n"
         "            - name: shm\n"
         "              mountPath: /dev/shm\n"
         "          volumes:\n"
         "          - name: scratch\n"
         "            persistentVolumeClaim:\n"
         "              claimName: " +
         yaml(launch.claim) +
         "\n"
         "          - name: shm\n"
         "            emptyDir:\n"
         "              medium: Memory\n";
}

std::string resources(const Launch& launch) {
  Json limits = Json::object();
  const std::uint64_t cores =
      launch.ranks_per_node * std::max<std::uint64_t>(launch.cpus_per_rank, 1);
  limits["cpu"] = std::to_string(cores);
  if (launch.mebibytes_per_node > 0) {
    limits["memory"] = std::to_string(launch.mebibytes_per_node) + "Mi";
  }
  if (launch.gpus_per_node > 0) limits["nvidia.com/gpu"] = std::to_string(launch.gpus_per_node);
  return "            resources:\n              limits: " + yaml(limits) + "\n";
}

// Open MPI 5 gets the operator's list of hosts here. The operator itself gives it to Open MPI 4 and
// Hydra.
Json environment(const Launch& launch) {
  const auto variable = [](const char* name, const char* value) {
    return Json{{"name", name}, {"value", value}};
  };
  Json variables = Json::array();
  variables.push_back(variable("TANDEM_RUN_ID", "tandem"));
  variables.push_back(variable("TANDEM_MAX_STUCK_STARTS", "3"));
  if (launch.launcher.name == std::string("openmpi5")) {
    variables.push_back(variable("PRTE_MCA_prte_default_hostfile", "/etc/mpi/hostfile"));
  }
  return variables;
}

std::string mpi_implementation(const Launch& launch) {
  const std::string name = launch.launcher.name;
  if (name == "mpich") return "MPICH";
  return name == "intelmpi" ? "Intel" : "OpenMPI";
}

}  // namespace

std::string kubernetes_job(const Launch& launch) {
  comm::LaunchLine line;
  line.ranks = launch.ranks();
  line.cpus_per_rank = 0;  // not bound: the pods of a node may see the same CPUs
  line.leaves_host = launch.nodes > 1;
  std::vector<std::string> words = launch.launcher.words(line);
  Launch inside = launch;
  inside.image = "";  // the container is entered already
  for (const std::string& word : job_words(inside, "")) words.push_back(word);

  const std::uint64_t restarts = launch.resume_mode() == "auto" ? launch.most_requeues : 0;
  std::string text =
      "# kubectl apply --filename FILE. The image needs sshd beside tandem; the run folder is\n"
      "# runs/tandem in the volume. To start another run, change both names.\n"
      "apiVersion: kubeflow.org/v2beta1\n"
      "kind: MPIJob\n"
      "metadata:\n"
      "  name: tandem\n"
      "spec:\n"
      "  slotsPerWorker: " +
      std::to_string(launch.ranks_per_node) + "\n  sshAuthMountPath: " + kKeys +
      "\n  mpiImplementation: " + mpi_implementation(launch) +
      "\n  runPolicy:\n    cleanPodPolicy: Running\n    backoffLimit: " + std::to_string(restarts) +
      "\n";
  // Covers all starts, because Kubernetes counts on when a new pod starts.
  text += directive("    activeDeadlineSeconds: ", launch.seconds_limit * (restarts + 1));
  text +=
      "  mpiReplicaSpecs:\n"
      "    Launcher:\n"
      "      replicas: 1\n"
      "      restartPolicy: OnFailure\n"
      "      template:\n"
      "        spec:\n"
      "          terminationGracePeriodSeconds: 60\n";
  text += container(launch, "launcher", {"bash", "-c", "exec " + join(words, " ")});
  text += "            env: " + yaml(environment(launch)) + "\n" + volumes(launch);
  text +=
      "    Worker:\n"
      "      replicas: " +
      std::to_string(launch.nodes) +
      "\n"
      "      template:\n"
      "        spec:\n"
      "          terminationGracePeriodSeconds: 60\n";
  text += container(launch, "worker", {"/usr/sbin/sshd", "-De", "-f", "/home/tandem/.sshd_config"});
  text += resources(launch) + volumes(launch);
  text.pop_back();  // the line end, which print_line() adds
  return text;
}

}  // namespace tandem::app
