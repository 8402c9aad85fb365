#!/usr/bin/env python3
"""The commands of docs/containers.md, word for word, on two hosts made of namespaces; docker and ssh are stand-ins.

The `mpirun` that one of them signals is the only one there is: these containers have no process numbers of their own, but
this test has."""

import json
import re
import shutil
import subprocess
import time

from container_hosts import ContainerHosts
from dockerfile import ROOT
from network import run_tests
from tandem import DATA, PROGRAM, TandemTest

SECONDS = 90  # for each command, where other tests run beside it


def documented(pattern):
    """The one command of the page's section on two hosts that begins so."""
    section = (ROOT / "docs/containers.md").read_text().split("\n## Two hosts\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```console\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    [command] = [block for block in blocks if block.startswith(pattern)]
    return command.replace("\\\n", " ").strip()


class Containers(TandemTest):
    def setUp(self):
        super().setUp()
        self.hosts = ContainerHosts(self.folder, PROGRAM)
        self.addCleanup(self.hosts.end)
        for host in ("n1", "n2"):
            shutil.copy(DATA, self.folder / host / "cifar10.h5")
            self.on(host, documented("docker run"))

    def on(self, host, line, code=0):
        done = subprocess.run(self.hosts.command(host, line), text=True, capture_output=True, timeout=SECONDS)
        self.assertEqual(done.returncode, code, f"{line}\n{done.stdout}\n{done.stderr}")
        return done

    def summary(self):
        return json.loads((self.folder / "n1/runs/first/summary.json").read_text())

    def test_two_hosts_train_as_one(self):
        self.assertEqual(self.on("n2", "docker exec ranks df --output=size -BM /dev/shm").stdout.split()[-1], "1024M")
        sent = {host: self.hosts.bytes_sent(host) for host in ("n1", "n2")}
        done = self.on("n1", documented("docker exec ranks mpirun"))
        self.assertNotIn("own copy", done.stderr)
        ranks = json.loads((self.folder / "n1/runs/first/manifest.json").read_text())["ranks"]
        self.assertEqual([(rank["host"], rank["local_rank"]) for rank in ranks], [("n1", 0), ("n1", 1), ("n2", 0)])
        self.assertFalse((self.folder / "n2/runs").exists(), "rank 0 alone writes")
        steps, gradients = self.summary()["steps"], 4 * 62_006
        for host in ("n1", "n2"):
            self.assertGreater(self.hosts.bytes_sent(host) - sent[host], steps * gradients, "gradients go over the link")

    def test_a_run_that_is_stopped_goes_on(self):
        train = documented("docker exec ranks mpirun")
        self.on("n1", train)
        whole = self.summary()
        shutil.rmtree(self.folder / "n1/runs")

        run = subprocess.Popen(self.hosts.command("n1", train), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.wait_for_step(run, "n1/runs/first", 10)
        self.on("n1", documented("docker exec ranks bash"))
        words, _ = run.communicate(timeout=SECONDS)
        self.assertEqual((run.returncode, self.summary()["exit_reason"]), (75, "stopped"), words)
        self.assertRegex(self.on("n1", train).stdout, "resumed from .*step 1")
        self.assertEqual(self.summary()["weights_sha256"], whole["weights_sha256"])

    def test_nothing_stays(self):
        self.on("n1", documented("docker exec ranks mpirun"))
        for host in ("n1", "n2"):
            self.on(host, documented("docker stop"))
        deadline = time.monotonic() + SECONDS
        while inside := self.hosts.inside():
            self.assertLess(time.monotonic(), deadline, f"processes {inside} outlived their containers")
            time.sleep(0.02)


if __name__ == "__main__":
    run_tests()
