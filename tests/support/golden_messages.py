"""Messages word for word: what the program says on standard error against what a file of tests/golden expects.

TANDEM_UPDATE_GOLDEN=1 writes what was said into that file instead, to be read as a diff."""

import json
import os
import pathlib
import re
import socket

from tandem import DATA, TandemTest

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
IS_UPDATE = os.environ.get("TANDEM_UPDATE_GOLDEN") == "1"

# mpirun frames what it says of its own; the others come where it ends ranks in the middle of something.
OF_MPIRUN = re.compile(r"^-{60,}\n.*?^-{60,}\n|^\[\S+:\d+\] (?:Read -1, expected|\S+ ORTE_ERROR_LOG: )[^\n]*\n",
                       re.MULTILINE | re.DOTALL)
# tandem announces mpirun's lines; start_messages_test.py tests that.
OF_ANNOUNCEMENT = re.compile(r"^  \(mpirun's lines below only repeat the exit code\)\n", re.MULTILINE)
# Further lines of a message are indented.
MESSAGE = re.compile(r"(?<![^\n])tandem: .*\n(?:  .*\n)*")
# Where there are more ranks than CPUs, or they may not read each other's memory, this is said too.
OF_THE_MACHINE = re.compile(r"tandem: warning: (W15[01]|W181) .*\n")


class GoldenTest(TandemTest):
    """A class of tests names its file in `golden`, and takes `assert_every_golden_message_has_its_test` for a test, too."""

    def read_golden(self):
        path = GOLDEN / self.golden
        return json.loads(path.read_text()) if path.exists() else {}

    def tearDown(self):
        self.assertEqual(list(self.folder.rglob(".*.tmp.*")), [], "a temporary file stayed")

    def name(self):
        return self._testMethodName.removeprefix("test_").replace("_", " ")

    def without_what_varies(self, text, placeholders):
        host = re.escape(socket.gethostname())
        for value, placeholder in [*placeholders.items(), (f"{self.folder}/", ""), (DATA, "<data>")]:
            text = text.replace(value, placeholder)
        for pattern, placeholder in ((rf"process \d+ on {host}\b", "process <pid> on <host>"), (rf"\({host}\)", "(<host>)"),
                                     (rf"\({host}, process \d+\)", "(<host>, process <pid>)"),
                                     (r"\bfor \d+ s: step \d+, [a-z]+", "for <seconds> s: step <step>, <phase>"),
                                     (rf" of {host} share", " of <host> share"),
                                     (r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b", "<digest>"),
                                     (r"\b\d+(?= bytes after the header)", "<bytes>")):
            text = re.sub(pattern, placeholder, text)
        return text

    def assert_says(self, done, errors=1, is_output_empty=True, is_of_machine=False, placeholders={}):
        """The code and every message are those of the test's name in the golden file, and nothing else was said."""
        of_ours = OF_ANNOUNCEMENT.sub("", OF_MPIRUN.sub("", done.stderr))
        words = self.without_what_varies(of_ours if is_of_machine else OF_THE_MACHINE.sub("", of_ours), placeholders)
        messages = MESSAGE.findall(words)
        self.assertEqual(MESSAGE.sub("", words).strip(), "", f"words that are not ours:\n{done.stderr}")
        self.assertEqual(sum(message.startswith("tandem: error: ") for message in messages), errors, done.stderr)
        self.assertEqual(done.stdout == "", is_output_empty, done.stdout)
        found = {"exit_code": done.returncode, "messages": [message.rstrip("\n").split("\n") for message in messages]}
        if IS_UPDATE:
            golden = json.dumps({**self.read_golden(), self.name(): found}, indent=2, sort_keys=True, ensure_ascii=False)
            (GOLDEN / self.golden).write_text(golden + "\n")
        self.assertEqual(found, self.read_golden().get(self.name()), "see TANDEM_UPDATE_GOLDEN in tests/support/golden_messages.py")

    def assert_every_golden_message_has_its_test(self):
        if not IS_UPDATE:
            names = {name.removeprefix("test_").replace("_", " ") for name in dir(self) if name.startswith("test_")}
            self.assertEqual(set(self.read_golden()), names - {self.name()})
