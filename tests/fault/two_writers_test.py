#!/usr/bin/env python3
"""One run folder and two hosts that do not see each other's locks: only one of them writes, and a crash needs no cleanup.

Hosts are namespaces; the library local_locks grants every lock. A host waits half a minute for a silent owner, so the two
scenarios run side by side, each in a run of its own."""

import os
import re
import signal
import subprocess
import threading
import time
import unittest
import uuid

from processes import kill_all
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, whole

LOCAL_LOCKS = os.environ["TANDEM_TEST_LOCAL_LOCKS"]
UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
TRAIN = ["train", "--data", DATA, "--model", "mlp", "--global-batch-size", "600", "--threads", "1", "--epochs", "100000",
         "--eval-every", "0", "--log-every", "1", "--checkpoint-every", "10steps", "--quiet", "--resume", "auto"]
ANOTHER_BOOT = 'hostname "$0" && mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"'
ANOTHER_CONTAINER = 'hostname "$0" && shift && exec "$@"'


class Writers:
    """Starts of one run, each on another host."""

    def __init__(self, test, run, script, namespaces=(), launcher=()):
        self.test, self.run, self.script, self.namespaces, self.launcher = test, run, script, namespaces, launcher
        self.metrics = test.folder / f"runs/{run}/metrics.jsonl"

    def start(self, host):
        boot = self.test.folder / f"boot-{self.run}-{host}"
        boot.write_text(f"{uuid.uuid4()}\n")
        command = [*UNSHARE, *self.namespaces, "bash", "-c", self.script, host, boot, "env", f"LD_PRELOAD={LOCAL_LOCKS}",
                   *self.launcher, PROGRAM, *TRAIN, "--run-id", self.run]
        process = subprocess.Popen([str(word) for word in command], cwd=self.test.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.test.addCleanup(process.communicate)
        self.test.addCleanup(lambda: kill_all(self.programs(process)))
        return process

    def programs(self, process):
        """The program or its launcher. unshare execs it or, in a PID namespace of its own, waits for it."""
        if not self.namespaces:
            return [process.pid] if process.poll() is None else []
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        return [int(child) for child in children]

    def signal(self, process, number):
        for program in self.programs(process):
            os.kill(program, number)

    def steps(self):
        lines = self.metrics.read_bytes().split(b"\n")[:-1] if self.metrics.exists() else []
        return [int(re.search(rb'"step":(\d+)', line)[1]) for line in lines if b'"event":"step"' in line]

    def wait_for_more_steps(self, process, count, seconds):
        begin, end = max(self.steps(), default=0), time.monotonic() + seconds
        while max(self.steps(), default=0) < begin + count:
            self.test.assertIsNone(process.poll(), "ended before it trained")
            self.test.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def assert_refused(self, host, by):
        process = self.start(host)
        words, _ = process.communicate(timeout=60)
        self.test.assertEqual(process.returncode, 73, words)
        self.test.assertRegex(words, rf"runs/{self.run}: another run works in this folder \(process \d+ on {by}\)")

    def take_over(self, host, after):
        """A start that meets a silent owner."""
        begin = time.monotonic()
        process = self.start(host)
        self.wait_for_more_steps(process, 20, seconds=120)
        self.test.assertGreater(time.monotonic() - begin, 30, f"{after} had half a minute")
        return process

    def stop(self, process):
        """The output; checks that each step was written once."""
        self.signal(process, signal.SIGUSR1)
        words, _ = process.communicate(timeout=60)
        self.test.assertEqual(process.returncode, 75, words)
        steps = self.steps()
        self.test.assertEqual(steps, list(range(1, len(steps) + 1)))
        return words


class TwoWriters(TandemTest):
    def suspended(self):
        """The folder of a suspended owner is taken over, and the owner ends when it wakes."""
        run = Writers(self, "sleeps", ANOTHER_BOOT)
        first = run.start("n1")
        run.wait_for_more_steps(first, 20, seconds=60)
        run.assert_refused("n2", by="n1")
        run.signal(first, signal.SIGSTOP)
        second = run.take_over("n2", after="the first")
        run.signal(first, signal.SIGCONT)
        words, _ = first.communicate(timeout=60)
        self.assertEqual(first.returncode, 73, words)
        self.assertRegex(words, r"runs/sleeps: process \d+ on n2 has taken over this folder")
        words = run.stop(second)
        self.assertRegex(words, r"was last used by process \d+ on n1, which did not record its end; watching")

    def killed(self):
        """The folder of an owner that was killed in another container or on another host is taken over."""
        run = Writers(self, "killed", ANOTHER_CONTAINER, ["--pid", "--fork", "--kill-child", "--mount-proc"], [*MPIRUN, "-n", "2"])
        first = run.start("c1")
        run.wait_for_more_steps(first, 20, seconds=60)
        run.assert_refused("c2", by="c1")
        run.signal(first, signal.SIGKILL)
        first.wait()
        words = run.stop(run.take_over("c2", after="the first"))
        self.assertRegex(words, r"was last used by process \d+ on c1")

    @whole
    def test_two_hosts_that_do_not_see_each_others_locks(self):
        failures = []

        def in_thread(scenario):
            try:
                scenario()
            except BaseException as error:  # shown by the main thread
                failures.append((scenario.__name__, error))

        threads = [threading.Thread(target=in_thread, args=(each,)) for each in (self.suspended, self.killed)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, error in failures:
            with self.subTest(name):
                raise error

    def test_a_dead_owner_on_this_host_is_taken_over_at_once(self):
        run = Writers(self, "here", ANOTHER_BOOT)
        run.start = lambda _: subprocess.Popen([PROGRAM, *TRAIN, "--run-id", "here"], cwd=self.folder, text=True,
                                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        first = run.start("here")
        self.addCleanup(first.kill)
        run.wait_for_more_steps(first, 20, seconds=60)
        first.kill()
        first.communicate()
        second = run.start("here")
        self.addCleanup(second.kill)
        run.wait_for_more_steps(second, 5, seconds=60)
        second.terminate()
        words, _ = second.communicate()
        self.assertEqual(second.returncode, 75)
        self.assertNotIn("was last used by", words)

    def test_somebodys_folder_is_left_as_it_is(self):
        folder = self.folder / "home/Documents"
        folder.mkdir(parents=True)
        for name in (".notes.tmp.keep", "thesis.tex"):
            (folder / name).write_text("mine")
        before = {path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}
        done = self.tandem(*TRAIN, "--max-steps", 2, "--runs-dir", "home", "--run-id", "Documents", code=73)
        self.assert_one_error(done, r"home/Documents: is neither empty nor the folder of a run")
        self.assertEqual({path: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}, before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
