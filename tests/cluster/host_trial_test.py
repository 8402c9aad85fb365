#!/usr/bin/env python3
"""`tandem doctor --hosts` names each fault that would make MPI hang: a name, ssh, the program, the network, a port."""

import json
import subprocess
import time

from network import SUPPORT, NetworkTest, run_tests
from tandem import PROGRAM

NAMES = {"n1": "10.0.0.1", "n2": "10.0.0.2"}
MOST_SECONDS = 20


class HostTrial(NetworkTest):
    def setUp(self):
        super().setUp()
        self.make_network(2, "1gbit")
        for name in NAMES:
            self.give_names(name, NAMES)

    def give_names(self, host, names):
        path = self.folder / f"hosts-{host}"
        path.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in names.items()))
        self.hosts[host].run("mount", "--bind", path, "/etc/hosts")

    def doctor(self, *options, code=78, shell=SUPPORT / "enter_host.sh", hosts="n1,n2", variables=()):
        places = " ".join(f"{name}={host.first.pid}" for name, host in self.hosts.items())
        start = time.monotonic()
        done = self.run_command(self.hosts["n1"].enter("env", f"TANDEM_TEST_HOSTS={places}", f"OMPI_MCA_plm_rsh_agent={shell}",
                                                       *variables, PROGRAM, "doctor", "--hosts", hosts, *options), code, {})
        if code:
            self.assertLess(time.monotonic() - start, MOST_SECONDS)
        return done.stdout

    def script(self, text):
        path = self.folder / "shell.sh"
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        return path

    def test_nothing_is_wrong_and_mpirun_connects_the_ranks(self):
        for options in ((), ("--ports", "20000-20199", "--network", "10.0.0.0/24")):
            words = self.doctor(*options, code=0, hosts="n1:2,n2:1")
            self.assertRegex(words, r"\An1, n2: names, \S+, program(, ports 20000-20199)? and network work\n")
            self.assertRegex(words, r"3 ranks on 2 hosts; .*hosts exchange at least [0-9.]+ MB/s by TCP on eth0\n\Z")

    def test_hosts_of_the_environment(self):
        done = self.run_command(self.hosts["n1"].enter("env", "TANDEM_HOSTS=n1:2", "TANDEM_PORTS=20000-20199", PROGRAM, "doctor"), 0, {})
        self.assertRegex(done.stdout, r"\An1: names, ssh, program, ports 20000-20199 and network work\n")
        self.assertRegex(done.stdout, r"2 ranks on 1 host; .*\n\Z")

    def test_variables_hold_for_ranks_on_other_hosts(self):
        words = self.doctor(hosts="n2:1", variables=["TANDEM_DATA=absent.h5"])
        self.assertRegex(words, r"\nE170 --data cannot be used by rank 0 \(n2\): absent\.h5: cannot be read")

    def test_one_object_with_the_findings_of_both_parts(self):
        self.give_names("n1", {**NAMES, "n1": "127.0.1.1"})
        found = json.loads(self.doctor("--json", code=0, hosts="n1:2"))
        self.assertEqual(found["findings"][0]["code"], "W131")
        self.assertEqual([rank["rank"] for rank in found["ranks"]], [0, 1])
        found = json.loads(self.doctor("--json", "--network", "eth9"))
        self.assertEqual([{finding["code"] for finding in found["findings"]}, found["ranks"]], [{"W131", "E135"}, []])

    def test_a_blocked_port(self):
        self.hosts["n2"].run("ip", "rule", "add", "ipproto", "tcp", "sport", "20199", "blackhole")
        words = self.doctor("--ports", "20000-20199")
        self.assertIn("E134 n1 does not reach port 20199 of n2 (10.0.0.2): no answer within 3 s\n"
                      "     fix: open TCP ports 20000-20199 of n2 for n1\n", words)
        self.assertEqual(words.count("E1"), 1, words)

    def test_a_port_that_is_taken(self):
        holder = "import socket, time; s = socket.create_server(('', 20000)); print(flush=True); time.sleep(60)"
        process = subprocess.Popen(self.hosts["n2"].enter("python3", "-c", holder), stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdout.readline()
        self.assertIn("E134 port 20000 of n2 cannot be used: Address already in use", self.doctor("--ports", "20000-20199"))

    def test_a_wrong_interface(self):
        words = self.doctor("--network", "eth9")
        for host, address in NAMES.items():
            self.assertIn(f"E135 {host} has no interface eth9; it has eth0 {address}/24\n", words)
        self.assertIn("fix: name the network that connects all hosts", words)

    def test_a_name_that_is_the_host_itself(self):
        self.give_names("n1", {"n1": "10.0.0.1", "n2": "127.0.1.1"})
        self.assertIn("E131 on n1 the name n2 is 127.0.1.1, which is n1 itself\n     fix: remove that line of /etc/hosts on n1", self.doctor())

    def test_an_unknown_name(self):
        self.give_names("n2", {"n2": "10.0.0.2"})
        words = self.doctor(hosts="n1,n2,n3")
        self.assertIn("E130 the name n3 is unknown on n1: ", words)
        self.assertIn("E130 the name n1 is unknown on n2: ", words)

    def test_addresses_that_two_hosts_have(self):
        for host in self.hosts.values():
            host.run("ip", "link", "add", "docker0", "type", "bridge")
            host.run("ip", "address", "add", "172.17.0.1/16", "dev", "docker0")
            host.run("ip", "link", "set", "docker0", "up")
        words = self.doctor("--network", "10.0.0.0/24", code=0)
        self.assertNotIn("W136", words)

    def test_ssh_that_is_refused(self):
        shell = self.script("echo 'me@n2: Permission denied (publickey).' >&2; exit 255")
        self.assertRegex(self.doctor(shell=shell), r"E132 \S+ n2 does not work: me@n2: Permission denied \(publickey\)\.; exit code 255\n"
                         r"     fix: let `ssh n2 true` ask no question: ssh-copy-id n2")

    def test_a_host_that_does_not_answer(self):
        self.assertRegex(self.doctor(shell=self.script("exec sleep 60")), r"E132 \S+ n2 does not work: no answer in time")

    def test_a_program_that_is_not_there(self):
        shell = self.script(f'exec {SUPPORT}/enter_host.sh "$1" "/absent$2"')
        self.assertRegex(self.doctor(shell=shell), rf"E133 n2 cannot run {PROGRAM}: .*No such file or directory; exit code 127")


if __name__ == "__main__":
    run_tests()
