#!/usr/bin/env python3
"""`tandem emit` for PBS, LSF, Flux and Kubernetes. Their scripts run here, with stand-ins for the batch system's commands.
The ranks are real. tests/schedulers reads them by the systems' own parsers."""

import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

import yaml
from tandem import DATA, PROGRAM, QUICK, TandemTest, read_lines

SYSTEMS = ("sbatch", "apptainer", "pbs", "lsf", "flux")
LONG = ["--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--lr", "0.01", "--threads", "1", "--epochs", "100000",
        "--eval-every", "0", "--log-every", "1", "--quiet"]


class BatchSystems(TandemTest):
    def emit(self, form, *options, train=QUICK):
        return self.tandem("emit", form, *options, "--", *train).stdout

    def stand_in(self, name, script):
        (self.folder / "bin").mkdir(exist_ok=True)
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def environment(self, form):
        """The environment of a job of two ranks on this host."""
        hosts = self.folder / "hosts"
        hosts.write_text("localhost\nlocalhost\n")
        of_system = {"pbs": {"PBS_JOBID": "34.server", "PBS_O_WORKDIR": str(self.folder), "PBS_NODEFILE": str(hosts)},
                     "lsf": {"LSB_JOBID": "34", "LSB_DJOB_HOSTFILE": str(hosts)}, "flux": {}}[form]
        path = f"{self.folder}/bin:{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, **of_system}

    def start(self, form, text, **more):
        script = self.folder / "job"
        script.write_text(text)
        # Its own standard input would be the terminal's.
        return subprocess.Popen(["bash", script], cwd=self.folder, env={**self.environment(form), **more}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def end(self, job, code):
        self.addCleanup(lambda: job.poll() is None and os.killpg(job.pid, signal.SIGKILL))
        output, self.errors = job.communicate(timeout=100)
        self.assertEqual(job.returncode, code, output + self.errors)
        return output

    def ranks(self, run_id):
        return len(yaml.safe_load((self.folder / "runs" / run_id / "manifest.json").read_text())["ranks"])

    def test_scripts_for_pbs_and_lsf_train(self):
        for form in ("pbs", "lsf"):
            with self.subTest(form):
                self.end(self.start(form, self.emit(form, "--ranks-per-node", 2), TANDEM_RUN_ID=form), 0)
                self.assertEqual(self.ranks(form), 2)

    def test_a_script_for_flux_trains(self):
        """`flux run` is mpirun here."""
        self.stand_in("flux", 'case "$1 $2" in "getattr jobid") echo ƒ2;; "job id") echo 34;; "run "*)\n'
                              'while [ "$1" != tandem ]; do shift; done; exec mpirun --bind-to none -np 2 "$@";; esac')
        self.end(self.start("flux", self.emit("flux", "--ranks-per-node", 2)), 0)
        self.assertEqual(self.ranks("job-34"), 2)

    def test_a_job_of_pbs_that_is_stopped_submits_itself_again(self):
        self.stand_in("qsub", 'printf "%s\\n" "$PWD" "$@" "$TANDEM_RUN_ID $TANDEM_RESTARTS" > asked')
        job = self.start("pbs", self.emit("pbs", "--requeues", 2, train=LONG), TANDEM_JOB_SCRIPT="my job.pbs", TANDEM_RESTARTS="1",
                         TANDEM_LR="0.01")
        self.wait_for_step(job, "runs/job-34", 3)
        job.terminate()  # as PBS ends a job, first the shell and then all of its processes
        self.end(job, 75)
        words = (self.folder / "asked").read_text().splitlines()
        self.assertEqual([pathlib.Path(words[0]), words[1], words[3]], [self.folder.resolve(), "-v", "my job.pbs"])
        self.assertLessEqual({"TANDEM_RUN_ID", "TANDEM_RESTARTS", "TANDEM_JOB_SCRIPT", "TANDEM_LR"}, set(words[2].split(",")))
        self.assertEqual(words[4], "job-34 2")
        (self.folder / "asked").unlink()
        steps = read_lines(self.folder / "runs/job-34/metrics.jsonl")[-1]["step"]

        job = self.start("pbs", self.emit("pbs", "--requeues", 2, train=LONG), TANDEM_JOB_SCRIPT="my job.pbs", TANDEM_RESTARTS="2",
                         TANDEM_LR="0.01")
        while read_lines(self.folder / "runs/job-34/metrics.jsonl")[-1]["step"] < steps + 3:
            time.sleep(0.02)
        job.terminate()
        self.end(job, 75)
        self.assertFalse((self.folder / "asked").exists(), "the third time")

    def test_a_stopped_job_says_how_to_go_on(self):
        job = self.start("pbs", self.emit("pbs", train=[*LONG, "--max-time", "32"]))
        self.assertIn("submit this script again with TANDEM_RUN_ID=job-34\n", self.end(job, 75))

    def test_a_job_that_cannot_submit_itself_ends_with_its_own_code(self):
        self.stand_in("qsub", "echo 'qsub: no queue' >&2; exit 1")
        job = self.start("pbs", self.emit("pbs", train=[*LONG, "--max-time", "32"]), TANDEM_JOB_SCRIPT="job.pbs")
        self.end(job, 75)
        self.assertIn("qsub: no queue", self.errors)

    def test_shells_read_every_script(self):
        for form in SYSTEMS:
            for options in ([], ["--array", "1-3"], ["--memory-per-node", "8G", "--time", "1-00:00:00", "--account", "a.b", "--queue", "q"]):
                if form == "flux":
                    options = [word for word in options if word not in ("--array", "1-3", "--memory-per-node", "8G")]
                with self.subTest(form=form, options=options):
                    script = self.emit(form, *options, train=["--data", "it's here.h5"])
                    self.run_command(["bash", "-n", "-c", script], 0, {})
                    (self.folder / "job.sh").write_text(script)
                    self.run_command(["shellcheck", "job.sh"], 0, {})

    def test_a_job_of_kubernetes(self):
        job = yaml.safe_load(self.emit("kubernetes", "--nodes", 2, "--ranks-per-node", 4, "--gpus-per-node", 4, "--memory-per-node", "16G",
                                       "--time", "01:00:00", "--image", "registry/tandem:cuda", "--claim", "shared", "--requeues", 3,
                                       train=["--data", "it's here.h5", "--backend", "nccl"]))
        self.assertEqual([job["apiVersion"], job["kind"]], ["kubeflow.org/v2beta1", "MPIJob"])
        spec = job["spec"]
        self.assertEqual([spec["slotsPerWorker"], spec["runPolicy"]["backoffLimit"], spec["runPolicy"]["activeDeadlineSeconds"]],
                         [4, 3, 4 * 3600])  # the deadline is that of all four starts
        launcher, worker = (spec["mpiReplicaSpecs"][name] for name in ("Launcher", "Worker"))
        self.assertEqual([launcher["replicas"], worker["replicas"]], [1, 2])
        container, = launcher["template"]["spec"]["containers"]
        self.assertRegex(container["command"][2], r"^exec mpirun -np 8 .* tandem train --data 'it'\\''s here.h5' --backend nccl --resume auto "
                                                  r"--max-time 3510$")
        self.assertIn(" --bind-to none ", container["command"][2], "pods of a node may see the same CPUs")
        container, = worker["template"]["spec"]["containers"]
        self.assertEqual(container["resources"]["limits"], {"cpu": "32", "memory": "16384Mi", "nvidia.com/gpu": "4"})
        self.assertEqual(container["image"], "registry/tandem:cuda")

    def test_each_mpi_has_its_own_words(self):
        for mpi, words in (("openmpi4", "mpirun -np 2 .* odls_base_sigkill_timeout"), ("openmpi5", "mpirun -np 2 .*--bind-to none [^-]"),
                           ("mpich", "mpiexec -n 2 -f "), ("intelmpi", "mpiexec -n 2 -f .* -genv I_MPI_PIN 0 ")):
            self.assertRegex(self.emit("pbs", "--ranks-per-node", 2, "--mpi", mpi), words)

    def test_a_run_that_does_not_resume(self):
        self.assertNotIn("#BSUB -Q", self.emit("lsf", train=["--data", "d.h5", "--resume", "none"]))
        self.assertIn('#BSUB -Q "75"', self.emit("lsf", train=["--data", "d.h5"]))
        script = self.emit("pbs", "--array", "1-5", "--requeues", 0, train=["--data", "d.h5", "--resume", "none"])
        self.assertIn("#PBS -r n", script)

    def test_mistakes_are_found_at_once(self):
        for arguments, pattern in (
                (["flux", "--memory-per-node", "8G"], "--memory-per-node is for sbatch, apptainer, pbs, lsf, kubernetes; leave it out"),
                (["lsf", "--requeues", "3"], "--requeues is for .*MAX_JOB_REQUEUE"),
                (["sbatch", "--memory-per-node", "8"], "--memory-per-node: '8' is not like 16G"),
                (["sbatch", "--account", "a b"], "--account: 'a b' has more than"),
                (["sbatch", "--account", "-x"], "--account: '-x' has more than"),
                (["sbatch", "--output", "a\nb"], "--output: 'a\nb' has more than"),
                (["pbs", "--array", "1,3"], "--array: '1,3' is not like 1-5"),
                (["pbs", "--array", "1-5", "--requeues", "3"], "--requeues: a task of an array of PBS cannot start again; leave it out"),
                (["pbs", "--array", "5-5"], "--array: '5-5' has one task; an array of PBS needs at least two"),
                (["sbatch", "--array", "1-5:0"], "--array: '1-5:0' is not like 1-5"),
                (["sbatch", "--array", "1-5%0"], "--array: '1-5%0' is not like 1-5"),
                (["sbatch", "--array", "x"], "--array: 'x' is not like 1-5"),
                (["lsf", "--array", "1,5-3"], "--array: '5-3' ends before it begins"),
                (["lsf", "--array", "0-2"], "--array: '0-2' begins with 0; LSF counts from 1"),
                (["sbatch", "--array", "1-3", "--", "--seed", "5"], "--array gives each task a seed and a run of its own; leave out --seed"),
                (["sbatch", "--array", "1-3", "--", "--run-id", "x"], "--array gives each task a seed and a run of its own; leave out --run-id"),
                (["sbatch", "--output", "a" * 100_000], "or more than 200 characters"),
                (["pbs", "--time", "00:00:20"], "--time: '00:00:20' leaves the job no time"),
                (["pbs", "--time", "99999-00:00:00"], "--time: '99999-00:00:00' is longer than 100,000 hours"),
                (["lsf", "--ranks-per-node", "4,2"], "--ranks-per-node: a number for each host is for sbatch"),
                (["sbatch", "--ranks-per-node", "4,2", "--nodes", "3"], "--ranks-per-node has 2 numbers, --nodes is 3"),
                (["sbatch", "--ranks-per-node", "4,x"], "--ranks-per-node: 'x'"),
                (["sbatch", "--mpi", "openmpi"], "--mpi: 'openmpi'.*did you mean"),
                (["kubernetes", "--", "--data", "d.h5"], "--image.*\n.*--claim"),
                (["kubernetes", "--image", "Tandem", "--claim", "My_Data"], "--claim: 'My_Data' is not a valid name; .*\n.*--image: 'Tandem' is not a valid name"),
                (["kubernetes", "--image", "i", "--claim", "c"], "--data: name the data set after --"),
                (["pbs", "--", "--resume", "none"], "--resume none: a requeued job")):
            with self.subTest(arguments=arguments):
                self.assert_one_error(self.tandem("emit", *arguments, code=2), pattern)


if __name__ == "__main__":
    unittest.main(verbosity=2)
