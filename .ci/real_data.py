#!/usr/bin/env python3
"""Packs, trains and evaluates on the real CIFAR-10 and MNIST with the program in build/bin, and holds each figure against
its limit.

    real_data.py DATA PYTHON [--smoke]

DATA holds cifar-10-batches-bin/, cifar-10-binary.tar.gz and mnist/ as their publishers distribute them; PYTHON is one
with torch, h5py and safetensors. --smoke packs all, but trains one network for 20 steps, which takes half a minute.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

TANDEM = "build/bin/tandem"
WORK = pathlib.Path("build/real-data-runs")
# Two ranks on any machine, sharing its cores.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "2"]

# Of the others a whole test set takes minutes; tests/formats compares them on the built-in one.
COMPARED = ("mlp", "lenet", "simple")

failures = []


def require(what, value, holds, limit):
    print(f"{'ok  ' if holds else 'FAIL'}  {what}: {value} (asked: {limit})", flush=True)
    if not holds:
        failures.append(what)


def run(*command):
    """Standard output; the program's other words go to the log."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def pack(source, output, seconds_limit, megabytes_limit):
    start = time.monotonic()
    process = subprocess.Popen([TANDEM, "pack", "--input", source, "--output", output])
    _, status, usage = os.wait4(process.pid, 0)
    seconds, megabytes = time.monotonic() - start, usage.ru_maxrss * 1024 / 1e6
    if status != 0:
        sys.exit(f"pack {source}: ended with {os.waitstatus_to_exitcode(status)}")
    # Printed, not required: a busy machine must not turn the checks red.
    print(f"      pack {source.name}: {seconds:.2f} s (asked on a quiet machine: <= {seconds_limit})", flush=True)
    require(f"pack {source.name} MB", f"{megabytes:.0f}", megabytes <= megabytes_limit, f"<= {megabytes_limit}")
    run(TANDEM, "verify", output)
    return output


def train(run_id, *options):
    """The run's summary."""
    output = run(*MPIRUN, TANDEM, "train", "--runs-dir", WORK, "--run-id", run_id, "--quiet", "--json", *options)
    summary = json.loads(output.splitlines()[-1])
    print(f"      {run_id}: {summary['images_per_second']:.0f} images/s, {summary['train_seconds']:.1f} s, "
          f"test accuracy {summary['test_accuracy']}", flush=True)
    return summary


def count_in_python(python, data, run_id, model, weights):
    path = WORK / run_id / "model" / weights
    words = run(python, "tests/formats/count_correct.py", data, path, model).split()
    return int(words[0])


def compare_with_python(python, data, run_id, model, *weights):
    """The program's evaluation, whose number of correct answers python/tandem_models.py must give, exactly."""
    evaluation = json.loads(run(*MPIRUN, TANDEM, "eval", "--data", data, "--checkpoint", WORK / run_id, "--json")
                            .splitlines()[-1])
    correct = evaluation["correct"]
    for name in weights:
        counted = count_in_python(python, data, run_id, model, name)
        require(f"{run_id} correct answers of {name} in PyTorch", counted, counted == correct, f"= {correct}")
    return evaluation


def reach(python, data, recipe, model, weights, least):
    summary = train(recipe, "--data", data, "--recipe", recipe)
    accuracy = summary["test_accuracy"]
    require(f"{recipe} test accuracy", accuracy, accuracy >= least, f">= {least}")
    evaluation = compare_with_python(python, data, recipe, model, weights, "model.safetensors")
    require(f"{recipe} eval", evaluation["test_accuracy"], evaluation["test_accuracy"] == accuracy, f"= {accuracy}")


def run_recipe_in_bf16(data):
    """The recipe whose networks are too slow to train here: a few of its steps, in the precision that it is meant for."""
    summary = train("cifar10-resnet18", "--data", data, "--recipe", "cifar10-resnet18", "--precision", "bf16",
                    "--batch-size", "16", "--max-steps", "20", "--eval-every", "0")
    require("cifar10-resnet18 steps in bf16", summary["steps"], summary["steps"] == 20, "= 20")
    loss = summary["train_loss"]
    # ln 10 = 2.30 is guessing; the first steps of its warm-up stay near it.
    require("cifar10-resnet18 training loss in bf16", f"{loss:.3f}", loss < 3, "< 3")


def main():
    source, python = pathlib.Path(sys.argv[1]), sys.argv[2]
    smoke = sys.argv[3:] == ["--smoke"]
    if sys.argv[3:] and not smoke:
        sys.exit(__doc__)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    cifar = pack(source / "cifar-10-batches-bin", WORK / "cifar10.h5", 2, 300)
    packed = pack(source / "cifar-10-binary.tar.gz", WORK / "cifar10-tar.h5", 5, 300)
    mnist = pack(source / "mnist", WORK / "mnist.h5", 5, 300)
    # The same images whatever they came from; only source_sha256 may differ.
    same = subprocess.run(["h5diff", cifar, packed, "/train"]).returncode + \
        subprocess.run(["h5diff", cifar, packed, "/test"]).returncode
    require("CIFAR-10 from the folder and from the archive", "differ" if same else "equal", same == 0, "equal")

    for model in ["lenet"] if smoke else ["mlp", "lenet", "simple", "resnet9", "resnet18"]:
        for name, data in (("cifar10", cifar), ("mnist", mnist)):
            summary = train(f"{model}-{name}", "--data", data, "--model", model, "--batch-size", "16", "--max-steps", "20",
                            "--lr", "0.01", "--eval-every", "0")
            require(f"{model} on {name} steps", summary["steps"], summary["steps"] == 20, "= 20")
            if model in COMPARED:
                compare_with_python(python, data, f"{model}-{name}", model, "model.safetensors")
    if not smoke:
        run_recipe_in_bf16(cifar)
        reach(python, mnist, "mnist-lenet", "lenet", "mnist_net.pth", 0.990)
        reach(python, cifar, "cifar10-simple", "simple", "cifar_net.pth", 0.67)
    if failures:
        sys.exit("real data: failed: " + "; ".join(failures))


if __name__ == "__main__":
    main()
