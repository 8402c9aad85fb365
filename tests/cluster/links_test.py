#!/usr/bin/env python3
"""Two hosts and the link between them: slow, broken for a moment, broken for good."""

import re
import time

from network import NetworkTest, run_tests
from processes import by_rank
from tandem import whole

# Gradients of 1,841,162 parameters.
GRADIENT_BYTES = 4 * 1841162
# The same weights on one host and on two, whatever happens to the link.
TRAIN = ["train", "--data", "/tmp/data.h5", "--model", "mlp", "--global-batch-size", 64, "--virtual-ranks", 4, "--lr", 0.01,
         "--log-every", 1, "--quiet", "--resume", "auto"]
RANKS = {"n1": 2, "n2": 2}
STEPS = 30

OUT_OF_REACH = (r"^rank [23] \(n2, process \d+\) has not advanced for \d+ s: step \d+, [a-z]+; "
                "its process does not run, or its host is out of reach")


class Links(NetworkTest):
    known_weights = {}

    def weights(self, run_id):
        return self.summary(run_id)["weights_sha256"]

    def weights_on_one_host(self, steps):
        if steps not in self.known_weights:
            self.on_hosts({"n1": 2}, *TRAIN, "--max-steps", steps, "--run-id", "alone")
            self.known_weights[steps] = self.weights("alone")
        return self.known_weights[steps]

    def train_at(self, rate, bytes_per_second, steps):
        """Sums cross the link, no faster than it is, and have the same bits as on one host."""
        self.make_network(2, rate)
        before = self.hosts["n2"].bytes_sent()
        self.on_hosts(RANKS, *TRAIN, "--max-steps", steps, "--run-id", "hosts")
        self.assertGreater(self.hosts["n2"].bytes_sent() - before, steps * GRADIENT_BYTES)
        self.assertGreater(self.summary("hosts")["train_seconds"], 0.9 * steps * GRADIENT_BYTES / bytes_per_second)
        self.assertEqual(self.weights("hosts"), self.weights_on_one_host(steps))

    @whole
    def test_1_gbit(self):
        self.train_at("1gbit", 125e6, STEPS)

    @whole
    def test_100_mbit(self):
        self.train_at("100mbit", 12.5e6, 8)

    def retransmissions(self):
        """Segments that n2 has sent again."""
        names, values = re.findall("^Tcp: (.*)$", self.hosts["n2"].run("cat", "/proc/net/snmp"), re.MULTILINE)
        return int(dict(zip(names.split(), values.split()))["RetransSegs"])

    @whole
    def test_a_link_that_is_down_for_a_moment_costs_time_only(self):
        self.make_network(2, "1gbit")
        job = self.start_on_hosts(RANKS, *TRAIN, "--max-steps", STEPS, "--run-id", "hosts", keepalive=20)
        self.wait_for_step(job, "runs/hosts", 5)
        before = self.retransmissions()
        self.network.link("n2", "down")
        while self.retransmissions() < before + 2:
            self.assertIsNone(job.poll(), "ended while the link was down")
            time.sleep(0.01)
        self.network.link("n2", "up")
        _, errors = job.communicate()
        # On a busy machine mpirun's child calls exec before mpirun gives it a process group.
        errors = re.sub(r"\[n\d+:\d+\] plm:rsh: Warning: setpgid\(.*\n", "", errors)
        self.assertEqual((job.returncode, errors), (0, ""))
        self.assertEqual(self.weights("hosts"), self.weights_on_one_host(STEPS))

    @whole
    def test_a_broken_link_ends_the_run_and_it_goes_on_later(self):
        """The watchdog warns of the rank that is out of reach, then mpirun gives up its host."""
        self.make_network(2, "1gbit")
        words = [*TRAIN, "--max-steps", STEPS, "--checkpoint-every", 5, "--run-id", "hosts", "--stall-warn", 2]
        job = self.start_on_hosts(RANKS, *words, keepalive=7)
        self.wait_for_step(job, "runs/hosts", 8)
        start = time.monotonic()
        self.network.link("n2", "down")
        _, errors = job.communicate()
        self.network.wait_until_idle(5)
        self.assertLess(time.monotonic() - start, 7 + 5)
        self.assertEqual(job.returncode, 205, errors)
        self.assertRegex(errors, r"ORTE has lost communication with a remote daemon\.[^.]* on node n2\n")
        warnings = re.findall("^tandem: (?:warning|error): (.*)$", errors, re.MULTILINE)
        warnings = [line for line in warnings if not line.endswith("s: start-up")]  # of a busy machine
        self.assertEqual(len(warnings), 1, errors)
        self.assertRegex(warnings[0], OUT_OF_REACH)
        self.network.link("n2", "up")
        self.on_hosts(RANKS, *words)
        self.assertEqual(self.weights("hosts"), self.weights_on_one_host(STEPS))

    def test_a_broken_link_is_named_within_the_stall_time_out(self):
        """Where mpirun would wait longer, as it does if nothing is said to it. All ranks end; mpirun and its daemon wait on."""
        self.make_network(2, "1gbit")
        words = [*TRAIN, "--epochs", 100000, "--run-id", "hosts", "--stall-warn", 3, "--stall-abort", 15]
        job = self.start_on_hosts(RANKS, *words, keepalive=40)
        self.wait_for_step(job, "runs/hosts", 8)
        start = time.monotonic()
        self.network.link("n2", "down")
        while not (error := re.fullmatch("tandem: error: (.*)\n", job.stderr.readline())):
            self.assertIsNone(job.poll())
        self.assertRegex(error[1], OUT_OF_REACH)
        while by_rank(self.network.processes()):
            self.assertLess(time.monotonic() - start, 15 + 10)
            time.sleep(0.02)


if __name__ == "__main__":
    run_tests()
