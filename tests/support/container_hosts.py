"""Two hosts n1 and n2 with docker and ssh, made of namespaces: each has a name, a network with a link to the other, and file
systems of its own. docker and ssh are stand-ins (fake_docker.sh, fake_ssh.sh), which enter the namespaces and do no more."""

import json
import pathlib
import shutil
import subprocess

from dockerfile import ROOT, Dockerfile
from processes import kill_all, namespace_of

SUPPORT = pathlib.Path(__file__).parent
ADDRESSES = {"n1": "10.10.0.1", "n2": "10.10.0.2"}
# As on every machine with docker: a bridge that no other host can reach and that has the same address on all of them.
IS_HOST = """hostname "$0"; mount --bind "$1" /etc/hosts; ip link set lo up
ip link add docker0 type bridge; ip address add 172.17.0.1/16 dev docker0; ip link set docker0 up
echo ready; exec sleep infinity"""
# What the image's user and these two hosts of one machine would not need.
OF_THE_STAND_IN = {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1, "OMP_NUM_THREADS": 1}


class ContainerHosts:
    def __init__(self, folder, program):
        self.folder = folder
        for name in ("host/bin", "image/bin", "state", "home/.ssh", *ADDRESSES):
            (folder / name).mkdir(parents=True)
        for place in ("host/bin", "image/bin"):
            shutil.copy(SUPPORT / "fake_ssh.sh", folder / place / "ssh")
        shutil.copy(SUPPORT / "fake_docker.sh", folder / "host/bin/docker")
        shutil.copy(program, folder / "image/bin/tandem")
        shutil.copytree(pathlib.Path(program).parents[1] / "lib/tandem", folder / "image/lib/tandem")
        shutil.copytree(ROOT / "jobs/recipes", folder / "image/share/tandem/recipes")
        shutil.copy(ROOT / "jobs/ssh-into-container.sh", folder / "image/bin/ssh-into-container")
        environment = {**Dockerfile().environment("cpu"), **OF_THE_STAND_IN}
        (folder / "state/environment").write_text("".join(f"{name}={value}\n" for name, value in environment.items()))
        names = folder / "state/names"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {host}\n" for host, address in ADDRESSES.items()))
        self.processes, self.networks = {}, set()
        try:
            for host in ADDRESSES:
                self.start(host, names)
            self.link()
        except BaseException:
            self.end()
            raise

    def start(self, host, names):
        process = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "bash", "-euc", IS_HOST, host, names],
                                   stdout=subprocess.PIPE, text=True)
        self.processes[host] = process
        assert process.stdout.readline() == "ready\n", f"{host} did not start"
        self.networks.add(namespace_of(process.pid, "net"))
        (self.folder / "state" / host).write_text(f"{process.pid}\n")

    def link(self):
        one, other = (process.pid for process in self.processes.values())
        subprocess.run(["ip", "link", "add", "eth0", "netns", str(one), "type", "veth", "peer", "name", "eth0",
                        "netns", str(other)], check=True)
        for host, address in ADDRESSES.items():
            self.in_network(host, "ip", "address", "add", f"{address}/24", "dev", "eth0")
            self.in_network(host, "ip", "link", "set", "eth0", "up")

    def in_network(self, host, *command):
        return subprocess.run(["nsenter", "--target", str(self.processes[host].pid), "--net", *command], check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def bytes_sent(self, host):
        [link] = json.loads(self.in_network(host, "ip", "-statistics", "-json", "link", "show", "dev", "eth0"))
        return link["stats64"]["tx"]["bytes"]

    def command(self, host, line):
        """What runs a line of shell on a host, as its user would type it, in the folder of that host's name."""
        return ["env", "USER=me", self.folder / "host/bin/ssh", host, f"cd {self.folder / host} && {line}"]

    def inside(self):
        """The processes on these hosts, but for those that keep them."""
        found = {int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*") if namespace_of(path.name, "net") in self.networks}
        return sorted(found - {process.pid for process in self.processes.values()})

    def end(self):
        kill_all(self.inside())
        for process in self.processes.values():
            process.kill()
            process.communicate()
