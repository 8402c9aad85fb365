#!/usr/bin/env python3
"""What a person sees of a training run: a line that is redrawn on a terminal, plain lines elsewhere, a line for each rank on
request; and that no line tears another."""

import os
import re
import signal
import subprocess
import unittest

from processes import ranks_of, suspended
from screen import OnTerminal
from tandem import DATA, IS_WHOLE, MPIRUN, PROGRAM, TandemTest, whole

LONG = ["train", "--data", DATA, "--model", "lenet", "--epochs", "2000", "--eval-every", "1", "--checkpoint-every", "0"]


def train_for(epochs):
    return ["train", "--data", DATA, "--model", "lenet", "--epochs", epochs, "--log-every", "1", "--checkpoint-every", "0"]


EPOCHS = 3
SHORT = train_for(EPOCHS)
DRAWN = train_for(12)  # long enough for the live line to be drawn
MANY_EPOCHS = 40  # and several times
LIVE = re.compile(r"^(?:epoch )?\d+/\d+ .*(?:left|\d %|evaluating|checkpoint)")


class Console(TandemTest):
    def on_terminal(self, command, columns, environment={}, **streams):
        shown = OnTerminal(command, columns, self.folder, environment, **streams)
        self.addCleanup(shown.close)
        return shown

    def stop(self, shown):
        shown.process.send_signal(signal.SIGUSR1)
        self.assertEqual(shown.finish(), 75)

    def assert_whole_lines(self, lines):
        """Nothing but what a run says when it is undisturbed."""
        for line in lines:
            line = re.sub(r"^\[r\d+/\d+ \S+ \S+\] ", "", line)
            self.assertNotRegex(line, r".(epoch \d+/\d+ |tandem: )", "a line begins within another")

    def finish_cleanly(self, shown):
        lines = shown.screen.lines()
        self.assert_whole_lines(lines)
        self.assertEqual([line for line in lines if LIVE.match(line)], [], "a live line was left behind")
        self.assertEqual(shown.screen.attributes, "")
        self.assertEqual(shown.screen.wraps, 0)
        self.assertTrue(shown.has_its_modes())

    def test_one_line_is_redrawn_in_place(self):
        for ranks, columns in ((1, 120), (2, 40), (2, 120)) if IS_WHOLE else ((2, 120),):
            with self.subTest(ranks=ranks, columns=columns):
                launcher = MPIRUN + ["-n", "2"] if ranks == 2 else []
                shown = self.on_terminal([*launcher, PROGRAM, *train_for(MANY_EPOCHS)], columns)
                # The table of ranks and its like may be wider than 40 columns; these lines wrap, the live one must not.
                shown.screen.columns = 10_000
                self.assertEqual(shown.finish(), 0)
                self.finish_cleanly(shown)
                drawn = [line for line in shown.screen.overwritten if LIVE.match(line)]
                self.assertGreater(len(drawn), 3)
                self.assertLess(max(map(len, drawn)), columns)
                if columns == 120:
                    whole = rf"^epoch \d+/{MANY_EPOCHS} \[#*-*\] +\d+ %  loss \d\.\d{{3}}  acc 0\.\d{{3}}  [\d,]+ images/s  \d+:\d\d left"
                    self.assertTrue(any(re.match(whole, line) for line in drawn), drawn[-1])
                    self.assertFalse(any("slow" in line for line in drawn), "none stays slow")
                epochs = [line for line in shown.screen.lines() if line.startswith("epoch ")]
                self.assertEqual(len(epochs), MANY_EPOCHS)
                result = r"^epoch \d+/40  loss \d\.\d{3,4}  acc [01]\.\d{3} \| test [01]\.\d{3}( \*best)? \| [\d,]+(?: images)?/s  \d+\.\d s$"
                self.assertEqual([line for line in epochs if not re.match(result, line)], [])
                # The command to paste may be longer.
                wide = [line for line in shown.screen.lines() if len(line) > 80 and not line.startswith(("  --", "  evaluate", "tandem: "))]
                self.assertEqual(wide, [])

    def test_the_line_follows_the_terminals_width(self):
        shown = self.on_terminal([PROGRAM, *LONG], 120)
        shown.screen.columns = 10_000
        shown.read_until(lambda screen: any(80 < len(line) < 120 and LIVE.match(line) for line in screen.overwritten))
        shown.resize(40)
        shown.read_until(lambda screen: 0 < len(screen.overwritten[-1]) < 40 and LIVE.match(screen.overwritten[-1]))
        since = len(shown.screen.overwritten)
        drawn = lambda screen: [line for line in screen.overwritten[since:] if LIVE.match(line)]
        shown.read_until(lambda screen: len(drawn(screen)) > 5)
        self.assertLess(max(map(len, drawn(shown.screen))), 40)
        self.stop(shown)

    def test_ctrl_c_leaves_a_clean_terminal(self):
        """The run ends in order unless its launcher is Open MPI 5, which kills the ranks within half a second."""
        version = subprocess.run([*MPIRUN, "--version"], check=True, capture_output=True, text=True).stdout
        for launcher in ([], [*MPIRUN, "-n", "2"]):
            with self.subTest(launcher=bool(launcher)):
                run_id = "alone" if not launcher else "ranks"
                shown = self.on_terminal([*launcher, PROGRAM, *LONG, "--run-id", run_id], 100)
                shown.screen.columns = 10_000
                shown.read_until(lambda screen: sum(1 for line in screen.overwritten if LIVE.match(line)) > 3)
                shown.type(b"\x03")
                self.assertEqual(shown.finish(), 75 if not launcher else 1)
                self.finish_cleanly(shown)
                if launcher and "(Open MPI) 5." in version:
                    continue
                text = "\n".join(shown.screen.lines())
                self.assertRegex(text, rf"(?ms)^tandem: stopping after this step.*^stopped: .* runs/{run_id}$")
                self.assertRegex(text, rf"(?m)^  go on +{'mpirun (--bind-to none )?-np 2 ' if launcher else ''}\S+ train --data .* --resume auto$")
                self.assertEqual("Ctrl-C" in text, bool(launcher))
                self.assertNotIn("SIGTERM", text)

    def test_the_message_of_another_rank_has_a_row_of_its_own(self):
        """Rank 0, which draws the line, stands still, and rank 1 says so."""
        shown = self.on_terminal([*MPIRUN, "-n", "2", PROGRAM, *LONG, "--stall-warn", "1"], 100)
        shown.screen.columns = 10_000
        shown.read_until(lambda screen: sum(1 for line in screen.overwritten if LIVE.match(line)) > 3)
        ranks = ranks_of(shown.process.pid)
        with suspended(ranks[0]):
            shown.read_until(lambda screen: any(line.startswith("tandem: warning: rank 0 ") for line in screen.lines()))
        # Not by mpirun, which may say so, on whatever row there is.
        for rank in ranks.values():
            os.kill(int(rank), signal.SIGUSR1)
        self.assertEqual(shown.finish(), 75)
        self.finish_cleanly(shown)

    @whole
    def test_colours_can_be_refused(self):
        for environment, has_colours in (({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)):
            with self.subTest(environment=environment):
                shown = self.on_terminal([PROGRAM, *DRAWN], 100, environment)
                shown.screen.columns = 10_000
                self.assertEqual(shown.finish(), 0)
                self.assertIn(b"\x1b[K", shown.bytes)
                self.assertEqual(bool(re.search(rb"\x1b\[[0-9;]*m", shown.bytes)), has_colours)

    @whole
    def test_no_line_is_redrawn_where_that_is_not_wanted_or_not_known(self):
        for words, environment in ((["--no-progress"], {}), (["--quiet"], {}), ([], {"TERM": "dumb"}), ([], {"TERM": ""})):
            with self.subTest(words=words, environment=environment):
                shown = self.on_terminal([PROGRAM, *SHORT, *words], 100, environment)
                self.assertEqual(shown.finish(), 0)
                self.assertNotIn(b"\x1b", shown.bytes)
                self.assertEqual(f"epoch {EPOCHS}/{EPOCHS}  loss".encode() in shown.bytes, words != ["--quiet"])

    @whole
    def test_a_file_gets_plain_lines_and_the_terminal_the_live_one(self):
        with open(self.folder / "log", "wb") as log:
            shown = self.on_terminal([PROGRAM, *DRAWN], 100, stdout=log)
            shown.screen.columns = 10_000
            self.assertEqual(shown.finish(), 0)
        self.assertIn(b"\x1b[K", shown.bytes)
        self.assertNotIn(b"\x1b", (self.folder / "log").read_bytes())
        # Behind a pipe (| tee) the same terminal may be, so nothing is redrawn.
        shown = self.on_terminal(["bash", "-c", '"$@" | tee log', "bash", PROGRAM, *SHORT], 100)
        self.assertEqual(shown.finish(), 0)
        self.assertNotIn(b"\x1b", shown.bytes)

    @whole
    def test_a_log_gets_a_line_within_ten_seconds(self):
        """Of a run in which no step is logged meanwhile and no epoch ends."""
        slow = ["train", "--data", DATA, "--model", "resnet18", "--batch-size", "2", "--epochs", "2000", "--checkpoint-every", "0"]
        done = self.tandem(*slow, "--eval-every", "0", "--log-every", "0", "--max-time", "13", "--stop-margin", "0.5", code=75)
        self.assertRegex(done.stdout, r"(?m)^epoch \d+/2,?000  step \d+/[\d,]+")
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_ranks_that_are_asked_for_have_lines_of_their_own_and_none_is_torn(self):
        done = self.run_command([*MPIRUN, "-n", 4, "bash", "-c", 'exec "$@" 2>&1', "bash", PROGRAM, *SHORT, "--log-ranks", "all"], 0, {})
        self.assert_whole_lines(done.stdout.splitlines())
        number = r"[\d,.]+"
        pattern = (rf"\[r(\d)/4 (\S+) cpu\] (step \d+|epoch \d+/{EPOCHS})  (?:loss {number}|no image)  {number} images/s  {number} ms/step: "
                   rf"data {number}, compute {number}, exchange {number}")
        lines = [line for line in done.stdout.splitlines() if "[r" in line]
        found = [re.fullmatch(pattern, line) for line in lines]
        self.assertTrue(all(found), [line for line, match in zip(lines, found, strict=True) if not match])
        steps = EPOCHS * 3  # 600 images, 64 x 4 a step
        for rank in "0123":
            mine = [match[3] for match in found if match[1] == rank]
            self.assertEqual(len([what for what in mine if what.startswith("step")]), steps)
            self.assertEqual(len([what for what in mine if what.startswith("epoch")]), EPOCHS)
        self.assertLess(max(map(len, lines)), 512)  # the least PIPE_BUF that POSIX allows

    @whole
    def test_some_ranks_can_be_named(self):
        done = self.mpirun(3, *SHORT[:-2], "--max-steps", "3", "--log-ranks", "0,2")
        self.assertEqual(set(re.findall(r"(?m)^\[r(\d)/3 ", done.stdout)), {"0", "2"})
        done = self.mpirun(3, *SHORT[:-2], "--max-steps", "3", "--log-ranks", "0")
        self.assertNotIn("[r", done.stdout)
        done = self.mpirun(3, *SHORT, "--log-ranks", "1-3", code=2)
        self.assert_one_error(done, "--log-ranks: rank 3 is asked for, and the job's ranks are 0 to 2")
        self.assertFalse((self.folder / "runs" / "a").exists())
        for wrong in ("some", "2-1", "1,", "-1"):
            self.assert_one_error(self.tandem(*SHORT, f"--log-ranks={wrong}", code=2), "--log-ranks")


if __name__ == "__main__":
    unittest.main(verbosity=2)
