#!/usr/bin/env python3
"""Runs the fuzzers of a fuzz build for a while each, two at a time, and prints a line for each reader.

Inputs that reached something new are kept in BUILD/corpus for the next run; an input that is a finding is kept in
BUILD/findings, and belongs into tests/fuzz/regressions once it is mended.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import make_seeds

SOURCE = pathlib.Path(__file__).resolve().parent
# The longest input that is tried. What a reader does with a length shows in a short one too; a short one is fast.
MOST_BYTES = {"idx": 1024, "cifar10": 1024, "tar": 4096, "safetensors": 4096, "config": 1024, "picture": 2048, "npz": 2048, "packed": 8192, "run": 8192}
AT_ONCE = 2
MEGABYTES = 1024
SECONDS_AN_INPUT = 5


def fuzz(reader, build, seconds):
    """Returns whether nothing was found, and the line about it."""
    corpus, findings = (build / name / reader for name in ("corpus", "findings"))
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    log_path = build / f"fuzz_{reader}.log"
    command = [build / "tests" / f"{reader}_fuzz", f"-max_total_time={seconds}", f"-max_len={MOST_BYTES[reader]}",
               f"-timeout={SECONDS_AN_INPUT}", f"-rss_limit_mb={MEGABYTES}", f"-artifact_prefix={findings}/",
               f"-dict={SOURCE / 'dictionaries' / reader}.txt", "-print_final_stats=1",
               corpus, build / "seeds" / reader, *SOURCE.glob(f"regressions/{reader}")]
    # Freed memory is kept for a while to catch its use; a little of it, because it counts as memory of the reader.
    environment = dict(os.environ, OMP_NUM_THREADS="1",
                       ASAN_OPTIONS="quarantine_size_mb=32", UBSAN_OPTIONS="print_stacktrace=1",
                       LSAN_OPTIONS=f"suppressions={SOURCE.parent}/support/lsan_suppressions.txt:print_suppressions=0")
    with tempfile.TemporaryDirectory() as folder, open(log_path, "w") as log:
        environment["TMPDIR"] = folder
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment).returncode
    text = log_path.read_text(errors="replace")
    done = re.search(r"^Done (\d+) runs in (\d+) second", text, re.MULTILINE)
    if code == 0 and done and int(done[1]) > 0:
        return True, f"fuzz: {reader} {int(done[1]):,} inputs in {done[2]} s, no finding"
    found = re.search(r"Test unit written to (\S+)", text)
    cause = re.search(r"^.*(ERROR: \w+:|runtime error:|broken promise:|terminate called|what\(\):).*$", text, re.MULTILINE)
    return False, (f"fuzz: {reader} FINDING {found[1] if found else '(no input was written)'}: "
                   f"{cause[0] if cause else f'exit code {code}'}; see {log_path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="the folder of the fuzz build")
    parser.add_argument("--seconds", type=int, default=30, help="for each reader")
    parser.add_argument("--reader", action="append", choices=list(MOST_BYTES), help="only this one")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    make_seeds.write(build / "seeds")
    passed = True
    with concurrent.futures.ThreadPoolExecutor(min(AT_ONCE, os.cpu_count())) as pool:
        runs = [pool.submit(fuzz, reader, build, arguments.seconds) for reader in arguments.reader or MOST_BYTES]
        for run in concurrent.futures.as_completed(runs):
            nothing_found, line = run.result()
            print(line, flush=True)
            passed = passed and nothing_found
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
