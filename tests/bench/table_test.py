#!/usr/bin/env python3
"""Tests how `make bench` finds the strongest form of a peer, alternates the sides and writes its table. Stand-ins replace tandem,
PyTorch and the peers, and answer at once."""

import errno
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import textwrap
import unittest

from forms import Forms, families_of_training, parts, strongest
from sides import Sides
from table import Processor, line_of, markers, middle, replace_table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The stand-ins log their arguments. The speed that a peer reports depends on its switches.
TANDEM = """
    import json, pathlib, sys
    words = sys.argv[1:]
    with open(pathlib.Path(__file__).parent / "log", "a") as log: print("tandem", *words, file=log)
    if "--version" in words: print("tandem 9.9")
    elif "--help" in words: print("  --grad-dtype NAME  fp32, or bf16\\n\\n  --seed N  the seed")
    else: print(json.dumps({"images_per_second": 300, "train_seconds": 10 + int(words[words.index("--seed") + 1]) if "--seed" in words else 0,
                            "test_accuracy": 0.9, "test_accuracy_tta": 0.91}))
"""
PEER = """
    import json, pathlib, sys
    words = sys.argv[1:]
    with open(pathlib.Path(__file__).parent.parent / "log", "a") as log: print(pathlib.Path(__file__).name, *words, file=log)
    if "tcmalloc" in words or "jemalloc" in words: sys.exit("not installed")
    gains = {"--compile": 20, "flat": 10, "keep": -5, "--cpp-wrapper": 7, "--fp32": -50, "--no-pin": -1, "ddp": -40, "seed": -60}
    print(json.dumps({"images_per_s": 100 + sum(gains.get(word, 0) for word in words)}))
"""
RECIPE = """
    import os, sys
    seed = int(sys.argv[sys.argv.index("--seed") + 1])
    seconds = 20 * seed * (0.5 if "--compile" in sys.argv else 1) - ("MALLOC_MMAP_THRESHOLD_" in os.environ)
    print(f"epoch 8 train_s {seconds:.1f} img/s 9 test 0.8950 tta 0.9050 loss 1.0")
"""
EPYC = "model name\t: AMD EPYC\nflags\t\t: fpu avx2\n"
ZEN4 = "model name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f avx512_bf16\n" * 2
XEON = "model name\t: Intel(R) Xeon(R) Processor\nflags\t\t: avx2 avx512f avx512_bf16 amx_tile amx_bf16\n"


def row(**changes):
    return dict(dict(name="a", what="work", unit="images/s", faster=True, mlperf=False, remark="", asked=2.0, ours=[300, 320, 310],
                     peers={"beside": [100, 160, 100]}, commands=["ours", "theirs"], processor="EPYC, AVX2"), **changes)


class Search(unittest.TestCase):
    def test_takes_the_best_choice_of_each_group_and_leaves_what_does_not_gain(self):
        worth = {("p",): 100, ("p", "--a"): 90, ("p", "--b"): 110, ("p", "--b", "--c"): 110, ("p", "--b", "N=1"): 0}
        asked = []

        def score(form):
            asked.append(form)
            return worth.get(form, 120 if form == ("N=1", "p", "--b") else 0)

        self.assertEqual(strongest({("p",): ((("--a",), ("--b",)), (("--c",),), (("N=1",),))}, score), ("N=1", "p", "--b"))
        self.assertNotIn(("p", "--a", "--c"), asked, "the search is greedy")

    def test_a_family_near_the_best_may_win_by_its_switches_and_a_far_one_is_left(self):
        worth = {("eager",): 95, ("eager", "-x"): 130, ("compiled",): 100, ("compiled", "-x"): 101, ("slow",): 80, ("slow", "-x"): 999}
        families = {family: ((("-x",),),) for family in (("eager",), ("compiled",), ("slow",))}
        self.assertEqual(strongest(families, worth.get), ("eager", "-x"))

    def test_forms_that_the_peer_refuses_never_win_and_all_refused_is_an_error(self):
        self.assertEqual(strongest({("a",): (), ("b",): ()}, {("a",): 0, ("b",): 1}.get), ("b",))
        with self.assertRaisesRegex(SystemExit, "runs in none of the forms a"):
            strongest({("a",): ()}, lambda _: 0)

    def test_a_form_is_environment_program_and_options(self):
        self.assertEqual(parts(("A_=1", "p.py", "--mode", "x")), ({"A_": "1"}, "p.py", ["--mode", "x"]))

    def test_each_form_is_tried_once_by_processor_and_digest_of_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            program, asked = pathlib.Path(folder) / "p.py", []
            program.write_text("1")

            def reached(form):
                asked.append(form)
                if "--bad" in form:
                    raise SystemExit("refused")
                return 2 if "--good" in form else 1

            def search(processor="EPYC", row_name="row"):
                forms = Forms(f"{folder}/kept.json", processor, "2.11")
                asked.clear()
                found = forms.best(row_name, {("p.py",): ((("--bad",), ("--good",)),)}, [folder], reached)
                self.assertEqual(found, ("p.py", "--good"))
                return len(asked)

            self.assertEqual(search(), 3)
            self.assertEqual(search(), 1, "kept but for the form that was refused")
            self.assertEqual(search("Xeon"), 3, "another processor")
            self.assertEqual(search(row_name="other"), 3, "another shape")
            program.write_text("2")
            self.assertEqual(search(), 3, "another program")

    def test_eager_and_compiled_have_their_switches(self):
        eager, *compiled = families_of_training("--fp32")
        self.assertEqual(eager, ("ddp_compiled.py", "--fp32"))
        self.assertEqual([family[2:] for family in compiled], [("--compile",), ("--compile", "ddp")])
        words = " ".join(word for group in families_of_training()[("ddp_compiled.py", "--compile")] for switch in group for word in switch)
        for switch in ("--exchange flat", "keep", "tcmalloc", "jemalloc", "--no-thp", "--no-pin", "--no-fused", "--slow-data", "--cpp-wrapper",
                       "max-autotune"):
            self.assertIn(switch, words)


