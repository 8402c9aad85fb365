#!/usr/bin/env python3
"""jobs/supervise.sh: it starts mpirun again after a lost rank or an early stop, so often and no more, and heeds signals."""

import json
import os
import pathlib
import signal
import time
import unittest

from jobs import Job
from processes import by_rank
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, whole

SUPERVISE = pathlib.Path(__file__).parents[2] / "jobs/supervise.sh"
LAUNCHER = pathlib.Path(MPIRUN[0]).name  # as the supervisor names it
INTO_CONTAINER = SUPERVISE.with_name("ssh-into-container.sh")
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", 64, "--lr", 0.01, "--threads", 1,
         "--epochs", 100000, "--eval-every", 0, "--log-every", 1, "--checkpoint-every", "5steps", "--quiet", "--run-id", "a"]
# Ends with the codes of the file `codes`, one for each start, and shows the variables that mpirun and tandem read.
SCRIPTED = 'read -r code saves < codes; sed -i 1d codes; for each in $saves; do mkdir -p "$each"; done; ' \
           'env | grep -E "^(OMPI_MCA_oob_tcp_keep|TANDEM_R)" | sort; exit "$code"'


def is_link_to(path, target):
    try:
        return os.readlink(path) == str(target)
    except OSError:  # its process has ended since
        return False


