#!/usr/bin/env python3
"""A run's event files, read by the tensorboard package: every value is that of metrics.jsonl, also of a run that was resumed."""

import io
import json
import struct
import unittest

from PIL import Image
from tandem import DATA, TandemTest, read_lines
from tensorboard.backend.event_processing import event_accumulator, event_multiplexer
from tensorboard.compat.proto import event_pb2
from tensorboard.plugins.hparams import plugin_data_pb2

EVERYTHING = {event_accumulator.SCALARS: 0, event_accumulator.IMAGES: 0, event_accumulator.TENSORS: 0,
              event_accumulator.HISTOGRAMS: 0}
TRAIN = ["--run-id", "a", "--log-every", "1", "--clip-norm", "0.5", "--system-interval", "0.01", "--epochs", "2",
         "--max-steps", "0", "--global-batch-size", "200"]


def events_of(path):
    """The events of one file as they stand there."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        size = struct.unpack("<Q", content[at:at + 8])[0]
        yield event_pb2.Event.FromString(content[at + 12:at + 12 + size])
        at += size + 16


def tags_with_metadata(path):
    return {value.tag for event in events_of(path) for value in event.summary.value if value.HasField("metadata")}


class TensorBoard(TandemTest):
    keeps_ranks = True

    def load(self):
        read = event_accumulator.EventAccumulator(str(self.folder / "runs/a"), size_guidance=EVERYTHING)
        read.Reload()
        return read

    def files(self, run_id):
        return sorted((self.folder / "runs" / run_id).glob("events.out.tfevents.*"))

    def scalars(self, read, tag):
        return {event.step: event.value for event in read.Scalars(tag)}

    def assert_scalars(self, read, tag, expected):
        """The values of a tag, by step, each step once."""
        self.assertEqual([event.step for event in read.Scalars(tag)], sorted(expected), tag)
        for step, value in self.scalars(read, tag).items():
            self.assertEqual(value, struct.unpack("f", struct.pack("f", expected[step]))[0], f"{tag} at step {step}")

    def assert_values_of_metrics(self, read):
        lines = read_lines(self.folder / "runs/a/metrics.jsonl")
        for event, names in (("step", {"loss": "train/loss", "accuracy": "train/accuracy", "lr": "train/lr",
                                       "images_per_second": "train/images_per_second", "grad_norm": "train/grad_norm"}),
                             ("epoch", {"loss": "train/epoch_loss", "accuracy": "train/epoch_accuracy"}),
                             ("eval", {"test_loss": "eval/loss", "test_accuracy": "eval/accuracy"})):
            for name, tag in names.items():
                self.assert_scalars(read, tag, {line["step"]: line[name] for line in lines if line["event"] == event})

    def test_every_value_is_that_of_the_run(self):
        self.train(2, "a", *TRAIN, "--histograms-every", "1")
        read = self.load()
        self.assert_values_of_metrics(read)
        self.assertEqual(sorted(self.scalars(read, "train/loss")), [1, 2, 3, 4, 5, 6])

    def test_ranks_tell_of_their_machines(self):
        self.train(2, "a", *TRAIN)
        read = self.load()
        for rank in range(2):
            lines = {line["step"]: line for line in read_lines(self.folder / f"runs/a/ranks/rank-000{rank}.jsonl")}
            for name in ("cpu_percent", "rss_bytes", "threads", "host_memory_bytes", "step_seconds", "data_seconds", "comm_seconds"):
                values = self.scalars(read, f"usage/rank-000{rank}/{name}")
                self.assertTrue(values)
                self.assert_scalars(read, f"usage/rank-000{rank}/{name}", {step: lines[step][name] for step in values})

    def test_a_resumed_run_shows_each_step_once(self):
        self.train(1, "a", *TRAIN, "--max-steps", "5", "--checkpoint-every", "2")
        self.mpirun(2, "train", "--data", DATA, "--model", "mlp", "--lr", "0.01", *TRAIN, "--quiet",
                    "--resume", str(self.folder / "runs/a/checkpoints/step-00000004.safetensors"))
        files = self.files("a")
        self.assertEqual(len(files), 2)
        second = list(events_of(files[1]))
        self.assertEqual(second[0].file_version, "brain.Event:2")
        self.assertEqual((second[1].session_log.status, second[1].step), (second[1].session_log.START, 5))
        read = self.load()
        self.assert_values_of_metrics(read)
        self.assertEqual(sorted(self.scalars(read, "train/loss")), [1, 2, 3, 4, 5, 6])
        self.assertEqual(len(read.Tensors("run/config")), 1)

    def test_a_run_has_its_own_name_also_if_an_earlier_version_began_it(self):
        """That version wrote its events into a folder of their own, which keeps the whole curve of the run."""
        self.train(1, "a", *TRAIN, "--max-steps", "4")
        read = event_multiplexer.EventMultiplexer().AddRunsFromDirectory(str(self.folder / "runs"))
        read.Reload()
        self.assertEqual(list(read.Runs()), ["a"])
        groups = sorted({tag.split("/")[0] for tag in read.Runs()["a"]["scalars"]})
        self.assertEqual(groups, ["eval", "train", "usage"], "curves come first")
        earlier = self.folder / "runs/a/tensorboard"
        earlier.mkdir()
        self.files("a")[0].rename(earlier / self.files("a")[0].name)
        self.train(1, "a", *TRAIN, "--resume", "auto")
        self.assertEqual((len(self.files("a")), len(list(earlier.iterdir()))), (0, 2))

    def test_hyper_parameters(self):
        self.train(2, "a", *TRAIN)
        read = self.load()

        def content(tag):
            metadata = read.SummaryMetadata(tag).plugin_data
            self.assertEqual(metadata.plugin_name, "hparams")
            return plugin_data_pb2.HParamsPluginData.FromString(metadata.content)

        experiment = content("_hparams_/experiment").experiment
        session = content("_hparams_/session_start_info").session_start_info
        end = content("_hparams_/session_end_info")
        self.assertEqual((content("_hparams_/experiment").version, end.version), (0, 0))
        self.assertEqual(session.hparams["lr"].number_value, 0.01)
        self.assertEqual(session.hparams["global_batch"].number_value, 200)
        self.assertEqual(session.hparams["model"].string_value, "mlp")
        self.assertEqual(session.hparams["nesterov"].WhichOneof("kind"), "bool_value")
        self.assertEqual({info.name for info in experiment.hparam_infos}, set(session.hparams))
        self.assertIn("eval/accuracy", [info.name.tag for info in experiment.metric_infos])
        self.assertEqual(session.group_name, "a")
        self.assertEqual(end.session_end_info.status, 1)
        self.assertGreaterEqual(end.session_end_info.end_time_secs, session.start_time_secs)

    def test_a_run_that_stops_early_has_no_end(self):
        self.train(1, "a", *TRAIN, "--max-steps", "2")
        self.assertIn("_hparams_/session_end_info", tags_with_metadata(self.files("a")[0]))
        self.mpirun(1, "train", "--data", DATA, "--model", "mlp", *TRAIN, "--run-id", "b", "--max-time", "1", "--stop-margin",
                    "0.99", "--quiet", code=75)
        found = tags_with_metadata(self.files("b")[0])
        self.assertIn("_hparams_/session_start_info", found)
        self.assertNotIn("_hparams_/session_end_info", found)

    def test_texts_images_and_histograms(self):
        self.train(2, "a", *TRAIN, "--histograms-every", "2")
        read = self.load()
        config = read.Tensors("run/config")[0].tensor_proto.string_val[0].decode()
        self.assertEqual([line[4:] for line in config.splitlines()],
                         (self.folder / "runs/a/config.ini").read_text().splitlines())
        self.assertEqual(read.SummaryMetadata("run/config").plugin_data.plugin_name, "text")
        self.assertIn("train", read.Tensors("run/command_line")[0].tensor_proto.string_val[0].decode())

        tags = sorted(read.Tags()["images"])
        self.assertEqual([tag.split(" ")[0] for tag in tags], [f"train_images/{i}" for i in range(8)])
        found = read.Images(tags[0])[0]
        image = Image.open(io.BytesIO(found.encoded_image_string))
        self.assertEqual(image.size, (found.width, found.height))
        self.assertEqual(image.mode, "RGB")
        image.load()  # every checksum is proved
        described = json.loads(self.tandem("inspect", DATA, "--json").stdout)
        self.assertTrue(all(tag.split(" ", 1)[1] in described["classes"] for tag in tags), tags)

        weights = [tag for tag in read.Tags()["histograms"] if tag.startswith("weights/")]
        self.assertTrue(weights)
        for tag in weights:
            events = read.Histograms(tag)
            self.assertEqual([event.step for event in events], [6])
            value = events[0].histogram_value
            self.assertEqual(sum(value.bucket), value.num)
            self.assertEqual(value.bucket_limit[-1], value.max)
            self.assertLessEqual(value.min, value.bucket_limit[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