class Table(unittest.TestCase):
    def test_the_class_of_a_processor(self):
        found = [(processor.kind, processor.name, processor.count, processor.has_bf16) for processor in map(Processor, (EPYC, ZEN4, XEON))]
        self.assertEqual(found, [("no-bf16", "AMD EPYC, AVX2", 1, False), ("avx512-bf16", "AMD EPYC, AVX512-BF16", 2, True),
                                 ("amx", "Intel(R) Xeon(R) Processor, AMX", 1, True)])

    def test_a_processor_whose_amx_is_denied_counts_as_one_without(self):
        denied = [Processor(each, denies_amx=True) for each in (XEON, ZEN4)]
        self.assertEqual([(each.kind, each.name) for each in denied],
                         [("avx512-bf16", "Intel(R) Xeon(R) Processor, AVX512-BF16 (AMX denied)"), ("avx512-bf16", "AMD EPYC, AVX512-BF16")])

    def test_denied_amx_is_refused_to_programs_that_it_starts(self):
        ask = "import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall(158, 0x1023, 18), ctypes.get_errno())"
        deny = f"import deny_amx, subprocess, sys; deny_amx.deny_amx(); subprocess.run([sys.executable, '-c', {ask!r}], check=True)"
        found = subprocess.run([sys.executable, "-B", "-c", deny], cwd=ROOT / "tests/support", capture_output=True, text=True)
        self.assertEqual(found.stdout, f"-1 {errno.EPERM}\n" if platform.machine() == "x86_64" else "", found.stderr)

    def test_ratios_are_those_of_pairs_with_median_and_range(self):
        self.assertEqual(line_of(row()), "| work | 310 images/s | 100 images/s | **3.00** (2.00 to 3.10; 3) | ≥ 2 | - | - | EPYC, AVX2 |")

    def test_less_is_better_for_seconds_and_bytes(self):
        line = line_of(row(unit="bytes", faster=False, ours=[2e8], peers={"beside": [5e8], "tuned": [6e8]}, asked=None))
        self.assertEqual(line, "| work | 200 MB | 500 MB | **2.50** (2.50 to 2.50; 1) | - | 3.00 (3.00 to 3.00; 1) | - | EPYC, AVX2 |")

    def test_times_to_accuracy_are_averaged_as_mlperf_does(self):
        self.assertEqual(middle([1, 100, 4, 3, 2]), 3)
        self.assertEqual(middle([3, 1]), 2)
        line = line_of(row(unit="s", faster=False, mlperf=True, ours=[10, 10, 20, 90, 1], peers={"beside": [20, 40, 60, 300, 1]}, remark="said"))
        # (10 + 10 + 20) / 3 and (20 + 40 + 60) / 3
        self.assertEqual(line, "| work (said) | 13.3 s | 40 s | **3.00** (1.00 to 4.00; 5) | ≥ 2 | - | - | EPYC, AVX2 |")

    def test_a_row_without_a_peer_has_a_limit(self):
        self.assertEqual(line_of(row(unit="s", peers={}, ours=[1], asked=1.0)), "| work | 1 s | - (1 runs) | - | ≤ 1 s | - | - | EPYC, AVX2 |")

    def test_only_the_table_of_the_processors_class_is_replaced(self):
        text = "".join(f"{begin}\nold {kind}\n{end}\n" for kind in ("amx", "avx512-bf16", "no-bf16") for begin, end in [markers(kind)])
        found = replace_table(text, "avx512-bf16", "new")
        self.assertEqual(found, text.replace("old avx512-bf16", "new"))
        with self.assertRaisesRegex(SystemExit, "expected one line"):
            replace_table("", "amx", "new")

    def test_the_document_has_a_place_for_each_class(self):
        text = (ROOT / "docs/performance.md").read_text()
        for kind in ("amx", "avx512-bf16", "no-bf16"):
            self.assertIn("new", replace_table(text, kind, "new"))


