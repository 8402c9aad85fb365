#!/usr/bin/env python3
"""`tandem emit`: the mpirun line starts what it says; a mistake is found before the job. Its scripts are run in tests/slurm."""

import json
import os
import pathlib
import unittest

from hosts import FAKE_HOST
from tandem import PROGRAM, QUICK, TandemTest


class Emit(TandemTest):
    def run_line(self, *arguments):
        """The manifest of the run that the printed line starts."""
        line = self.tandem("emit", "mpirun", *arguments, "--", *QUICK, "--run-id", "a").stdout
        # The line has no room for what only this machine needs: both hosts are this one.
        environment = {"OMPI_MCA_plm_rsh_agent": str(FAKE_HOST),
                       "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_btl_tcp_if_include": "lo"}
        self.run_command(["timeout", "55", "bash", "-c", line], 0, environment)
        return json.loads((self.folder / "runs/a/manifest.json").read_text())

    def test_the_line_starts_ranks_here(self):
        self.assertEqual(len(self.run_line("--ranks-per-node", 3)["ranks"]), 3)

    def test_the_line_starts_unequal_ranks_on_hosts(self):
        ranks = self.run_line("--hosts", "n1:2,n2")["ranks"]
        self.assertEqual([(rank["host"], rank["local_rank"]) for rank in ranks], [("n1", 0), ("n1", 1), ("n2", 0)])

    def test_scripts_can_be_read_by_bash(self):
        for form in ("sbatch", "apptainer", "pbs", "lsf", "flux"):
            script = self.tandem("emit", form, "--nodes", 2, "--", "--data", "it's here.h5").stdout
            self.run_command(["bash", "-n", "-c", script], 0, {})

    def test_ranks_of_gpus_get_cores(self):
        def lines(*arguments):
            return [line for line in self.tandem("emit", *arguments, "--", "--data", "d.h5").stdout.splitlines() if "cpus-per-task" in line]
        self.assertEqual(lines("sbatch", "--gpus-per-node", 4)[0], "#SBATCH --cpus-per-task=8")
        self.assertIn(" --cpus-per-task=8 ", lines("sbatch", "--gpus-per-node", 4)[1])
        self.assertEqual(lines("apptainer", "--gpus-per-node", 4, "--cpus-per-rank", 4)[0], "#SBATCH --cpus-per-task=4")
        self.assertEqual(lines("sbatch"), [])
        self.assertIn(" --bind-to none ", self.tandem("emit", "mpirun", "--gpus-per-node", 4, "--", "--data", "d.h5").stdout)

    def test_a_stop_within_the_limit_of_the_job_is_accepted(self):
        for most in ("00:59:00", "01:00:00"):
            script = self.tandem("emit", "pbs", "--time", "60", "--", "--data", "d.h5", "--max-time", most).stdout
            self.assertIn(f" --max-time {most} ", script)

    def test_mistakes_are_found_at_once(self):
        for arguments, pattern in (
                ([], "form is missing"), (["slurm"], "'slurm' is not a form.*did you mean sbatch"),
                (["k8s"], "'k8s' is not a form.*did you mean kubernetes"), (["sbacth"], "did you mean sbatch"),
                (["mpirun", "--nodes", 2], "--hosts: mpirun must know the 2 hosts"),
                (["mpirun", "--hosts", "n1;touch${IFS}pwned"], r"--hosts: 'n1;touch\${IFS}pwned' is not a name"),
                (["mpirun", "--hosts", "n1,-oProxyCommand=x"], "--hosts: '-oProxyCommand=x' is not a name"),
                (["mpirun", "--hosts", "n1:x"], "--hosts: ranks of 'n1': 'x'"),
                (["mpirun", "--hosts", "n1,n2", "--nodes", 2], "--nodes: --hosts says"),
                (["mpirun", "--time", "10"], "--time is for sbatch"),
                (["sbatch", "--hosts", "n1"], "--hosts is for"),
                (["sbatch", "--image", "a.sif"], "--image is for"),
                (["sbatch", "--time", "soon"], "--time: 'soon' is not like"),
                (["sbatch", "--time", "01:00"], "--time: '01:00' is minutes and seconds to Slurm; write 01:00:00"),
                (["sbatch", "--time", "0"], "--time: '0' leaves the job no time"),
                (["sbatch", "--time", "4"], "--time: '4' leaves the job no time; give at least 5 minutes"),
                (["sbatch", "--ranks-per-node", 3, "--", "--virtual-ranks", 4], "--virtual-ranks: 4 shards cannot be dealt evenly to 3 ranks"),
                (["mpirun", "--hosts", "n1,n2,n3", "--", "--virtual-ranks", 4], "--virtual-ranks: 4 shards cannot be dealt evenly to 3 ranks"),
                (["sbatch", "--gpus-per-node", 1, "--", "--share-weights"], "--gpus-per-node asks for GPUs, and --share-weights uses none"),
                (["pbs", "--time", "0-00:00:00"], "--time: '0-00:00:00' leaves the job no time"),
                (["sbatch", "--partition", ""], "--partition is empty; leave it out"),
                (["sbatch", "--queue", ""], "--partition is empty; leave it out"),
                (["mpirun", "--hosts", ""], "--hosts is empty; leave it out"),
                (["sbatch", "--", "--help"], "--help is not an option after the word --"),
                (["sbatch", "--time", "60", "--", "--max-time", "01:00:31"], "--max-time 01:00:31 is beyond --time 60"),
                (["pbs", "--time", "10", "--", "--stop-margin", 600], "--max-time: leaves nothing after the --stop-margin of 600 seconds"),
                (["sbatch", "--gpus-per-node", 1, "--", "--device", "cpu"], "--gpus-per-node asks for GPUs, and --device cpu uses none"),
                (["sbatch", "--gpus", 2], "--gpus is not an option; did you mean --gpus-per-node"),
                (["sbatch", "--epochs", 3], "--epochs is an option of `tandem train`; give it after a --: tandem emit sbatch … -- --epochs"),
                (["--nodes", 2, "pbs", "--lr=1"], "--lr is an option of `tandem train`; .*: tandem emit pbs … -- --lr=1 …"),
                (["--lr", 1], ": tandem emit FORM … -- --lr …"),
                (["sbatch", "--no_progress"], "--no_progress is an option of `tandem train`"),
                (["sbatch", "--no-augment"], "--no-augment is not an option"),
                (["sbatch", "--", "--resume", "auto", "--resume", "a/checkpoints/step-5.safetensors"], "--resume a/checkpoints/step-5"),
                (["sbatch", "--", "--resume", "none"], "--resume none: a requeued job"),
                (["sbatch", "--gpus-per-node", 2, "--ranks-per-node", 3], "3 ranks would share 2 GPUs"),
                (["sbatch", "--", "--epohs", 3], "--epohs.*did you mean --epochs"),
                (["sbatch", "--", "--lr", "x"], "--lr: 'x'")):
            with self.subTest(arguments=arguments):
                self.assert_one_error(self.tandem("emit", *arguments, code=2), pattern)
        # The script of a short job gives the whole time as --max-time.
        self.assertIn("--max-time 300", self.tandem("emit", "pbs", "--time", "5", "--", "--stop-margin", 0).stdout)
        self.assert_one_error(self.tandem("emit", "mpirun", environment={"TANDEM_TIME": "10"}, code=2),
                              r"--time is for sbatch.* \(from the environment: TANDEM_TIME\)")


if __name__ == "__main__":
    unittest.main(verbosity=2)
