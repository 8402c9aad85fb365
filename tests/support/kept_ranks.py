"""Runs commands on ranks that stay alive between them (tests/support/kept_ranks.cpp). A command takes a tenth of the time
that it takes with a start of MPI."""

import atexit
import json
import os
import pathlib
import select
import subprocess
import tempfile

SECONDS = 55  # A command that takes longer hangs.


class KeptRanks:
    """Its ranks end when their pipes are closed."""

    def __init__(self, ranks, mpirun):
        self.folder = tempfile.TemporaryDirectory(prefix="tandem-ranks-")
        path = pathlib.Path(self.folder.name)
        pipes = [path / f"rank-{rank}" for rank in range(ranks)]
        for pipe in pipes:
            os.mkfifo(pipe)
        self.files = [path / "output", path / "errors"]
        self.job = subprocess.Popen([mpirun[-1], "-n", str(ranks), os.environ["TANDEM_TEST_KEPT_RANKS"], path / "rank-"], text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # Opened for reading too, so that open() does not wait for a rank.
        self.requests = [os.fdopen(os.open(pipe, os.O_RDWR), "w") for pipe in pipes]

    def run(self, arguments, folder):
        for file in self.files:
            file.write_text("")
        request = {"folder": str(folder), "output": str(self.files[0]), "errors": str(self.files[1]), "arguments": arguments}
        for rank in self.requests:
            print(json.dumps(request), file=rank, flush=True)
        if not select.select([self.job.stdout], [], [], SECONDS)[0]:
            self.job.kill()
        code = self.job.stdout.readline()
        launcher = "" if code else self.job.communicate()[1]
        output, errors = (file.read_text() for file in self.files)
        return subprocess.CompletedProcess(arguments, int(code) if code else self.job.returncode, output, errors + launcher)

    def is_alive(self):
        return self.job.poll() is None

    def end(self):
        for rank in self.requests:
            rank.close()
        self.job.communicate()
        self.folder.cleanup()


_jobs = {}  # by number of ranks


@atexit.register
def _end_all():
    for job in _jobs.values():
        job.end()


def run_kept(ranks, arguments, folder, mpirun):
    """Like subprocess.run() of the program under mpirun, but without mpirun's own time limit. If a command ended the job, the
    next call starts a new job."""
    job = _jobs.get(ranks)
    if job is None or not job.is_alive():
        if job:
            job.end()
        job = _jobs[ranks] = KeptRanks(ranks, mpirun)
    return job.run(arguments, folder)