class Program(unittest.TestCase):
    """performance.py itself."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("peers", "bin", "kept"):
            (self.folder / name).mkdir()
        self.write("tandem", f"#!{sys.executable} -ISB" + textwrap.dedent(TANDEM))
        self.write("bin/mpirun", '#!/bin/sh\nshift 2\nexec "$@"\n')
        self.write("bin/torchrun", f'#!/bin/sh\nshift 2\nexec {sys.executable} -ISB "$@"\n')
        self.write("bin/python", "#!/bin/sh\necho 2.11.0\n")
        for name in ("ddp_cifar10.py", "ddp_compiled.py"):
            self.write(f"peers/{name}", textwrap.dedent(PEER))
        self.write("peers/fast_cifar10.py", textwrap.dedent(RECIPE))
        self.kind = Processor(pathlib.Path("/proc/cpuinfo").read_text()).kind
        self.document = self.folder / "document.md"
        self.document.write_text("".join(f"{begin}\nold\n{end}\n" for kind in ("amx", "avx512-bf16", "no-bf16") for begin, end in [markers(kind)]))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def bench(self, *words, code=0):
        (self.folder / "log").write_text("")
        command = [sys.executable, "-B", HERE / "performance.py", "--tandem", self.folder / "tandem", "--python", self.folder / "bin/python",
                   "--peers", self.folder / "peers", "--data", self.folder, "--kept", self.folder / "kept", *words]
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def steps(self):
        """Commands that train."""
        lines = (self.folder / "log").read_text().splitlines()
        return [line for line in lines if line.startswith("ddp") or "--max-steps" in line]

    def test_a_row_is_measured_against_the_strongest_form_in_pairs_that_alternate(self):
        self.bench("--only", "resnet9", "--document", self.document)
        steps = self.steps()
        best = [line for line in steps if "--compile --cpp-wrapper --exchange flat" in line and "--no" not in line and "alloc" not in line]
        names = ["tandem" if line.startswith("tandem") else "best" if line in best else "tutorial" if "seed" in line else "tuned" for line in steps]
        there, back = ["tandem", "best", "tuned", "tutorial"], ["tutorial", "tuned", "best", "tandem"]
        self.assertEqual(names[-20:], [*there, *back, *there, *back, *there])
        kept = json.loads((self.folder / "kept/bench.json").read_text())["rows"][0]
        floor = -50 if self.kind == "no-bf16" else 0  # the precision of both sides is fp32 there
        self.assertEqual(kept["peers"]["beside"], [137 + floor] * 5)
        self.assertEqual(kept["ours"], [300] * 5)
        self.assertIn("PEERS/ddp_compiled.py", kept["commands"][1])
        text = self.document.read_text()
        self.assertEqual(text.count("\nold\n"), 2)
        self.assertIn(f"**{300 / (137 + floor):.2f}**", text.split(markers(self.kind)[0])[1].split(markers(self.kind)[1])[0])
        self.bench("--only", "resnet9")
        self.assertEqual(len(self.steps()), 22, "the search is kept but for two forms that the peer refuses")

    def test_rows_of_earlier_runs_stay_in_the_table(self):
        self.bench("--only", "pack", "--document", self.document)
        self.bench("--only", "start", "--document", self.document)
        names = [row["name"] for row in json.loads((self.folder / "kept/bench.json").read_text())["rows"]]
        self.assertEqual(names[-2:], ["pack", "start"])
        self.assertRegex(self.document.read_text(), r"(?s)\| simple, .*the whole command.*\| pack ")

    def test_the_recipe_is_measured_with_seeds_against_its_strongest_form(self):
        self.bench("--only", "cifar10-fast")
        found = json.loads((self.folder / "kept/bench.json").read_text())["rows"][0]
        self.assertEqual(found["ours"], [11, 12, 13])
        self.assertEqual(found["peers"]["beside"], [9, 19, 29])  # compiled, and with its malloc settings
        self.assertIn("MALLOC_MMAP_THRESHOLD_=4294967296", found["commands"][1])
        self.assertIn("accuracy of tandem 0.9000, 0.9100 with test-time augmentation; accuracy of the peer 0.8950, ", found["remark"])

    def test_wrong_words_are_refused(self):
        self.assertIn("rows are resnet9, resnet18, simple, ", self.bench("--only", "resnet", code=1).stderr)
        self.assertNotIn("powersgd", self.bench("--only", "resnet", code=1).stderr, "a row that tandem cannot run")
        self.assertIn("at least 5", self.bench("--runs", "3", code=2).stderr)


class Commands(unittest.TestCase):
    def test_a_form_that_hangs_is_ended(self):
        sides = object.__new__(Sides)
        sides.commands, sides.most_seconds, sides.said = [], 0.2, str
        with self.assertRaisesRegex(SystemExit, "ended with -15"):
            sides.run(["sleep", "20"])


class Make(unittest.TestCase):
    def test_bench_needs_the_folder_of_the_peers(self):
        for words, said in (((), "bench: PEERS is not set; fix: make -f Makefile.hpc bench PEERS=FOLDER"),
                            (("PEERS=/nowhere",), "bench: PEERS=/nowhere: the folder holds no ddp_cifar10.py")):
            environment = {name: value for name, value in os.environ.items() if name not in ("PEERS", "MAKEFLAGS", "MFLAGS")}
            done = subprocess.run(["make", "-f", "Makefile.hpc", "bench", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.startswith(said), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
