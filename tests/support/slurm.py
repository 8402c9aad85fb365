"""A Slurm of the tests' own on this machine, and the jobs that are submitted to it.

Four nodes, n1 and n2 with 2 CPUs and 2 GPUs, n3 and n4 with 4 of each; the GPUs are terminals, only their numbers count.
As on sites that are strict, a step ends when one of its tasks fails (KillOnBadExit). Ports, folders and munge key are
its own, and nothing of the system's munge or Slurm is used. A node has its own host name, /dev/shm and process numbers,
so it ends with all of its processes when its slurmd does, and that when this process does.
"""

import os
import pathlib
import re
import socket
import subprocess
import time

from processes import namespace_of

NODES = {"n1": 2, "n2": 2, "n3": 4, "n4": 4}  # CPUs and GPUs of each
# Every daemon dies with the test, even where that is killed.
WITH_TEST = ["setpriv", "--pdeathsig", "KILL"]
NODE = ["unshare", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c",
        'hostname "$0" && mount -t tmpfs tmpfs /dev/shm && exec "$@"']

CONFIGURATION = """
ClusterName=tandem
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
# Open MPI names its folder in /tmp after host and job, and tests that run at a time have the same hosts.
FirstJobId={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
TmpFS={folder}/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
ReturnToService=2
KillWait=10
KillOnBadExit=1
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
{nodes}
PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1
PartitionName=high Nodes=ALL MaxTime=INFINITE PriorityTier=10
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(condition, seconds, complaint):
    """What condition() gives once that is true; complaint() says what is wrong after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not in {seconds} s: {complaint()}"
        time.sleep(0.05)
    return found


class Slurm:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = []
        # Options for sbatch and srun in the tests' own environment are not for these.
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("SLURM_", "SBATCH_", "SRUN_", "TANDEM_"))}
        self.environment |= {"SLURM_CONF": f"{folder}/slurm.conf",
                             "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo"}

    def start(self):
        self.write_configuration()
        try:
            self.start_daemon("munged", "munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                              f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid",
                              f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munge.seed")
            wait_until((self.folder / "munge.socket").exists, 10, self.logs)
            self.start_daemon("slurmctld", "slurmctld", "-D", "-c")
            for node in NODES:
                self.start_daemon(f"slurmd.{node}", *NODE, node, "slurmd", "-D", "-N", node)
            wait_until(lambda: self.command("sinfo", "--noheader", "--format=%D %t", check=False) == f"{len(NODES)} idle\n",
                       30, self.logs)
        except BaseException:
            self.stop()
            raise

    def write_configuration(self):
        self.folder.chmod(0o755)
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o600)
        port, *ports = free_ports(1 + len(NODES))
        host = socket.gethostname().split(".")[0]
        nodes = [f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={own} CPUs={count} Gres=gpu:{count}"
                 for (node, count), own in zip(NODES.items(), ports)]
        gpus = [f"NodeName={node} Name=gpu File=/dev/tty[0-{count - 1}]" for node, count in NODES.items()]
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(folder=self.folder, host=host, port=port, nodes="\n".join(nodes)))
        (self.folder / "gres.conf").write_text("\n".join(gpus) + "\n")
        for name in ["state", *(f"{kind}.{node}" for kind in ("tmp", "spool") for node in NODES)]:
            (self.folder / name).mkdir()

    def start_daemon(self, name, *command):
        with open(self.folder / f"{name}.words", "w") as words:
            self.daemons.append(subprocess.Popen([*WITH_TEST, *command], cwd=self.folder, stdin=subprocess.DEVNULL,
                                                 stdout=words, stderr=words, env=self.environment, start_new_session=True))

    def stop(self):
        """Ends the daemons and, with the nodes, every process of every job; no file is written afterwards."""
        nodes = {namespace_of(daemon.pid, "pid_for_children") for daemon in self.daemons} - {namespace_of("self", "pid"), None}
        for daemon in reversed(self.daemons):
            daemon.kill()
            daemon.wait()
        self.daemons.clear()
        wait_until(lambda: not any(namespace_of(path.name, "pid") in nodes for path in pathlib.Path("/proc").glob("[0-9]*")),
                   10, lambda: "a process has outlived its node")

    def logs(self):
        """The last words of every daemon."""
        return "".join(f"--- {path.stem}\n{path.read_text()[-1000:]}\n" for path in sorted(self.folder.glob("*.words")))

    def command(self, *words, check=True, cwd=None, environment={}):
        """Standard output of a command of Slurm."""
        done = subprocess.run([str(word) for word in words], text=True, capture_output=True, cwd=cwd,
                              env={**self.environment, **environment}, timeout=60)
        assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stderr}\n{self.logs()}"
        return done.stdout

    def submit(self, *words, cwd, environment={}):
        return self.job(self.command("sbatch", "--parsable", *words, cwd=cwd, environment=environment).strip(), cwd)

    def job(self, number, folder):
        return SlurmJob(self, number, folder)


class SlurmJob:
    def __init__(self, slurm, number, folder):
        self.slurm = slurm
        self.number = number
        self.folder = folder

    def __getitem__(self, field):
        """What `scontrol show job` says, such as JobState."""
        shown = self.slurm.command("scontrol", "--oneliner", "show", "job", self.number)
        return re.search(rf"(?<!\S){field}=(\S*)", shown)[1]

    def words(self):
        """What the job has written so far."""
        return "".join(path.read_text() for path in sorted(self.folder.glob(f"slurm-{self.number}*.out")))

    def everything(self):
        return f"{self.slurm.command('scontrol', 'show', 'job', self.number)}\n{self.words()}\n{self.slurm.logs()}"

    def wait_for(self, condition, seconds=180):
        return wait_until(condition, seconds, self.everything)

    def wait_for_state(self, *states, seconds=180):
        self.wait_for(lambda: self["JobState"] in states, seconds)

    def signal(self, name, *options):
        self.slurm.command("scancel", f"--signal={name}", *options, self.number)

    def begin_now(self):
        """A job that was requeued waits two minutes before it may start; this one two seconds, because slurmd counts in
        seconds, and refuses a start in the one in which the job was stopped."""
        self.wait_for_state("PENDING")
        self.slurm.command("scontrol", "update", f"JobId={self.number}", "StartTime=now+2")

    def end(self):
        """Cancels what is left of it, and waits until none of its processes writes into its folder."""
        self.slurm.command("scancel", "--quiet", self.number, check=False)
        self.wait_for(lambda: self.slurm.command("squeue", "--noheader", f"--jobs={self.number}", check=False) == "")

    def wait(self, seconds=180):
        """Its exit code, once it is over."""
        self.wait_for(lambda: self["JobState"] not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"), seconds)
        code, signal = map(int, self["ExitCode"].split(":"))
        return 128 + signal if signal else code
