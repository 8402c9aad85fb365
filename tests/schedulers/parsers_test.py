#!/usr/bin/env python3
"""What `tandem emit` prints, read by software of the batch systems: Flux's own parser, and the schemas of Kubernetes for the
pods of an MPIJob. `make -f Makefile.hpc schedulers-test` installs both. PBS and LSF have no parser outside their own
installation; tests/e2e/batch_systems_test.py runs their scripts with stand-ins."""

import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

import flux_batch
import kubernetes_validate
import yaml

PROGRAM = os.environ["TANDEM_TEST_PROGRAM"]
KUBERNETES = "1.31"


def emit(*words):
    return subprocess.run([PROGRAM, "emit", *words, "--", "--data", "it's here.h5"], check=True, capture_output=True, text=True).stdout


class Flux(unittest.TestCase):
    def job(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "job.flux"
            path.write_text(emit("flux", *options))
            return flux_batch.job_of(path), path.read_text()

    def test_resources_are_those_that_are_asked_for(self):
        job, _ = self.job("--nodes", "2", "--gpus-per-node", "4", "--cpus-per-rank", "6", "--time", "01:30:00", "--queue", "long",
                          "--account", "physics", "--output", "out-{{id}}")
        node, = job["resources"]
        slot, = node["with"]
        self.assertEqual([node["type"], node["count"], slot["count"]], ["node", 2, 4])
        self.assertEqual({each["type"]: each["count"] for each in slot["with"]}, {"core": 6, "gpu": 1})
        system = job["attributes"]["system"]
        self.assertEqual([system["duration"], system["queue"], system["bank"]], [5400, "long", "physics"])
        self.assertEqual(system["shell"]["options"]["output"]["stdout"]["path"], "out-{{id}}")

    def test_flux_run_takes_the_line(self):
        for mpi, pmi in (("openmpi4", "pmi=pmix"), ("mpich", "pmi=simple")):
            _, script = self.job("--nodes", "2", "--ranks-per-node", "3", "--mpi", mpi)
            line, = [line for line in script.splitlines() if line.startswith("flux run")]
            options = flux_batch.run_of(shlex.split(line.replace(" || code=$?", ""))[2:])
            self.assertEqual([options.nodes, options.ntasks, options.setopt], ["2", "6", [pmi]])
            self.assertEqual(options.command[:4], ["tandem", "train", "--data", "it's here.h5"])

    def test_a_wrong_line_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "job.flux"
            path.write_text(emit("flux").replace("--nslots", "--slots"))
            with self.assertRaises(SystemExit):
                flux_batch.job_of(path)


class Kubernetes(unittest.TestCase):
    def pods(self, change=lambda spec: None):
        job = yaml.safe_load(emit("kubernetes", "--nodes", "2", "--gpus-per-node", "2", "--memory-per-node", "16G", "--image", "tandem:cuda",
                                  "--claim", "shared", "--time", "60"))
        for name, replica in job["spec"]["mpiReplicaSpecs"].items():
            change(replica["template"]["spec"])
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name.lower()}, "spec": replica["template"]["spec"]}

    def test_pods_fit_the_schema(self):
        for pod in self.pods():
            kubernetes_validate.validate(pod, KUBERNETES, strict=True)

    def test_a_wrong_pod_is_refused(self):
        for pod in self.pods(lambda spec: spec["containers"][0].update(workdir="/")):
            with self.assertRaises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate(pod, KUBERNETES, strict=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
