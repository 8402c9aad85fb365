#!/usr/bin/env python3
"""`tandem doctor` on jobs to which something was done: each fault has its code, and the program outlives what it reports.

A slow pair of hosts is in tests/cluster/doctor_test.py, a wrong clock in tests/fault/clock_test.py, srun without PMIx in
tests/slurm/scripts_test.py."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import sys
import unittest

from gpus import PROGRAM_FOR_GPUS, gpus
from hosts import IN_OWN_FOLDER, TWO_HOSTS
from rank_variable import FIND_RANK
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, whole

UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
WITHOUT_CMA = [sys.executable, "-B", pathlib.Path(__file__).parents[1] / "support/without_cma.py"]
TRAIN = ["train", "--model", "mlp", "--max-steps", "1", "--eval-every", "0", "--quiet"]
ON_RANK_1 = FIND_RANK.replace("{", "{{").replace("}", "}}") + 'if [ "$rank" = 1 ]; then {}; fi; exec "$@"'


class Doctor(TandemTest):
    by_itself = None

    def found(self, command, code=0, environment={}, stale=False):
        """{code: finding} of a doctor's JSON. The text output is from another run, with the same findings except `stale` memory,
        which other tests that kill jobs leave behind."""
        done = self.run_command([*command, "--json"], code, environment)
        self.assertNotIn("tandem: ", done.stderr)
        found = {finding["code"]: finding for finding in json.loads(done.stdout)["findings"]}
        if not stale:
            found.pop("W183", None)
        lines = self.run_command(command, code, environment).stdout.splitlines()
        for finding in found.values():
            place = lines.index(f"{finding['code']} {finding['what']}")
            self.assertEqual(lines[place + 1], f"     fix: {finding['fix']}")
            self.assertEqual(finding["cure"], finding["fix"])
            self.assertEqual(finding["severity"] == "error", finding["code"].startswith("E"))
        self.assertEqual(code, 78 if any(each.startswith("E") for each in found) else 0)
        return found

    def doctor(self, ranks, *arguments):
        return [*MPIRUN, "-n", ranks, PROGRAM, "doctor", *arguments]

    def of_this_machine(self):
        """What it has by itself, such as too few processors for two ranks; asked once."""
        if Doctor.by_itself is None:
            Doctor.by_itself = set(self.found(self.doctor(2)))
        return Doctor.by_itself

    def assert_finds(self, expected, command, code=0, ranks=None, environment={}, by_itself=None):
        by_itself = self.of_this_machine() if by_itself is None else by_itself
        found = self.found(command, code, environment)
        self.assertEqual(set(found) - by_itself, {expected} - by_itself)
        self.assertIn(expected, found)
        if ranks is not None:
            self.assertEqual(found[expected]["ranks"], ranks)
        return found[expected]

    def test_nothing_where_nothing_is_wrong(self):
        roomy = [*UNSHARE, "bash", "-c", 'mount -t tmpfs -o size=4g tmpfs /dev/shm && exec "$@"', "bash"]
        command = [*roomy, *self.doctor(2, "--data", DATA)]
        found = self.found(command)
        self.assertLessEqual(set(found), {"W181"}, found)  # a container may forbid it
        if not found:
            self.assertRegex(self.run_command(command, 0, {}).stdout,
                             r"\Ano fault found: 2 ranks on 1 host; ranks of a host exchange at least [0-9.]+ [MG]B/s\n\Z")

    def test_one_rank_exchanges_nothing(self):
        self.assertRegex(self.tandem("doctor").stdout, r"1 rank on 1 host; no exchange was measured\n\Z")

    def test_facts_of_every_rank(self):
        facts = json.loads(self.run_command([*self.doctor(3, "--data", DATA), "--json"], 0, {}).stdout)
        self.assertEqual([rank["rank"] for rank in facts["ranks"]], [0, 1, 2])
        self.assertEqual(len({rank["data_digest"] for rank in facts["ranks"]}), 1)
        self.assertEqual(sorted(pair["ranks"] for pair in facts["pairs"]), [[0, 1], [0, 2], [1, 2]])
        self.assertTrue(all(pair["bytes_per_second"] > 0 for pair in facts["pairs"]))

    # Hosts. Faults of them are in tests/cluster/host_trial_test.py.

    def test_options_of_hosts_need_hosts(self):
        for name, value in (("ports", "20000-20199"), ("network", "lo")):
            self.assert_one_error(self.tandem("doctor", f"--{name}", value, code=2), f"--{name} is for --hosts; name the hosts")
            self.assert_one_error(self.tandem("doctor", code=2, environment={f"TANDEM_{name.upper()}": value}), f"--{name} is for --hosts")

    def test_malformed_hosts_are_refused(self):
        for hosts, said in (("localhost:x", "--hosts: ranks of 'localhost': 'x' is not a whole number from 1"),
                            ("localhost:0", "--hosts: ranks of 'localhost': '0'"), ("n1,,n2", "--hosts: 'n1,,n2' is not like n1,n2"),
                            ("-x", "--hosts: '-x' is not like")):
            self.assert_one_error(self.tandem("doctor", "--hosts=" + hosts, code=2), said)

    def test_a_host_that_is_named_twice_is_tried_once(self):
        done = self.tandem("doctor", "--hosts", "absent.invalid,absent.invalid:2", "--json", code=78)
        self.assertEqual(len(json.loads(done.stdout)["findings"]), 1, done.stdout)

    def test_ranks_do_not_start_themselves_again(self):
        words = self.run_command(self.doctor(2), 0, {"TANDEM_HOSTS": "absent.invalid", "TANDEM_PORTS": "20000-20199"}).stdout
        self.assertRegex(words, r"2 ranks on 1 host; .*\n\Z")

    # Launchers.

    def test_srun_without_pmi(self):
        """Each of its processes by itself; the first one speaks."""
        step = {"SLURM_STEP_NUM_TASKS": "4"}
        first = {**step, "SLURM_PROCID": "0"}
        finding = self.assert_finds("E101", [PROGRAM, "doctor"], 78, [0], first)
        self.assertIn("started 4 processes", finding["what"])
        self.assertIn("--mpi=pmix", finding["fix"])
        silent = self.tandem("doctor", code=78, environment={**step, "SLURM_PROCID": "1"})
        self.assertEqual(silent.stdout + silent.stderr, "")
        done = self.tandem("train", "--data", DATA, "--print-config", environment=first)
        self.assertEqual(re.findall("^tandem: warning: (E101) ", done.stderr, re.MULTILINE), ["E101"])

    def test_the_launcher_of_another_mpi(self):
        self.assert_finds("E101", [PROGRAM, "doctor"], 78, [0], {"PMI_SIZE": "2", "PMI_RANK": "0"})

    # Processors.

    def test_one_processor_of_many(self):
        if len(os.sched_getaffinity(0)) > 1:
            finding = self.assert_finds("W150", ["taskset", "--cpu-list", "0", *self.doctor(1)], 0, [0])
            self.assertIn("--bind-to none", finding["fix"])

    def test_more_threads_than_processors(self):
        finding = self.assert_finds("W151", self.doctor(2), 0, [0, 1], {"OMP_NUM_THREADS": "512"})
        self.assertIn("with 512 threads each", finding["what"])

    # Programs and options.

    def test_versions_that_differ(self):
        command = [*MPIRUN, "-n", 3, "bash", "-c", ON_RANK_1.format("export FAKE_TANDEM_VERSION=0.0.9"), "bash",
                   PROGRAM_FOR_GPUS, "doctor"]
        finding = self.assert_finds("E160", command, 78, [1])
        self.assertRegex(finding["what"], r"rank 1 .*: '0\.0\.9 .*', not '0\.1\.0 ")

    def test_options_that_differ(self):
        for option in ("--data absent.h5", "--bogus"):
            with self.subTest(option):
                command = [*MPIRUN, "-n", 3, "bash", "-c", ON_RANK_1.format(f'set -- "$@" {option}'), "bash", PROGRAM, "doctor"]
                finding = self.assert_finds("E161", command, 78, [1], by_itself=self.of_this_machine() | {"W151"})
                self.assertIn(option.split()[0], finding["what"])

    # Data.

    def on_two_hosts(self, harm):
        for host in ("n1", "n2"):
            (self.folder / host).mkdir(exist_ok=True)
            shutil.copy(DATA, self.folder / host / "data.h5")
        harm(self.folder / "n2/data.h5")
        command = [*TWO_HOSTS, *IN_OWN_FOLDER, PROGRAM, "doctor", "--data", "data.h5"]
        by_itself = self.of_this_machine() | {"W151"}  # three ranks
        return self.assert_finds("E170", command, 78, [2], by_itself=by_itself)

    def test_other_data_on_one_host(self):
        self.tandem("pack", "--input", "synthetic", "--images", "600", "--seed", "1", "--output", "other.h5")
        finding = self.on_two_hosts(lambda path: shutil.copy(self.folder / "other.h5", path))
        self.assertRegex(finding["what"], r"rank 2 \(n2\) differs from that of rank 0 \(n1\): '[0-9a-f]{16}', not '[0-9a-f]{16}'")

    @whole
    def test_damaged_data_on_one_host(self):
        def flip(path):
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        self.assertRegex(self.on_two_hosts(flip)["what"], r"rank 2 \(n2\): data\.h5: is damaged")

    @whole
    def test_data_missing_on_one_host(self):
        self.assertRegex(self.on_two_hosts(pathlib.Path.unlink)["what"], r"rank 2 \(n2\): data\.h5: cannot be read")

    def test_data_that_another_program_writes(self):
        shutil.copy(DATA, self.folder / "data.h5")
        with open(self.folder / "data.h5", "rb") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)
            finding = self.assert_finds("W171", self.doctor(2, "--data", "data.h5"), 0, [0, 1])
            trained = self.tandem(*TRAIN, "--data", "data.h5")
        self.assertIn("another program holds it for writing", finding["what"])
        pack = ["pack", "--input", "synthetic", "--images", "40", "--size", "24", "--store", "encoded", "--files", "2"]
        self.tandem(*pack, "--output", "set.h5")
        with open(self.folder / "set-002.h5", "rb") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)
            finding = self.assert_finds("W171", self.doctor(2, "--data", "set-*.h5"), 0, [0, 1])
        self.assertIn("set-002.h5: another program holds it for writing", finding["what"])
        self.assertNotIn("W171", trained.stderr, "training reads without a lock")

    # Memory.

    def test_small_shared_memory(self):
        small = [*UNSHARE, "bash", "-c", 'mount -t tmpfs -o size=4m tmpfs /dev/shm && exec "$@"', "bash"]
        finding = self.assert_finds("W180", [*small, *self.doctor(2)], 0, [0, 1])
        self.assertIn("--shm-size", finding["fix"])
        self.assertNotIn("W180", self.found([*small, *self.doctor(1)]), "one rank sends nothing there")

    @whole
    def test_memory_that_killed_jobs_have_left(self):
        def left(afterwards):
            script = f'mount -t tmpfs tmpfs /dev/shm && echo x > /dev/shm/vader_segment.h.0.aa.0 && "$@" && {afterwards}'
            return [*UNSHARE, "bash", "-c", script, "bash", *self.doctor(2)]
        finding = self.found(left("true"), stale=True)["W183"]
        self.assertEqual(finding["ranks"], [0])
        command = finding["fix"].split(": ")[1]
        self.assertEqual(command, "rm /dev/shm/vader_segment.h.0.aa.*")
        cured = self.run_command(left(f"{command} && ls /dev/shm | wc -l"), 0, {})
        self.assertEqual(cured.stdout.splitlines()[-1], "0")

    @whole
    def test_memory_of_others_that_may_not_be_read(self):
        finding = self.assert_finds("W181", [*WITHOUT_CMA, *self.doctor(2)], 0, [0, 1])
        fix = re.search(r"set (\w+)=(\w+)", finding["fix"])
        self.assertNotIn("W181", self.found([*WITHOUT_CMA, *self.doctor(2)], environment={fix[1]: fix[2]}))

    def test_train_warns_of_what_costs_nothing(self):
        command = [*WITHOUT_CMA, *MPIRUN, "-n", "2", PROGRAM, *TRAIN, "--data", DATA]
        done = self.run_command(command, 0, {"OMP_NUM_THREADS": "8"})
        warnings = re.findall("^tandem: warning: ([EW][0-9]+) .*; .*$", done.stderr, re.MULTILINE)
        self.assertIn("W181", warnings)
        self.assertEqual(len(warnings), len(set(warnings)))

    def test_train_warns_of_nothing_where_nothing_is_wrong(self):
        done = self.mpirun(2, *TRAIN, "--data", DATA)
        warned = re.findall("^tandem: warning: (.*)$", done.stderr, re.MULTILINE)
        self.assertLessEqual({line.split()[0] for line in warned}, self.of_this_machine(), warned)

    # GPUs.

    def on_gpus(self, script, environment):
        return [*MPIRUN, "-n", 2, "bash", "-c", script, "bash", PROGRAM_FOR_GPUS, "doctor"], environment

    def of_machine_with_gpus(self):
        """W152 where the machine has fewer than eight cores."""
        return self.of_this_machine() | {"W152"}

    @whole
    def test_a_driver_whose_management_library_is_silent(self):
        command, environment = self.on_gpus('exec "$@"', gpus(2, CUDA_VISIBLE_DEVICES="0,1"))
        finding = self.assert_finds("W111", command, 0, [0, 1], environment, self.of_machine_with_gpus())
        self.assertIn("NVIDIA_DRIVER_CAPABILITIES", finding["fix"])

    @whole
    def test_a_gpu_with_one_core(self):
        command, environment = self.on_gpus(FIND_RANK + 'exec taskset --cpu-list "$rank" "$@"', gpus(2))
        finding = self.assert_finds("W152", command, 0, [0, 1], environment, self.of_this_machine() | {"W111"})
        self.assertRegex(finding["what"], "^ranks 0-1 drive GPUs with 1 core of ")
        self.assertIn("--cpus-per-task=8", finding["fix"])

    def test_the_gpu_that_train_takes(self):
        """As Slurm's --gpus-per-task=2 does: rank 1 takes the first of its two."""
        script = FIND_RANK + 'export CUDA_VISIBLE_DEVICES=$((2 * rank)),$((2 * rank + 1)); exec "$@"'
        command, environment = self.on_gpus(script, gpus(4))
        ranks = json.loads(self.run_command([*command, "--json"], 0, environment).stdout)["ranks"]
        listed = self.run_command([PROGRAM_FOR_GPUS, "info", "--json"], 0, gpus(4)).stdout
        ids = [gpu["uuid"] for gpu in json.loads(listed)["ranks"][0]["gpus"]]
        self.assertEqual([rank["gpu"] for rank in ranks], [ids[0], ids[2]])

    def test_two_ranks_on_one_gpu(self):
        command, environment = self.on_gpus('exec "$@"', gpus(4, CUDA_VISIBLE_DEVICES="2"))
        by_itself = self.of_machine_with_gpus() | {"W111"}
        finding = self.assert_finds("E110", command, 78, [0, 1], environment, by_itself)
        self.assertRegex(finding["what"], "ranks 0-1 on .* hold one GPU, cuda:0 NVIDIA H100 0000:3B:00.0")

    def test_more_ranks_than_gpus(self):
        script = FIND_RANK + 'if [ "$rank" = 1 ]; then export CUDA_VISIBLE_DEVICES=; fi; exec "$@"'
        command, environment = self.on_gpus(script, gpus(1, CUDA_VISIBLE_DEVICES="0"))
        finding = self.assert_finds("W112", command, 0, [0], environment, self.of_machine_with_gpus() | {"W111"})
        self.assertIn("--device auto takes the CPU on all ranks", finding["what"])

    def test_a_rank_that_hangs_is_named(self):
        command, environment = self.on_gpus(ON_RANK_1.format("export FAKE_CUDA_HANGS=1"), gpus(2))
        done = self.run_command([*command, "--stall-warn", "6", "--stall-abort", "10"], 124, environment)
        self.assertEqual(done.stdout, "")
        where = r"rank 1 \(.*, process [0-9]+\) has not advanced for \d+ s: start-up"
        self.assertRegex(done.stderr, rf"(?m)^tandem: warning: {where}$")
        self.assertRegex(done.stderr, rf"(?m)^tandem: error: {where}; the job ends, see --stall-abort$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
