"""The Dockerfile, taken apart: stages, the instructions of each, and what the last one comes to."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
Instruction = collections.namedtuple("Instruction", ["name", "words"])


class Dockerfile:
    def __init__(self, path=ROOT / "Dockerfile"):
        """`stages`: {name: (base, instructions)}, the last one named ""; `defaults`: those of ARGs before the first stage."""
        self.stages, self.defaults = {}, {}
        text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
        stage = None
        for line in filter(None, map(str.strip, text.splitlines())):
            name, words = line.split(None, 1)
            if name == "FROM":
                base, _, alias = words.partition(" AS ")
                stage = []
                self.stages[alias] = (base, stage)
            elif stage is None:
                assert name == "ARG", line
                key, _, value = words.partition("=")
                self.defaults[key] = value
            else:
                stage.append(Instruction(name, words))

    def chain(self, stage="", arguments={}):
        """(The image that a stage begins with, all instructions from there on.)"""
        base, instructions = self.stages[stage]
        base = substitute(base, {**self.defaults, **arguments})
        if base not in self.stages:
            return base, instructions
        image, before = self.chain(base, arguments)
        return image, before + instructions

    def environment(self, variant):
        """What ENV sets in the image of a variant."""
        _, instructions = self.chain(arguments={"VARIANT": variant})
        return dict(word.split("=", 1) for instruction in instructions if instruction.name == "ENV"
                    for word in instruction.words.split())

    def packages(self):
        """Those that any stage asks apt for."""
        found = set()
        for _, instructions in self.stages.values():
            for instruction in instructions:
                for words in re.findall(r"apt-get install ([^&]*)", instruction.words):
                    found |= {word for word in words.split() if not word.startswith(("-", "/"))}
        return found


def substitute(text, values):
    """${NAME}, and ${NAME:-DEFAULT}."""
    return re.sub(r"\$\{(\w+)(:-\w*)?\}", lambda found: values.get(found[1]) or found[2][2:], text)
