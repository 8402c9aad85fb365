"""Two to four hosts on one machine, joined by links of a given rate: network, host name, /tmp and /dev/shm are each one's own.

A test of these begins with `run_tests()`, which runs it in namespaces of its own. Interfaces, mounts and processes that it
makes are gone with its first process, however that ends, and meet those of no other test."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

from processes import kill_all, namespace_of
from tandem import DATA, MPIRUN, PROGRAM, TandemTest

# A host does not get the caller's environment, but the variables that decide how a BLAS adds must be the same on all hosts.
for name in [name for name in os.environ if name.startswith(("OPENBLAS_", "MKL_", "ONEDNN_", "ATEN_"))]:
    del os.environ[name]

SUPPORT = pathlib.Path(__file__).parent
UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
INSIDE = "TANDEM_TEST_IN_NAMESPACES"
# What all hosts see although it may be in /tmp: the program with its libraries, the tests, the data.
SHARED = [SUPPORT.parents[1], pathlib.Path(PROGRAM).resolve().parents[1], pathlib.Path(DATA).resolve().parent]


def enter_namespaces():
    """Starts this program again in namespaces of its own, unless it is there."""
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        command = [*UNSHARE, "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B", *sys.argv]
        os.execvp(command[0], command)


def run_tests():
    enter_namespaces()
    unittest.main(verbosity=2)


class Host:
    """Lives as long as its first process, which only sleeps."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.first = subprocess.Popen(["unshare", "--net", "--uts", "--mount", SUPPORT / "host.sh", name, folder, *SHARED],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self.first.stdout.readline() == "ready\n", f"host {name} cannot be made"
        self.namespace = namespace_of(self.first.pid, "net")

    def enter(self, *command):
        """The words that run a command on this host, in the shared folder."""
        return ["nsenter", f"--target={self.first.pid}", "--net", "--uts", "--mount", f"--wdns={self.folder}", *map(str, command)]

    def run(self, *command):
        return subprocess.run(self.enter(*command), check=True, stdout=subprocess.PIPE, text=True).stdout

    def bytes_sent(self):
        return json.loads(self.run("ip", "-json", "-stats", "link", "show", "eth0"))[0]["stats64"]["tx"]["bytes"]

    def wait_for_answer(self, address):
        """Until a connection is refused by a host and not given up on the way, as it may be just after a link was down."""
        attempt = self.enter("env", "LC_ALL=C", "timeout", "1", "bash", "-c", f": < /dev/tcp/{address}/9")
        while "Connection refused" not in subprocess.run(attempt, stderr=subprocess.PIPE, text=True).stderr:
            pass

    def processes(self):
        """Those that run here, but for the first."""
        return [process for process in running_processes()
                if process != self.first.pid and namespace_of(process, "net") == self.namespace]


class Network:
    """`with Network(2, "100mbit", folder) as network`: hosts n1, n2, … with 10.0.0.1, 10.0.0.2, … at one switch.

    `rate` is that of each host's link, in either direction, or "unlimited": the processors are the limit. All hosts share the
    folder, as if it were on a network drive."""

    def __init__(self, count, rate, folder):
        self.count, self.rate, self.folder = count, rate, folder
        self.hosts, self.switch = {}, None
        self.placement = ()  # words of mpirun

    def __enter__(self):
        try:
            self.switch = Host("switch", self.folder)
            self.switch.run("ip", "link", "add", "switch", "type", "bridge")
            self.switch.run("ip", "link", "set", "switch", "up")
            for number in range(1, self.count + 1):
                host = self.hosts[f"n{number}"] = Host(f"n{number}", self.folder)
                self.connect(host, number)
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.kill_processes()
        for host in filter(None, [*self.hosts.values(), self.switch]):
            host.first.kill()
            host.first.communicate()

    def connect(self, host, number):
        port = f"to-{host.name}"
        self.switch.run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host.first.pid)
        self.switch.run("ip", "link", "set", port, "master", "switch", "up")
        host.run("ip", "address", "add", f"10.0.0.{number}/24", "dev", "eth0")
        host.run("ip", "link", "set", "eth0", "up")
        if self.rate == "unlimited":
            return
        # Packets of up to 64 KiB pass at once; what waits longer than 50 ms is dropped, as a switch does.
        for end, interface in ((self.switch, port), (host, "eth0")):
            end.run("tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", self.rate, "burst", "128kb", "latency", "50ms")

    def link(self, name, state):
        """Plugs or unplugs the cable of a host: "up" or "down"."""
        self.switch.run("ip", "link", "set", f"to-{name}", state)
        if state == "up":
            for number in range(1, self.count + 1):
                self.hosts[name].wait_for_answer(f"10.0.0.{number}")

    def mpirun(self, ranks, *command, keepalive=4):
        """The words that start a command from n1; `ranks` are those of each host, as {"n1": 2, "n2": 1}. After `keepalive`
        seconds without an answer mpirun gives a host up; the system's own time-out is a quarter of an hour."""
        hosts = ",".join(f"{name}:{count}" for name, count in ranks.items())
        return self.hosts["n1"].enter(
            "env", "TANDEM_TEST_HOSTS=" + " ".join(f"{name}={host.first.pid}" for name, host in self.hosts.items()),
            *MPIRUN, "--host", hosts, "-n", sum(ranks.values()), "--mca", "plm_rsh_agent", SUPPORT / "enter_host.sh",
            "--mca", "oob_tcp_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0",
            "--mca", "oob_tcp_keepalive_time", keepalive - 3, "--mca", "oob_tcp_keepalive_intvl", "1",
            "--mca", "oob_tcp_keepalive_probes", "3", *self.placement, *command)

    def processes(self):
        return [process for host in self.hosts.values() for process in host.processes()]

    def kill_processes(self):
        kill_all(self.processes())

    def wait_until_idle(self, seconds):
        """Until no process is left on any host."""
        end = time.monotonic() + seconds
        while left := self.processes():
            assert time.monotonic() < end, f"still there: {[' '.join(words_of(process)) for process in left]}"
            time.sleep(0.02)


class NetworkTest(TandemTest):
    """Every test has its folder on all hosts and, on each, /tmp/data.h5."""

    def make_network(self, count, rate):
        self.network = self.enterContext(Network(count, rate, self.folder))
        self.hosts = self.network.hosts
        for host in self.hosts.values():
            host.run("cp", DATA, "/tmp/data.h5")

    def on_hosts(self, ranks, *arguments, code=0):
        done = self.run_command(self.network.mpirun(ranks, PROGRAM, *arguments), code, {})
        self.network.wait_until_idle(5)
        return done

    def start_on_hosts(self, ranks, *arguments, **options):
        job = subprocess.Popen([str(word) for word in self.network.mpirun(ranks, PROGRAM, *arguments, **options)],
                               cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(job.communicate)
        self.addCleanup(self.network.kill_processes)  # mpirun, and whatever holds the other end of its pipes
        return job

    def summary(self, run_id):
        return json.loads((self.folder / "runs" / run_id / "summary.json").read_text())


def running_processes():
    """All in this test's namespace of processes that have not ended."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state = stat.read_text().rpartition(")")[2].split()[0]
        except OSError:  # it has ended since
            continue
        if state != "Z":
            found.append(int(stat.parent.name))
    return found


def words_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return []
