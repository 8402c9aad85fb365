#!/usr/bin/env python3
"""Exports a run to Comet, Weights & Biases or MLflow, while it trains or afterwards, without a network:

    to_tracker.py RUN --to comet|wandb|mlflow [--follow] [--project NAME] [--every SECONDS]

RUN is a run folder. The tracker gets one experiment for the job (the lines of metrics.jsonl) and one for each rank
(ranks/*.jsonl), grouped by the run id. RUN/tracker-NAME.json holds the last exported step of each metric, so a repeated
export, also of a resumed run, sends each step of a metric once. --follow exports until the run ends.
MLflow writes to MLFLOW_TRACKING_URI, wandb below WANDB_DIR (default RUN), Comet into COMET_OFFLINE_DIRECTORY (RUN/comet).
Exit codes: 2 usage, 65 damaged file, 66 missing file, 69 missing package, 75 another export of the run is at work.
"""

import argparse
import configparser
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import math
import os
import pathlib
import shlex
import signal
import sys
import time

BEAT_SECONDS = 30  # Ranks write `beat` in run.lock every 3 s.
EVENT_PREFIX = {"step": "train/", "epoch": "train/epoch_"}
EVAL_NAMES = {"test_loss": "eval/loss", "test_accuracy": "eval/accuracy", "test_accuracy_tta": "eval/accuracy_tta",
              "test_accuracy_top5": "eval/accuracy_top5", "validation_loss": "validation/loss",
              "validation_accuracy": "validation/accuracy", "validation_accuracy_top5": "validation/accuracy_top5",
              "test_map": "eval/map", "validation_map": "validation/map"}
NO_METRICS = {"event", "step", "epoch", "time", "images", "seconds", "slowest_rank"}


