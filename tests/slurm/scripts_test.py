#!/usr/bin/env python3
"""The scripts of jobs/ under Slurm: they train as mpirun does, where they are told to, and leave what they say."""

import re
import shutil
import unittest

from gpus import PROGRAM_FOR_GPUS, device, gpus
from slurm_test import JOBS, SlurmTest
from tandem import DATA, PROGRAM, whole

SHORT = ["--model", "lenet", "--global-batch-size", 64, "--lr", 0.01, "--max-steps", 12, "--eval-every", 0,
         "--virtual-ranks", 4]
ONE_CPU = "--cpus-per-task=1"  # the nodes of the tests have one for each GPU, and the scripts ask for eight


class Scripts(SlurmTest):
    def test_every_launcher_trains_to_the_same_bits(self):
        """srun on two nodes, mpirun in a job, a container and an emitted script, against mpirun without Slurm."""
        self.mpirun(1, "train", "--data", DATA, *SHORT, "--run-id", "alone")
        emitted = self.folder / "emitted.sbatch"
        emitted.write_text(self.tandem("emit", "sbatch", "--nodes", 2, "--ranks-per-node", 2, "--cpus-per-rank", 1,
                                       "--", "--data", DATA).stdout)
        # A stand-in for Apptainer, which Debian has not: it shows what it was asked for and enters nothing.
        path = self.stand_in("apptainer", 'echo "apptainer $*"; while [ "$1" != tandem ]; do shift; done; exec "$@"')
        two_nodes = ["--nodes=2", "--ntasks-per-node=2"]
        jobs = {"cpu": self.submit("cpu", *two_nodes, train=SHORT),
                "mpirun": self.submit("mpirun", *two_nodes, train=SHORT),
                "apptainer": self.submit("apptainer", train=SHORT, environment={"PATH": path, "TANDEM_IMAGE": "a.sif"}),
                "emitted": self.submit_file(emitted, train=SHORT)}
        for name, job in jobs.items():
            with self.subTest(name):
                self.assert_ends(job)
                self.assertIn("done: 12 steps in", job.words())
                self.assertEqual(self.summary(f"job-{job.number}")["weights_sha256"], self.summary("alone")["weights_sha256"])
                hosts = self.hosts(f"job-{job.number}")
                self.assertEqual([len(hosts), len(set(hosts))], [2, 1] if name == "apptainer" else [4, 2], hosts)
        self.assertIn("apptainer exec --env OMPI_MCA_btl_vader_single_copy_mechanism=none a.sif tandem train --data",
                      jobs["apptainer"].words())

    def test_slurm_takes_what_emit_asks_for(self):
        """Also an array, an account, a partition and unequal nodes, whose job runs."""
        for name, options in (("all", ["--nodes", 2, "--ranks-per-node", 2, "--cpus-per-rank", 1, "--memory-per-node", "1M", "--account", "physics",
                                       "--partition", "high", "--time", "00:30:00", "--output", "%j.words", "--array", "3,5-6%1"]),
                              ("unequal", ["--ranks-per-node", "1,3"])):
            path = self.folder / f"{name}.sbatch"
            path.write_text(self.tandem("emit", "sbatch", *options, "--", "--data", DATA).stdout)
            self.slurm.command("sbatch", "--test-only", path)
            with self.assertRaises(AssertionError):
                self.slurm.command("sbatch", "--test-only", "--partition=none", path)
        job = self.submit_file(path, "--nodelist=n2,n3", train=["--model", "lenet", "--global-batch-size", 48, "--max-steps", 2, "--eval-every", 0])
        self.assert_ends(job)
        self.assertEqual(self.hosts(f"job-{job.number}"), ["n3"] * 3 + ["n2"])

    @whole
    def test_unequal_nodes_have_the_ranks_that_are_asked_for(self):
        for ranks, options, expected in (
                (None, [], ["n3"] * 4 + ["n4"] * 4 + ["n1"] * 2 + ["n2"] * 2),
                ("1 3", ["--nodes=2", "--nodelist=n2,n3"], ["n3"] * 3 + ["n2"])):
            with self.subTest(ranks):
                job = self.submit("unequal-nodes", *options, train=["--model", "lenet", "--global-batch-size", 48,
                                                                    "--max-steps", 2, "--eval-every", 0],
                                  environment={"RANKS_OF_NODES": ranks} if ranks else {})
                self.assert_ends(job)
                self.assertEqual(self.hosts(f"job-{job.number}"), expected)
        for ranks, words in ((None, "RANKS_OF_NODES names 4 nodes, the job has 1"),
                             ("a 2", "RANKS_OF_NODES is 'a 2', numbers such as")):
            job = self.submit("unequal-nodes", "--nodes=1", environment={"RANKS_OF_NODES": ranks} if ranks else {})
            self.assert_ends(job, 2)
            self.assertIn(words, job.words())

    def test_what_is_missing_is_named(self):
        for environment, words in (({"TANDEM_SITE": ""}, "source jobs/site.conf before sbatch"),
                                   ({"TANDEM_DATA": ""}, "TANDEM_DATA: export it before sbatch")):
            job = self.submit("cpu", environment=environment)
            self.assertNotEqual(job.wait(), 0)
            self.assertIn(words, job.words())

    def test_an_array_has_a_folder_for_each_seed(self):
        job = self.submit("array", "--array=3,5", train=SHORT)
        runs = {seed: f"job-{job.number}-seed-{seed}" for seed in (3, 5)}
        for seed, run_id in runs.items():
            job.wait_for((self.folder / "runs" / run_id / "summary.json").exists)
            self.assertEqual(self.summary(run_id)["exit_reason"], "completed")
            self.assertRegex((self.folder / "runs" / run_id / "config.ini").read_text(), rf"(?m)^seed = {seed}$")
        self.assertEqual(sorted(path.name for path in (self.folder / "runs").iterdir()), sorted(runs.values()))

    def test_ranks_see_gpus_as_they_are_asked_for(self):
        """GPUs in name only. Which of them a rank may use is Slurm's part and shown by a stand-in before the program."""
        path = self.stand_in("tandem", 'echo "rank $SLURM_PROCID sees ${CUDA_VISIBLE_DEVICES-nothing}"')
        for script, options, expected in (
                ("gpu-single-node", ["--gpus-per-node=2", "--ntasks-per-node=2", ONE_CPU], ["0,1", "0,1"]),
                ("gpu-single-node", ["--gpus-per-node=0", "--gpus-per-task=1", "--ntasks-per-node=2", ONE_CPU], ["0", "1"]),
                ("gpu-multi-node", ["--gpus-per-node=2", "--ntasks-per-node=2", ONE_CPU], ["0,1"] * 4),
                ("unequal-nodes", ["--gpus=12"], ["0,1,2,3"] * 8 + ["0,1"] * 4)):
            with self.subTest(script=script, options=options):
                job = self.submit(script, *options, environment={"PATH": path})
                self.assert_ends(job)
                self.assertEqual(sorted(job.words().splitlines()),
                                 sorted(f"rank {rank} sees {gpus}" for rank, gpus in enumerate(expected)))

    @whole
    def test_ranks_take_gpus_as_they_are_asked_for(self):
        """The same GPUs, listed by a driver in name only to `tandem info` in the place of `tandem train`."""
        two, four = gpus(2), gpus(4)
        path = self.stand_in("tandem", f"""export LD_LIBRARY_PATH='{four["LD_LIBRARY_PATH"]}' FAKE_CUDA_GPUS='{four["FAKE_CUDA_GPUS"]}'
            case "$(hostname)" in n1|n2) FAKE_CUDA_GPUS='{two["FAKE_CUDA_GPUS"]}';; esac
            exec '{PROGRAM_FOR_GPUS}' info""")
        pair, quad = [[device(place, place) for place in range(count)] for count in (2, 4)]
        for script, options, expected in (
                ("gpu-single-node", ["--gpus-per-node=2", "--ntasks-per-node=2", ONE_CPU], pair),
                ("gpu-single-node", ["--gpus-per-node=0", "--gpus-per-task=1", "--ntasks-per-node=2", ONE_CPU], [device(0, 0), device(0, 1)]),
                ("gpu-multi-node", ["--gpus-per-node=2", "--ntasks-per-node=2", ONE_CPU], pair * 2),
                ("unequal-nodes", ["--gpus=12"], quad * 2 + pair * 2)):
            with self.subTest(script=script, options=options):
                job = self.submit(script, *options, environment={"PATH": path})
                self.assert_ends(job)
                taken = re.findall(r"(?m)^\d+ +n\d +\d +(cuda:\d \S+ \S+ \S+|cpu) ", job.words())
                self.assertEqual(taken, expected, job.words())
                self.assertEqual("see one GPU, beside other ranks" in job.words(), "--gpus-per-task=1" in options)

    def test_ranks_that_srun_starts_without_pmix(self):
        """They know nothing of each other, and Open MPI would end each with words of its own."""
        shown = self.slurm.command("srun", "--mpi=none", "--ntasks=2", PROGRAM, "doctor", check=False)
        self.assertEqual(shown.count("E101 the launcher started 2 processes that are not in one MPI job\n"), 1, shown)
        shown = self.slurm.command("srun", "--mpi=pmix", "--ntasks=2", PROGRAM, "doctor", check=False)
        self.assertNotIn("E101", shown)
        self.assertRegex(shown, "2 ranks on 1 host; ranks of a host exchange at least ")

    @whole
    def test_a_second_job_in_the_same_folder_ends_with_73(self):
        first = self.submit("cpu", environment={"TANDEM_RUN_ID": "one"})
        self.wait_for_steps(first, run_id="one")
        second = self.submit("cpu", environment={"TANDEM_RUN_ID": "one"})
        self.assert_ends(second, 73)
        self.assertRegex(second.words(), r"runs/one: another run works in this folder \(process \d+ on n\d\)")
        self.assertEqual(first["JobState"], "RUNNING")

    def test_site_conf_names_partition_and_program(self):
        """The way of the documentation: an own copy of jobs/, its site.conf edited, read, and a script submitted."""
        shutil.copytree(JOBS, self.folder / "jobs")
        site = self.folder / "jobs/site.conf"
        edited = site.read_text().replace("#export SBATCH_PARTITION=your-partition", "export SBATCH_PARTITION=high") \
                                 .replace("#export PATH=$HOME/tandem/build/bin:$PATH", f"export PATH={self.folder}/bin:$PATH")
        self.assertEqual(edited.count("\nexport "), 3)
        site.write_text(edited)
        self.stand_in("tandem", 'echo "in $PWD: $*"')
        (self.folder / "elsewhere").mkdir()
        for folder, before in (("elsewhere", "source ../jobs/site.conf && "), (".", "")):
            with self.subTest(folder):
                number = self.slurm.command("bash", "-c", f"{before}sbatch --parsable {self.folder}/jobs/cpu.sbatch --epochs 3",
                                            cwd=self.folder / folder, environment={"TANDEM_DATA": "d.h5"}).strip()
                job = self.slurm.job(number, self.folder / folder)
                self.assert_ends(job)
                self.assertEqual(job["Partition"], "high" if before else "low")
                self.assertEqual(job.words(), f"in {(self.folder / folder).resolve()}: train --data d.h5 --resume auto --epochs 3\n" * 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
