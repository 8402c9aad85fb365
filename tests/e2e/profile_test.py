#!/usr/bin/env python3
"""tandem train --profile: a trace of each rank."""

import json
import unittest

from tandem import QUICK, TandemTest

PHASES = ["data", "compute", "exchange", "update"]


class Profile(TandemTest):
    keeps_ranks = True

    def spans_of(self, run_id, rank):
        trace = json.loads((self.folder / f"runs/{run_id}/traces/rank-{rank:04}.json").read_text())
        names = [event for event in trace["traceEvents"] if event["ph"] == "M"]
        self.assertEqual([event["args"]["name"] for event in names], [f"rank {rank}"])
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual({span["pid"] for span in spans}, {rank})
        return spans

    def test_every_rank_traces_the_steps_that_were_asked_for_and_trains_alike(self):
        profiled = self.train(2, "traced", "--profile", "2-3")
        for rank in range(2):
            spans = self.spans_of("traced", rank)
            phases = [span for span in spans if span["name"] in PHASES]
            self.assertEqual([phase["name"] for phase in phases], 2 * PHASES)
            for before, after in zip(phases, phases[1:]):
                self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 1)
            # The operators of a step lie within its phase.
            compute = phases[1]
            inside = [span for span in spans if span["ts"] >= compute["ts"] and
                      span["ts"] + span["dur"] <= compute["ts"] + compute["dur"]]
            self.assertIn("aten::addmm", {span["name"] for span in inside})
            self.assertIn("AddmmBackward0", {span["name"] for span in inside})
        self.assertEqual(self.train(2, "plain")["weights_sha256"], profiled["weights_sha256"])
        self.assertFalse((self.folder / "runs/plain/traces").exists())

    def test_a_run_that_ends_within_the_steps_keeps_what_there_is(self):
        self.train(1, "short", "--profile", "3-9", "--eval-every", "0", "--checkpoint-every", "0")
        phases = [span["name"] for span in self.spans_of("short", 0) if span["name"] in PHASES]
        self.assertEqual(phases, PHASES)

    def test_steps_that_are_not_made_are_said(self):
        done = self.mpirun(1, "train", *QUICK, "--run-id", "a", "--profile", "30-40")
        self.assertIn("warning: --profile 30-40: the run made no such step", done.stderr)

    def test_words_that_name_no_steps_are_refused(self):
        for steps, found in (("5-2", "ends before it begins"), ("1-2-3", "is neither a step nor two"), ("0", "0"),
                             ("all", "'all' is neither"), ("1-", "'1-' is neither"), ("-3", "'-3' is neither")):
            done = self.tandem("train", *QUICK, "--profile", steps, code=2)
            self.assert_one_error(done, "--profile", found)


if __name__ == "__main__":
    unittest.main()