class Supervise(TandemTest):
    def scripted(self, most, *codes, code, environment={}, words=()):
        """The supervisor's messages for a command that ends with these codes in turn; all must be used. A code may be followed by
        folders that this start leaves."""
        (self.folder / "codes").write_text("".join(f"{each}\n" for each in codes))
        done = self.run_command([SUPERVISE, most, "bash", "-c", SCRIPTED, *words], code, {"SUPERVISE_PAUSE": "0", **environment})
        self.assertEqual((self.folder / "codes").read_text(), "")
        return done

    def start(self, *options):
        job = Job(["env", "SUPERVISE_PAUSE=0", SUPERVISE, 3, *MPIRUN, "-n", 2, PROGRAM, *TRAIN, *options], self.folder)
        self.addCleanup(job.end)
        return job

    def steps(self):
        path = self.folder / "runs/a/metrics.jsonl"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return max((json.loads(line)["step"] for line in lines), default=0)

    def wait_for_steps(self, job, more):
        goal = self.steps() + more
        end = time.monotonic() + 30
        while self.steps() < goal:
            assert job.process.poll() is None and time.monotonic() < end, f"only {self.steps()} of {goal} steps"
            time.sleep(0.01)

    def ranks(self):
        """Those that work in the test's folder, also where setsid took them out of the job's session."""
        return by_rank(path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/cwd") if is_link_to(path, self.folder))

    def end_of(self, job):
        words, _ = job.process.communicate(timeout=55)
        self.assertEqual(self.ranks(), {})
        return job.process.returncode, words

    def test_what_is_worth_another_start(self):
        for codes, most, expected in (([0], 3, 0), ([75, 0], 3, 0), ([137, 205, 139, 0], 3, 0), ([75, 75, 75], 2, 75),
                                      ([75], 0, 75), ([78], 3, 78), ([137, 1], 3, 1), ([124], 3, 124), ([134], 3, 134),
                                      ([110], 3, 110), ([139, 139], 9, 139), ([135, 137, 136], 9, 136),
                                      # As mpiexec of MPICH answers: SIGKILL, then crashes; but 1 and 2 are tandem's.
                                      ([9, 9, 15, 0], 3, 0), ([11, 11], 9, 11), ([4, 31], 9, 31), ([1], 3, 1), ([2], 3, 2), ([32], 3, 32)):
            with self.subTest(codes=codes, most=most):
                words = self.scripted(most, *codes, code=expected).stderr.splitlines()
                self.assertEqual(words, [f"supervise: bash ended with {code}; start {number}, of at most {most + 1}"
                                         for number, code in enumerate(codes[:-1], 2)])

    def test_the_number_of_starts_is_decimal(self):
        self.assertIn("of at most 9\n", self.scripted("08", 75, 0, code=0).stderr)

    def test_a_crash_may_come_again_where_the_run_has_saved_more(self):
        for words, folder in (((), "runs/mine"), (("--runs-dir=elsewhere", "--run-id", "b"), "elsewhere/b"),
                              (("--runs_dir=elsewhere", "--run_id", "c"), "elsewhere/c")):
            codes = [139, f"139 {folder}/checkpoints/one", f"139 {folder}/checkpoints/two", "139 unrelated"]
            done = self.scripted(9, *codes, code=139, environment={"TANDEM_RUN_ID": "mine"}, words=words)
            self.assertEqual(done.stderr.count("supervise:"), 3, done.stderr)

    def test_it_pauses_between_starts(self):
        bin = self.folder / "bin"
        bin.mkdir()
        (bin / "sleep").write_text('#!/bin/sh\necho "$@" >> slept\n')
        (bin / "sleep").chmod(0o755)
        path = {"PATH": f"{bin}:{os.environ['PATH']}"}
        self.scripted(2, 75, 137, 0, code=0, environment={**path, "SUPERVISE_PAUSE": "7"})
        self.assertEqual((self.folder / "slept").read_text(), "7\n7\n")

    def test_the_command_finds_what_it_needs_to_go_on(self):
        """The name of a run that has none stays the same from start to start."""
        lines = self.scripted(1, 75, 0, code=0).stdout.splitlines()
        self.assertEqual(lines[:5], lines[5:])
        self.assertEqual([line.split("=")[0] for line in lines[:5]],
                         ["OMPI_MCA_oob_tcp_keepalive_intvl", "OMPI_MCA_oob_tcp_keepalive_probes",
                          "OMPI_MCA_oob_tcp_keepalive_time", "TANDEM_RESUME", "TANDEM_RUN_ID"])
        self.assertIn("TANDEM_RESUME=auto", lines)
        self.assertIn("TANDEM_RUN_ID=mine", self.scripted(0, 0, code=0, environment={"TANDEM_RUN_ID": "mine"}).stdout)

    def test_a_wrong_call_is_answered(self):
        for arguments in ([], ["3"], ["mpirun", "true"], ["-1", "true"]):
            self.assertIn("usage: supervise.sh N mpirun", self.run_command([SUPERVISE, *arguments], 2, {}).stderr)

    @whole
    def test_a_lost_rank_and_an_early_stop_lead_to_the_same_end(self):
        # Each step takes all images, so that the kill and the signal come long before the end.
        steps = ["--global-batch-size", 600, "--max-steps", 120]
        self.mpirun(2, *[word if word != "a" else "whole" for word in TRAIN], *steps)
        job = self.start(*steps)
        self.wait_for_steps(job, 20)
        os.kill(self.ranks()[1], signal.SIGKILL)
        self.wait_for_steps(job, 20)
        os.kill(self.ranks()[0], signal.SIGUSR1)
        code, words = self.end_of(job)
        self.assertEqual(code, 0, words)
        self.assertIn(f"supervise: {LAUNCHER} ended with 137; start 2, of at most 4", words)
        self.assertIn(f"supervise: {LAUNCHER} ended with 75; start 3, of at most 4", words)
        digests = [json.loads((self.folder / f"runs/{name}/summary.json").read_text())["weights_sha256"]
                   for name in ("a", "whole")]
        self.assertEqual(digests[0], digests[1])

    def test_a_run_that_gets_nowhere_is_ended(self):
        """Each start is killed once it is listed in the manifest, before its first checkpoint."""
        killed = ('starts() { grep -c first_step runs/a/manifest.json 2> /dev/null || :; }; before=$(starts); "$@" & '
                  'until [ "$(starts)" != "$before" ] || ! kill -0 $! 2> /dev/null; do sleep 0.05; done; '
                  'sleep 0.05; [ "$(starts)" = "$before" ] || kill -KILL $!; wait $!')
        done = self.run_command([SUPERVISE, 9, "bash", "-c", killed, "bash", PROGRAM, *TRAIN, "--checkpoint-every", 0], 70,
                                {"SUPERVISE_PAUSE": "0"})
        self.assertEqual(done.stderr.count("supervise: bash ended with 137"), 3, done.stderr)
        self.assertIn("runs/a: the last 3 starts began at step 0 and saved no new checkpoint", done.stderr)

    def test_a_signal_to_the_supervisor_saves_and_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            with self.subTest(number):
                job = self.start("--checkpoint-every", 0)
                self.wait_for_steps(job, 5)
                if number == signal.SIGINT:
                    os.killpg(job.process.pid, number)  # as Ctrl-C does
                else:
                    job.process.send_signal(number)
                code, words = self.end_of(job)
                self.assertEqual(code, 75, words)
                self.assertNotIn("supervise:", words)
                summary = json.loads((self.folder / "runs/a/summary.json").read_text())
                self.assertEqual(summary["exit_reason"], "stopped")
                self.assertTrue((self.folder / f"runs/a/checkpoints/step-{summary['steps']:08}.safetensors").exists())


class SshIntoContainer(TandemTest):
    def test_words_reach_the_container_through_any_shell(self):
        """With dash, which some users have as login shell; one function stands in for docker and the shell in the container."""
        bin = self.folder / "bin"
        bin.mkdir()
        (bin / "ssh").write_text('#!/bin/sh\nshift 2\nhost=$1; shift\necho "$host"\nexec dash -c "$*"\n')
        (bin / "docker").write_text('#!/bin/sh\necho "$1 $2"; shift 2; exec "$@"\n')
        for name in ("ssh", "docker"):
            (bin / name).chmod(0o755)
        environment = {"PATH": f"{bin}:{os.environ['PATH']}", "TANDEM_CONTAINER": "my ranks"}
        command = "printf '%s|' \"it's\" '$HOME' \"a\nb\" 'tab\there' \\\\"
        done = self.run_command([INTO_CONTAINER, "n1", command], 0, environment)
        self.assertEqual(done.stdout, "n1\nexec my ranks\nit's|$HOME|a\nb|tab\there|\\|")

    def test_a_host_is_no_option(self):
        for words in (["-oProxyCommand=touch pwned", "true"], ["n1"], []):
            self.assertIn("usage: ssh-into-container.sh HOST", self.run_command([INTO_CONTAINER, *words], 2, {}).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
