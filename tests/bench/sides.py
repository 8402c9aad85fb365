"""The commands of the rows of performance.py: the same work by tandem and by a PyTorch program. A program that reports its speed or
time is measured by that, others by the clock. Unless noted, each side has two ranks of one thread. forms.py explains forms."""

import contextlib
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import time
import uuid

from forms import find_program, parts

WARM_UP = 5  # steps that neither side counts; tandem leaves them out of runs of ten steps and more
LEAST_STEPS = 5
MARK = "TANDEM_BENCH_MARK"
MOST_SECONDS = 3600  # limit of a command; a whole recipe takes long
TRIAL_SECONDS = 600  # the same during a search, because some forms hang, such as DDP's PowerSGD over gloo with two buckets
# The evaluation of PyTorch as tuned as its training: channels-last, whole batches. The first batch, which compiles, is not counted.
EVALUATION = """
import json, sys, time, torch, torch.distributed as dist
sys.path.insert(0, sys.argv[1])
from ddp_cifar10 import MODELS, load, MEAN, STD
dist.init_process_group('gloo'); rank, world = dist.get_rank(), dist.get_world_size(); torch.set_num_threads(1)
net = MODELS['resnet18']().to(memory_format=torch.channels_last).eval(); x, y = load(sys.argv[2], False)
if '--compile' in sys.argv: net = torch.compile(net, dynamic=False)
with torch.no_grad(), torch.autocast('cpu', torch.bfloat16, enabled='--fp32' not in sys.argv):
    net(torch.zeros(500, 3, 32, 32).contiguous(memory_format=torch.channels_last))
    dist.barrier(); begin = time.time(); right = torch.zeros(1)
    for k in range(rank * 500, len(y), 500 * world):
        b = ((x[k:k + 500].float() / 255 - MEAN) / STD).contiguous(memory_format=torch.channels_last)
        right += (net(b).argmax(1) == y[k:k + 500]).sum()
dist.all_reduce(right)
if rank == 0: print(json.dumps({'seconds': time.time() - begin}))
dist.barrier(); dist.destroy_process_group()
"""


def last_json(text):
    return json.loads(text.strip().splitlines()[-1])


