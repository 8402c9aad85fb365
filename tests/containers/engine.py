"""Podman and Buildah with a storage of their own, an image `debian:bookworm` made without a registry, and two hosts, which are
network namespaces with a link. Works as root, without systemd, without a daemon, and where limits cannot be raised."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/package"))
from chroot import mirrors  # noqa: E402

BASE = "docker.io/library/debian:bookworm"
ADDRESSES = {"n1": "10.10.0.1", "n2": "10.10.0.2"}
STORAGE = """[storage]
driver = "overlay"
graphroot = "{0}/images"
runroot = "{0}/state"
"""
CONTAINERS = """[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
netns = "host"
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
"""
# On a host `docker` is this. Its containers have the host's network and name, as by --network host. The names of containers
# are those of one storage, so each host adds its own.
DOCKER = """#!/bin/bash
words=()
for word; do
  case $word in
    ranks) words+=(ranks-{host}) ;;
    run) words+=(run --pull=never --hostname={host} --add-host={names} --network=ns:/run/netns/{space}) ;;
    --network) skip=1 ;;
    *) [ "${{skip:-}}" = 1 ] && skip= || words+=("$word") ;;
  esac
done
exec podman "${{words[@]}}"
"""


class Engine:
    def __init__(self, folder):
        """`folder` keeps images for the next time; on a file system that overlayfs takes."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "storage.conf").write_text(STORAGE.format(folder))
        (folder / "containers.conf").write_text(CONTAINERS)
        self.environment = {**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf"),
                            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}

    def run(self, *command, check=True, **options):
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env={**self.environment, **options.pop("environment", {})}, **options)
        assert not check or done.returncode == 0, f"exit code {done.returncode} of: {command}\n{done.stdout[-4000:]}"
        return done

    def make_base(self):
        """debian:bookworm and bookworm-slim, as a registry would give them."""
        if self.run("podman", "image", "exists", BASE + "-slim", check=False).returncode == 0:
            return
        archive = self.folder / "bookworm.tar"
        self.run("mmdebstrap", "--quiet", "--variant=minbase", "bookworm", archive, *mirrors("bookworm"))
        self.run("podman", "import", archive, BASE)
        self.run("podman", "tag", BASE, BASE + "-slim")
        archive.unlink()

    def build(self, context, tag, **arguments):
        options = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        return self.run("buildah", "bud", "--isolation=chroot", "--network=host", "--pull-never", "--layers", f"--tag={tag}", *options,
                        context).stdout


class Hosts:
    """n1 and n2. On each, `docker` starts containers in the network of that host."""

    def __init__(self, engine, folder):
        self.engine, self.folder = engine, folder
        self.spaces = {host: f"tandem-{os.getpid()}-{host}" for host in ADDRESSES}
        names = " --add-host=".join(f"{host}:{address}" for host, address in ADDRESSES.items())
        for host, space in self.spaces.items():
            engine.run("ip", "netns", "add", space)
            programs = folder / host / "bin"
            programs.mkdir(parents=True)
            (programs / "docker").write_text(DOCKER.format(host=host, names=names, space=space))
            (programs / "docker").chmod(0o755)
            os.chown(folder / host, 1000, 1000)  # the image's user writes there
        one, other = self.spaces.values()
        engine.run("ip", "link", "add", "eth0", "netns", one, "type", "veth", "peer", "name", "eth0", "netns", other)
        for host, space in self.spaces.items():
            for words in (["link", "set", "lo", "up"], ["address", "add", f"{ADDRESSES[host]}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
                engine.run("ip", "-netns", space, *words)

    def start(self, host, line):
        """A line of shell as a user types it on a host, in the folder of that name."""
        environment = {**self.engine.environment, "PATH": f"{self.folder / host}/bin:{os.environ['PATH']}"}
        return subprocess.Popen(["bash", "-euo", "pipefail", "-c", line], cwd=self.folder / host, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def on(self, host, line, code=0, timeout=300):
        process = self.start(host, line)
        words, _ = process.communicate(timeout=timeout)
        assert process.returncode == code, f"exit code {process.returncode}, {code} was expected, of: {line}\n{words}"
        return words

    def listening(self, host):
        """The TCP ports that another host could reach, and the lines of `ss` about them."""
        lines = self.engine.run("ip", "netns", "exec", self.spaces[host], "ss", "--no-header", "--tcp", "--listening", "--numeric",
                                "--processes").stdout
        ends = [line.split()[3].rpartition(":") for line in lines.splitlines()]
        return {int(port) for address, _, port in ends if address not in ("127.0.0.1", "[::1]")}, lines

    def end(self):
        for host in self.spaces:
            self.engine.run("podman", "rm", "--force", "--time", "0", f"ranks-{host}", check=False)
        for space in self.spaces.values():
            self.engine.run("ip", "netns", "delete", space, check=False)
