"""Builds a mutated tree and runs its tests, each as ctest would, stopping at the first failure."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

SLOWER = 3  # times as slow as without a mutant counts as a hang


class Checks:
    def __init__(self, tree, build):
        self.tree, self.build = tree.resolve(), build.resolve()
        self.seconds = {}
        if not (self.build / "build.ninja").exists():
            subprocess.run(["cmake", "--preset", "dev", "-S", ".", "-B", self.build, "-DCMAKE_CXX_FLAGS_DEBUG=-O1"], cwd=self.tree,
                           check=True, stdout=subprocess.DEVNULL)

    def make(self, *targets):
        done = subprocess.run(["ninja", "-C", self.build, *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.words = done.stdout
        return done.returncode == 0

    def prove(self, names):
        """Checks that the tests pass without a mutant, and measures how long they take."""
        if not self.make("fault_points", "script_files", *{self.program_of(name) for name in names}):
            sys.exit(f"the unchanged tree cannot be built:\n{self.words[-4000:]}")
        shown = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True).stdout
        self.tests = {test["name"]: test for test in json.loads(shown)["tests"]}
        if any(self.program_of(name) == "tandem" for name in names):
            subprocess.run(["ctest", "--test-dir", self.build, "-L", "e2e", "-R", "e2e.(pack_data|script_files)"], check=True,
                           stdout=subprocess.DEVNULL)
        for name in names:
            began = time.monotonic()
            if not self.passes(name, 600):
                sys.exit(f"{name} fails without a mutant")
            self.seconds[name] = time.monotonic() - began
            print(f"{self.seconds[name]:6.1f} s  {name}", flush=True)

    def killer(self, path, names):
        """The first test that fails, or None; `not compiled` if the mutant does not compile."""
        module = path.parts[1]
        if not self.make(f"tandem_{module}"):
            return "not compiled"
        for name in names:
            if not self.make(self.program_of(name)):
                return "not compiled"
            if not self.passes(name, SLOWER * self.seconds[name] + 20):
                return name
        return None

    def program_of(self, name):
        """The target whose program a test runs."""
        label, test = name.split(":")[0].split(".")[:2]
        return test if label in ("unit", "mpi") else "tandem"

    def passes(self, name, seconds):
        known, _, cases = name.partition(":")
        names = [known] if known in self.tests else []
        if not names:  # each case is an entry of its own: run the program
            program = next(self.tests[each]["command"][0] for each in self.tests
                           if self.tests[each].get("command", [""])[0].endswith("/" + known.split(".")[1]))
            command, properties = [program], next(test["properties"] for test in self.tests.values()
                                                  if test.get("command", [""])[0] == program)
        else:
            command, properties = list(self.tests[known]["command"]), self.tests[known]["properties"]
        command.append("--failfast" if command[-1].endswith(".py") else "--gtest_fail_fast")
        if cases:
            command.append(f"--gtest_filter={cases}")
        given = next((each["value"] for each in properties if each["name"] == "ENVIRONMENT"), [])
        environment = {**os.environ, **dict(each.split("=", 1) for each in given)}
        job = subprocess.Popen(command, cwd=self.build, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
        try:
            return job.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            end_session(job.pid)
            job.wait()


def end_session(session):
    """Kills all processes of the session. Their children in other sessions end with their launcher."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            try:
                os.kill(int(stat.parent.name), signal.SIGKILL)
            except ProcessLookupError:
                pass
