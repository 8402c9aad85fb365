#!/usr/bin/env python3
"""`tandem doctor` on four hosts, of which one has a slow link."""

import json

from network import NetworkTest, run_tests

HOSTS = {"n1": 1, "n2": 1, "n3": 1, "n4": 1}


class Doctor(NetworkTest):
    def examine(self):
        done = json.loads(self.on_hosts(HOSTS, "doctor", "--data", "/tmp/data.h5", "--json").stdout)
        return {finding["code"]: finding for finding in done["findings"]}, done["pairs"]

    def test_a_slow_link(self):
        self.make_network(4, "1gbit")
        found, pairs = self.examine()
        self.assertNotIn("W120", found)
        self.assertEqual(len(pairs), 6)
        for end, interface in ((self.network.switch, "to-n4"), (self.hosts["n4"], "eth0")):
            end.run("tc", "qdisc", "change", "dev", interface, "root", "tbf", "rate", "100mbit", "burst", "128kb", "latency", "50ms")
        found, _ = self.examine()
        self.assertRegex(found["W120"]["what"], r"\(n4\) exchange [0-9.]+ MB/s, .*2 more pairs, all of them with n4$")
        self.assertEqual(found["W120"]["ranks"], [0, 1, 2, 3])
        shown = self.on_hosts(HOSTS, "doctor").stdout
        self.assertRegex(shown, r"0 errors, \d+ warnings?: 4 ranks on 4 hosts; hosts exchange at least [0-9.]+ MB/s by TCP on eth0\n\Z")


if __name__ == "__main__":
    run_tests()