class Sides:
    def __init__(self, options, folder):
        self.tandem, self.data = options.tandem, options.data
        self.peers, self.python = pathlib.Path(options.peers), options.python
        self.torchrun = pathlib.Path(options.python).parent / "torchrun"
        self.folder, self.runs = pathlib.Path(folder), 0
        self.commands = []  # what was run
        self.most_seconds = MOST_SECONDS
        self.programs = (self.peers, self.folder)
        self.sent = {}  # bytes that the first of two hosts sent in all
        (self.folder / "evaluation.py").write_text(EVALUATION)
        self.packed = self.folder / "cifar10.h5"
        self.our_packing(self.packed)

    def said(self, command):
        """A command as one would write it, without the folders of this machine."""
        text = shlex.join(str(word) for word in command)
        for folder, name in ((self.folder, "FOLDER"), (self.peers, "PEERS"), (self.data, "DATA"), (self.tandem, "tandem"),
                             (f"{self.torchrun.parent}/", ""), (f"{pathlib.Path(__file__).resolve().parents[2]}/", "")):
            text = text.replace(str(folder), name)
        return text

    def run(self, command, environment={}):
        """Standard output; ends the program where the command fails."""
        words = [str(word) for word in command]
        self.commands.append(self.said([*(f"{name}={value}" for name, value in environment.items()), *words]))
        job = subprocess.Popen(words, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            stdout, stderr = job.communicate(timeout=self.most_seconds)
        except subprocess.TimeoutExpired:
            job.terminate()  # torchrun then ends its ranks
            stdout, stderr = job.communicate()
        if job.returncode != 0:
            raise SystemExit(f"{' '.join(words)}\nended with {job.returncode}\n{stdout}\n{stderr}")
        return stdout

    def new_run(self):
        self.runs += 1
        return ["--runs-dir", self.folder / "runs", "--run-id", str(self.runs), "--quiet", "--json"]

    def words_of(self, precision):
        """Options of tandem, and of a peer."""
        return (("--precision", "bf16"), ()) if precision == "bf16" else ((), ("--fp32",))

    def torchrun_words(self, form, *more, launcher=("--nproc-per-node", "2")):
        """The command, and its environment."""
        environment, program, options = parts(form)
        return [self.torchrun, *launcher, find_program(self.programs, program), *more, *options], environment

    # Training steps, images/s.

    def training(self, model, batch, steps, *more):
        return ["train", "--data", self.packed, "--model", model, "--batch-size", batch, "--threads", "1", "--augment", "standard", "--nesterov",
                "--weight-decay", "5e-4", "--lr", "0.1", "--max-steps", steps + WARM_UP, "--eval-every", "0",
                "--checkpoint-every", "0", *self.new_run(), *more]

    def our_rate(self, model, batch, steps, *more, launcher=("mpirun", "-np", "2")):
        assert steps >= LEAST_STEPS, "of fewer steps tandem counts the first too"
        return last_json(self.run([*launcher, self.tandem, *self.training(model, batch, steps, *more)]))["images_per_second"]

    def their_words(self, model, batch, steps):
        return ["--data", self.data, "--model", model, "--batch", batch, "--steps", steps]

    def their_rate(self, form, model, batch, steps):
        return last_json(self.run(*self.torchrun_words(form, *self.their_words(model, batch, steps))))["images_per_s"]

    def rates_alone(self, model, batch, steps, *more):
        """The sum of two runs of one rank, each pinned to a core of its own, at the same time."""
        commands = [["taskset", "-c", core, self.tandem, *self.training(model, batch, steps, *more)] for core in (0, 1)]
        self.commands.append(" & ".join(self.said(command) for command in commands))
        jobs = [subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) for command in commands]
        texts = [job.communicate()[0] for job in jobs]
        if any(job.returncode for job in jobs):
            raise SystemExit(f"{self.commands[-1]}\nended with {[job.returncode for job in jobs]}")
        return sum(last_json(text)["images_per_second"] for text in texts)

    # The fastest recipe, seconds of steps.

    def our_recipe(self, seed, *more):
        """The summary, with test_accuracy and test_accuracy_tta."""
        return last_json(self.run(["mpirun", "-np", "2", self.tandem, "train", "--data", self.packed, "--recipe", "cifar10-fast",
                              "--seed", seed, "--checkpoint-every", "0", *self.new_run(), *(more or ("--precision", "fp32"))]))

    def their_recipe(self, form, seed, *more):
        text = self.run(*self.torchrun_words(form, "--data", self.data, "--threads", "1", "--seed", seed, *more))
        found = re.findall(r"train_s ([\d.]+) .* test ([\d.]+) tta ([\d.]+)", text)[-1]
        return {"train_seconds": float(found[0]), "test_accuracy": float(found[1]), "test_accuracy_tta": float(found[2])}

    # Whole commands, seconds by the clock.

    def seconds_of(self, command, environment={}):
        begin = time.monotonic()
        self.run(command, environment)
        return time.monotonic() - begin

    def our_start(self):
        words = self.training("simple", 128, 1 - WARM_UP)
        return self.seconds_of(["mpirun", "-np", "2", self.tandem, *words])

    def their_start(self, form):
        # An epoch is 195 steps of 128 images on each of two ranks, so this is one step.
        return self.seconds_of(*self.torchrun_words(form, *self.their_words("simple", 128, 0), "--epochs", "0.0052"))

    def our_packing(self, output):
        output.unlink(missing_ok=True)
        return self.seconds_of([self.tandem, "pack", "--input", pathlib.Path(self.data) / "cifar-10-batches-bin", "--output", output])

    # Evaluation of 10,000 images, seconds.

    def our_evaluation(self, *more):
        model = self.folder / "runs/resnet18/model/model.safetensors"
        if not model.exists():
            words = self.training("resnet18", 8, 1 - WARM_UP)
            words[words.index("--run-id") + 1] = "resnet18"
            self.run([self.tandem, *words])
        return last_json(self.run(["mpirun", "-np", "2", self.tandem, "eval", "--data", self.packed, "--checkpoint", model, "--json",
                              *more]))["seconds"]

    def their_evaluation(self, form):
        return last_json(self.run(*self.torchrun_words(form, self.peers, self.data)))["seconds"]

    # Memory of the second rank, bytes.

    def peak_of_second_rank(self, command, environment={}):
        """The most of its proportional set size, looked at ten times a second while both ranks run. Pages that they share, such as
        those of libtorch, count in full to the second one as soon as the first has ended."""
        mark = uuid.uuid4().hex
        self.commands.append(self.said([*(f"{name}={value}" for name, value in environment.items()), *command]))
        job = subprocess.Popen([str(word) for word in command], env={**os.environ, **environment, MARK: mark}, stdout=subprocess.DEVNULL)
        most, ranks, end = 0, {}, time.monotonic() + self.most_seconds
        while job.poll() is None:
            time.sleep(0.1)
            if time.monotonic() > end:
                job.terminate()
                end = math.inf
            ranks = ranks if len(ranks) == 2 else find_ranks(mark)
            try:
                text = (ranks[1] / "smaps_rollup").read_text()
                if not (ranks[0] / "maps").read_text():
                    continue
            except (KeyError, OSError):  # one of them has not started yet, or has just ended
                continue
            most = max([most, *(1024 * int(size) for size in re.findall(r"(?m)^Pss: +(\d+) kB", text))])
        if job.returncode != 0 or most == 0:
            raise SystemExit(f"{command} ended with {job.returncode}, its second rank had {most} bytes")
        return most

    def our_memory(self, *more):
        return self.peak_of_second_rank(["mpirun", "-np", "2", self.tandem, *self.training("resnet9", 128, 4, *more)])

    def their_memory(self, form):
        return self.peak_of_second_rank(*self.torchrun_words(form, *self.their_words("resnet9", 128, 4)))

    # Two hosts, images/s.

    def has_gradients(self, name):
        """Whether tandem train has this --grad-dtype."""
        text = subprocess.run([self.tandem, "train", "--help"], capture_output=True, text=True, check=True).stdout
        return name in re.search(r"--grad-dtype(.*?)\n\s*(--|\n)", text, re.DOTALL)[1]

    @contextlib.contextmanager
    def counted_bytes(self, side, network):
        before = network.hosts["n1"].bytes_sent()
        yield
        self.sent[side] = network.hosts["n1"].bytes_sent() - before

    def said_of_bytes(self):
        return "the first host sent " + ", ".join(f"{sent / 1e6:,.0f} MB by {side}" for side, sent in self.sent.items())

    def our_rate_on(self, network, *more):
        buckets = () if "powersgd" in more else ("--bucket-mb", "1")
        words = self.training("resnet9", 32, 10, *buckets, *more)
        # Both hosts are this machine, and Open MPI would bind the one rank of each to its first core.
        settings = {"OMPI_MCA_hwloc_base_binding_policy": "none"}
        with self.counted_bytes("tandem", network):
            return last_json(self.run(network.mpirun({"n1": 1, "n2": 1}, self.tandem, *words, keepalive=30), settings))["images_per_second"]

    def their_rate_on(self, network, form):
        def words(rank):
            place = ("--nnodes", "2", "--nproc-per-node", "1", "--node-rank", rank, "--master-addr", "10.0.0.1", "--master-port", "29400")
            command, environment = self.torchrun_words(form, *self.their_words("resnet9", 32, 10), launcher=place)
            settings = {"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1", **environment}
            return network.hosts[f"n{rank + 1}"].enter("env", *(f"{name}={value}" for name, value in settings.items()), *command)
        with self.counted_bytes("the peer", network):
            second = subprocess.Popen([str(word) for word in words(1)], stdout=subprocess.DEVNULL)
            try:
                return last_json(self.run(words(0)))["images_per_s"]
            finally:
                network.kill_processes()
                second.wait()


def find_ranks(mark):
    """The folders of the two ranks in /proc, not those of processes that they have started."""
    ranks = {}
    for folder in sorted(pathlib.Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # of another user, or it has ended
            continue
        if f"{MARK}={mark}".encode() in variables:
            for rank in (0, 1):
                if {f"OMPI_COMM_WORLD_RANK={rank}".encode(), f"RANK={rank}".encode()} & set(variables):
                    ranks.setdefault(rank, folder)
    return ranks
