#!/usr/bin/env python3
"""The Dockerfile is built by Buildah and run by Podman, from a base image made here: no registry, no daemon.

    container_test.py FOLDER [--package FILE.deb] [TEST…]

FOLDER keeps the images. With --package the image takes that Debian package, in place of compiling for some minutes. The commands
are those of docs/containers.md, word for word. As root, with a network for apt."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from engine import ROOT, Engine, Hosts

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
PACKAGE = None
if "--package" in sys.argv:
    at = sys.argv.index("--package")
    PACKAGE = pathlib.Path(sys.argv[at + 1]).resolve()
    del sys.argv[at:at + 2]
PAGE = (ROOT / "docs/containers.md").read_text()
SECONDS = 300


def documented(heading, pattern):
    """The one command of a section of the page that begins so."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```console\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in re.sub(r" *\\\n *", " ", block).strip().splitlines()]
    [command] = [line for line in commands if line.startswith(pattern)]
    return command


def setUpModule():
    global engine
    engine = Engine(FOLDER)
    start = time.monotonic()
    engine.make_base()
    based = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        context = pathlib.Path(name) / "tandem"
        subprocess.run(["git", "clone", "--quiet", ROOT, context], check=True)
        changed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--modified", "--others", "--exclude-standard"], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        for path in filter(None, changed.split("\0")):
            (context / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, context / path)
        arguments = {"USER_ID": 1000}
        if PACKAGE:
            shutil.copy(PACKAGE, context)
            arguments["PACKAGE"] = PACKAGE.name
        engine.build(context, "tandem:cpu", **arguments)
    print(f"base image {based - start:.0f} s, build {time.monotonic() - based:.0f} s", file=sys.stderr)


class Containers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-containers-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.hosts = Hosts(engine, self.folder)
        self.addCleanup(self.hosts.end)

    def result(self, name):
        return json.loads((self.folder / f"n1/runs/{name}/summary.json").read_text())


class OneHost(Containers):
    RUN = 'docker run --rm --shm-size=1g --volume "$PWD:/scratch" tandem:cpu'

    def test_commands_of_the_page(self):
        self.assertIn(": synthetic, 20,000 train", self.hosts.on("n1", documented("One host", self.RUN + " tandem pack")))
        words = self.hosts.on("n1", documented("One host", self.RUN + " mpirun")
                              + " --model lenet --epochs 1 --run-id one")
        self.assertIn("every image exactly once", words)
        self.assertEqual(self.result("one")["world_size"], 2)
        self.assertEqual((self.folder / "n1/runs/one").stat().st_uid, 1000)


class TwoHostsWithoutSsh(Containers):
    HEADING = "Two hosts without ssh"

    def setUp(self):
        super().setUp()
        for host in ("n1", "n2"):
            self.hosts.on(host, documented(self.HEADING, "docker run"))
            self.hosts.on(host, "docker exec ranks tandem pack --input synthetic --images 600 --output cifar10.h5")

    def train(self, name):
        """The training of the page, started on n1, and its line by hand on n2."""
        line = documented(self.HEADING, "docker exec ranks mpirun").replace("--run-id first", f"--run-id {name}")
        line += " --epochs 30"  # long enough to be stopped
        process = self.hosts.start("n1", line)
        self.addCleanup(process.kill)
        for words in process.stdout:
            if words.startswith("start-by-hand: run this on n2:"):
                break
        command = process.stdout.readline().strip()
        self.assertRegex(command, "orted --daemonize ")
        self.hosts.on("n2", f"docker exec ranks bash -c '{command}'")
        return process

    def end_of(self, process):
        with process:
            return process.communicate(timeout=SECONDS)[0]

    def test_train_as_one_on_pinned_ports_and_lose_nothing_when_one_is_stopped(self):
        process = self.train("whole")
        words = self.end_of(process)
        self.assertEqual(process.returncode, 0, words)
        ranks = json.loads((self.folder / "n1/runs/whole/manifest.json").read_text())["ranks"]
        self.assertEqual([(rank["host"], rank["local_rank"]) for rank in ranks], [("n1", 0), ("n1", 1), ("n2", 0)])
        self.assertFalse((self.folder / "n2/runs").exists(), "rank 0 alone writes")

        process = self.train("stopped")
        metrics = self.folder / "n1/runs/stopped/metrics.jsonl"
        deadline = time.monotonic() + SECONDS
        while not (metrics.exists() and '"step":10,' in metrics.read_text()):
            self.assertIsNone(process.poll(), "ended before it trained")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        for host in ("n1", "n2"):
            ports, lines = self.hosts.listening(host)
            self.assertTrue(ports)
            self.assertEqual(ports - set(range(20000, 20108)), set(), lines)
        self.hosts.on("n2", documented(self.HEADING, "docker stop"))
        words = self.end_of(process)
        self.assertNotEqual(process.returncode, 0, words)
        self.hosts.on("n2", documented(self.HEADING, "docker run"))
        process = self.train("stopped")
        words = self.end_of(process)
        self.assertEqual(process.returncode, 0, words)
        self.assertRegex(words, r"resumed from .*step [1-9]")
        self.assertEqual(self.result("stopped")["weights_sha256"], self.result("whole")["weights_sha256"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