class Problem(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def metrics_of(line, stream):
    """The numbers of a line under the tracker's names. For the job these are TensorBoard's tags."""
    numbers = {}
    for name, value in line.items():
        if name in NO_METRICS or isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            continue
        if stream == "job":
            name = EVAL_NAMES.get(name) if line["event"] == "eval" else EVENT_PREFIX.get(line["event"], "job/") + name
        if name:
            numbers[name] = value
    return numbers


class Lines:
    """The complete lines of a file that grows. If a resume cuts it and writes it anew, all lines are read again."""

    def __init__(self, path):
        self.path, self.offset, self.last, self.inode = path, 0, b"", None

    def read(self):
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            self.rewind_if_replaced(file)
            file.seek(self.offset)
            complete, newline, _ = file.read().rpartition(b"\n")
        self.offset += len(complete) + len(newline)
        lines = [line for line in complete.split(b"\n") if line.strip(b"\0 ")]
        if lines:
            self.last = lines[-1] + b"\n"
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError as error:
                raise Problem(65, f"{self.path}: a line is no JSON: {line[:60]!r}") from error

    def rewind_if_replaced(self, file):
        inode = os.fstat(file.fileno()).st_ino
        file.seek(max(0, self.offset - len(self.last)))
        if inode != self.inode or file.read(len(self.last)) != self.last:
            self.offset, self.last, self.inode = 0, b"", inode


def read_object(path):
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise Problem(65, f"{path}: is damaged: {error}") from error


class State:
    """RUN/tracker-NAME.json: {"streams": {STREAM: {"id": TRACKER'S, "last": {METRIC: STEP}}}}, replaced as a whole."""

    def __init__(self, path):
        self.path = path
        self.streams = read_object(path)["streams"] if path.exists() else {}

    def stream(self, name):
        return self.streams.setdefault(name, {"id": None, "last": {}})

    def save(self):
        temporary = self.path.with_suffix(".tmp")
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({"streams": self.streams}, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)


class Run:
    """The data of a run folder besides metrics."""

    def __init__(self, folder):
        self.folder = folder
        try:
            self.manifest = read_object(folder / "manifest.json")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Problem(66, f"{folder} holds no manifest.json; fix: name a run folder, such as runs/first, "
                              "after its training began") from error
        self.id = self.manifest["run_id"]
        self.beat = (None, 0.0)

    def streams(self):
        ranks = sorted((self.folder / "ranks").glob("rank-*.jsonl"))
        return {"job": self.folder / "metrics.jsonl", **{path.stem: path for path in ranks}}

    def title(self, stream):
        return self.id if stream == "job" else f"{self.id} {stream}"

    def identity(self, stream):
        """Differs between runs of the same id, and is the same after a resume or a repeated export."""
        origin = [self.id, self.manifest["segments"][0]["started"], stream]
        return hashlib.sha256(json.dumps(origin).encode()).hexdigest()[:40]

    def parameters(self, stream):
        config = configparser.ConfigParser(interpolation=None, comment_prefixes="#", delimiters="=")
        config.read_string("[run]\n" + (self.folder / "config.ini").read_text())
        rank = {}
        if stream != "job":
            rank = next((r for r in self.manifest["ranks"] if r["rank"] == int(stream.removeprefix("rank-"))), {})
        rank = {name: rank[name] for name in ("rank", "host", "device", "threads") if name in rank}
        about = {"run_id": self.id, "ranks": len(self.manifest["ranks"]), "dataset": self.manifest["data"]["name"], **rank}
        return {**config["run"], **{name: str(value) for name, value in about.items()}}

    def exit_reason(self):
        """completed, stopped or failed; None while it trains or after it was killed."""
        if "state held" not in self.lock():
            with contextlib.suppress(FileNotFoundError):
                return read_object(self.folder / "summary.json")["exit_reason"]

    def lock(self):
        path = self.folder / "run.lock"
        return path.read_text() if path.exists() else ""

    def is_alive(self):
        """True if a process holds run.lock and writes its heartbeat."""
        lock = self.lock()
        if "state held" not in lock:
            return False
        if lock != self.beat[0]:
            self.beat = (lock, time.monotonic())
        return time.monotonic() - self.beat[1] < BEAT_SECONDS


class Tracker:
    """The interface of a tracker for Export; a handle is an open experiment."""

    keeps_only_at_end = False

    def __init__(self, run, project):
        self.run, self.project = run, project

    def id_of(self, handle, stream):  # pylint: disable=unused-argument
        return self.run.identity(stream)

    def stored(self, handle):  # pylint: disable=unused-argument
        """Last steps that the tracker has, because an export ended before it wrote its state."""
        return {}

    def upload_command(self):
        return None


class Mlflow(Tracker):
    """A run of MLflow for the job, and below it one for each rank."""

    package, install = "mlflow", "mlflow-skinny sqlalchemy alembic"

    def __init__(self, run, project):
        from mlflow import MlflowClient, entities
        super().__init__(run, project)
        self.client, self.entities, self.job = MlflowClient(), entities, None
        experiment = self.client.get_experiment_by_name(project)
        self.experiment = experiment.experiment_id if experiment else self.client.create_experiment(project)

    def open(self, stream, known):
        if not known:
            tags = {"run_id": self.run.id, **({"mlflow.parentRunId": self.job} if stream != "job" else {})}
            known = self.client.create_run(self.experiment, tags=tags, run_name=self.run.title(stream)).info.run_id
            params = [self.entities.Param(name, value) for name, value in self.run.parameters(stream).items()]
            for at in range(0, len(params), 100):  # MLflow takes no more at once
                self.client.log_batch(known, params=params[at:at + 100])
        self.client.update_run(known, status="RUNNING")
        self.job = known if stream == "job" else self.job
        return known

    def id_of(self, handle, stream):
        return handle

    def stored(self, handle):
        names = self.client.get_run(handle).data.metrics
        return {name: max(metric.step for metric in self.client.get_metric_history(handle, name)) for name in names}

    def log(self, handle, lines):
        metrics = [self.entities.Metric(name, value, int(line["time"] * 1000), line["step"])
                   for line, numbers in lines for name, value in numbers.items()]
        for at in range(0, len(metrics), 1000):  # MLflow takes no more at once
            self.client.log_batch(handle, metrics=metrics[at:at + 1000])

    def close(self, handle, reason):
        status = {"completed": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}.get(reason)
        if status:
            self.client.set_terminated(handle, status)


class Wandb(Tracker):
    """A run of W&B for the job and for each rank, all in the group of the run id."""

    package = install = "wandb"

    def folder(self):
        return os.environ.get("WANDB_DIR", str(self.run.folder))

    def upload_command(self):
        if os.environ.get("WANDB_MODE", "offline") != "offline":
            return None  # wandb sends by itself, or keeps nothing
        return f"wandb sync {shlex.quote(self.folder())}/wandb/offline-run-*"

    def open(self, stream, known):
        import wandb
        os.environ.setdefault("WANDB_MODE", "offline")
        return wandb.init(project=self.project, group=self.run.id, id=self.run.identity(stream), resume="allow",
                          name=self.run.title(stream), job_type="job" if stream == "job" else "rank", reinit="create_new",
                          config=self.run.parameters(stream), dir=self.folder(),
                          settings=wandb.Settings(console="off", silent=True, x_disable_stats=True))

    def log(self, handle, lines):
        for line, numbers in lines:
            handle.log({**numbers, "epoch": line["epoch"], "time": line["time"]}, step=line["step"])

    def close(self, handle, reason):
        handle.finish(exit_code=1 if reason == "failed" else 0)


class Comet(Tracker):
    """An offline experiment of Comet for the job and for each rank, with the run id as tag and parameter. They are made one
    after another at the end: of several at once, Comet writes archives that lack values."""

    package = install = "comet_ml"
    keeps_only_at_end = True

    def folder(self):
        return os.environ.get("COMET_OFFLINE_DIRECTORY", str(self.run.folder / "comet"))

    def upload_command(self):
        return f"comet upload {shlex.quote(self.folder())}/*.zip"

    def open(self, stream, known):
        return stream, known, []

    def log(self, handle, lines):
        handle[2].extend(lines)

    def close(self, handle, reason):
        stream, known, lines = handle
        experiment = self.experiment(stream, known)
        for line, numbers in lines:
            experiment.log_metrics(numbers, step=line["step"], epoch=int(line["epoch"]))
        experiment.end()

    def experiment(self, stream, known):
        os.environ.setdefault("COMET_LOGGING_CONSOLE", "ERROR")
        import comet_ml
        options = dict.fromkeys(("log_code", "log_graph", "auto_param_logging", "auto_metric_logging", "parse_args",
                                 "auto_output_logging", "log_git_metadata", "log_git_patch", "log_env_details"), False)
        options.update(project_name=self.project, display_summary_level=0,
                       offline_directory=self.folder())
        if known:
            return comet_ml.ExistingOfflineExperiment(previous_experiment=known, **options)
        experiment = comet_ml.OfflineExperiment(experiment_key=self.run.identity(stream), **options)
        experiment.set_name(self.run.title(stream))
        experiment.add_tag(self.run.id)
        experiment.log_parameters(self.run.parameters(stream))
        return experiment


TRACKERS = {"comet": Comet, "wandb": Wandb, "mlflow": Mlflow}


def news_of(lines, stream, last):
    """Lines with the metrics after the last exported step, and the last steps after them."""
    news, last = [], dict(last)
    for line in lines:
        numbers = {n: v for n, v in metrics_of(line, stream).items() if line["step"] > last.get(n, -1)}
        last.update(dict.fromkeys(numbers, line["step"]))
        if numbers:
            news.append((line, numbers))
    return news, last


class Export:
    """A session with a tracker. It opens an experiment when there is something to send, the one of the job first."""

    def __init__(self, run, tracker, state):
        self.run, self.tracker, self.state = run, tracker, state
        self.lines, self.handles, self.last, self.sent = {}, {}, {}, 0

    def send_news(self):
        for stream, path in self.run.streams().items():
            if stream not in self.lines:
                self.lines[stream], self.last[stream] = Lines(path), self.state.stream(stream)["last"]
            lines = list(self.lines[stream].read())
            if news_of(lines, stream, self.last[stream])[0]:
                self.send(stream, lines)

    def send(self, stream, lines):
        if stream not in self.handles:
            self.open(stream)
        news, last = news_of(lines, stream, self.last[stream])
        self.tracker.log(self.handles[stream], news)
        self.sent += sum(len(numbers) for _, numbers in news)
        self.last[stream] = last
        if not self.tracker.keeps_only_at_end:
            self.save(stream)

    def open(self, stream):
        self.handles[stream] = handle = self.tracker.open(stream, self.state.stream(stream)["id"])
        self.last[stream] = {**self.last[stream], **self.tracker.stored(handle)}
        if not self.tracker.keeps_only_at_end:
            self.save(stream)  # at once, so that an export that is killed makes no second experiment

    def save(self, stream):
        self.state.streams[stream] = {"id": self.tracker.id_of(self.handles[stream], stream), "last": self.last[stream]}
        self.state.save()

    def close(self):
        for stream, handle in self.handles.items():
            self.tracker.close(handle, self.run.exit_reason())
            self.save(stream)


def export(run, name, project, follow_seconds):
    """The session after its end. follow_seconds: the time between passes, or None for one pass."""
    with open(run.folder / f"tracker-{name}.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Problem(75, f"{run.folder}: another export to {name} is at work; wait for its end") from error
        session = Export(run, TRACKERS[name](run, project), State(run.folder / f"tracker-{name}.json"))
        try:
            alive = True
            while alive:
                alive = follow_seconds is not None and run.is_alive()  # checked before the last lines are read
                session.send_news()
                if alive:
                    time.sleep(follow_seconds)
        finally:
            session.close()
        return session


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", type=pathlib.Path)
    parser.add_argument("--to", required=True, choices=sorted(TRACKERS))
    parser.add_argument("--follow", action="store_true", help="export until the run ends")
    parser.add_argument("--every", type=float, default=5, metavar="SECONDS", help="with --follow: between two passes (default 5)")
    parser.add_argument("--project", default="tandem", help="Comet's and W&B's project, MLflow's experiment (default tandem)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which closes the experiments
    try:
        run = Run(arguments.run)
        tracker = TRACKERS[arguments.to]
        if not importlib.util.find_spec(tracker.package):
            raise Problem(69, f"this Python has no {tracker.package}; fix: {sys.executable} -m pip install {tracker.install}")
        session = export(run, arguments.to, arguments.project, arguments.every if arguments.follow else None)
    except Problem as problem:
        print(f"to_tracker.py: {problem}", file=sys.stderr)
        return problem.code
    except KeyboardInterrupt:
        return 130
    print(f"{run.id}: {session.sent:,} values sent to {arguments.to}; the run is {run.exit_reason() or 'unfinished'}")
    if upload := session.tracker.upload_command():
        print(f"upload: {upload}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
