"""The rows of docs/performance.md: the same work by tandem and by the strongest form of a PyTorch program. Some rows also have its
tuned and its tutorial form.

Processors without instructions for bfloat16 train faster in fp32, so both sides use that there. With them tandem uses bfloat16, and
within one host the peer uses the faster of the two. Between two hosts both sides send equal bytes."""

import contextlib
import dataclasses
import statistics
import typing

from forms import BUCKETS, SETTINGS, families_of_training
from sides import TRIAL_SECONDS

# What each row has to reach, by class of processors; nothing is asked where a class is missing.
ASKED = {
    "resnet9": {"amx": 2.8, "avx512-bf16": 2.0, "no-bf16": 2.0},  # the last in fp32
    "resnet9-fp32": {"avx512-bf16": 2.0},
    "resnet18": {"amx": 2.3, "avx512-bf16": 1.7},
    "simple": {"amx": 4.0, "avx512-bf16": 4.0},
    "cifar10-fast": {"amx": 2.2, "avx512-bf16": 1.4},
    "two-hosts-1gbit": {"amx": 1.4, "avx512-bf16": 1.4},
    "two-hosts-100mbit": {"amx": 1.15, "avx512-bf16": 1.15},
    "two-hosts-100mbit-powersgd": {"amx": 1.2, "avx512-bf16": 1.2},
    "two-ranks": {"amx": 0.97, "avx512-bf16": 0.97},
    "memory": {"amx": 3.0, "avx512-bf16": 3.0},
    "start": {"amx": 8.0, "avx512-bf16": 8.0},
    "pack": {"amx": 1.0, "avx512-bf16": 1.0},
    "evaluation": {"amx": 1.2},
}
# Rate of the link, and how gradients travel on both sides.
LINKS = {"two-hosts-1gbit": ("1gbit", "fp32"), "two-hosts-100mbit": ("100mbit", "bf16"),
         "two-hosts-100mbit-powersgd": ("100mbit", "powersgd")}
RECIPE_ACCURACIES = (0.892, 0.904)  # plain and with test-time augmentation, on the JPEG copies of CIFAR-10
TUNED, TUTORIAL = ("ddp_cifar10.py",), ("ddp_cifar10.py", "--setting", "seed")


@dataclasses.dataclass
class Row:
    name: str
    what: str
    ours: typing.Callable  # ours(number of the round), a number
    theirs: typing.Callable = None  # theirs(form, number of the round)
    families: dict = None  # forms among which the strongest is searched, with their groups of switches
    others: dict = dataclasses.field(default_factory=dict)  # name of a column, and the form in it
    unit: str = "images/s"
    faster: bool = True  # more is better
    trial: typing.Callable = None  # trial(form), where theirs(form, 0) would take too long
    mlperf: bool = False  # average without the fastest and the slowest run
    remark: typing.Callable = str  # remark(): a text for the table, may be empty

    def strongest(self, sides):
        def reached(form):
            value = self.trial(form) if self.trial else self.theirs(form, 0)
            return value if self.faster else 1 / value

        sides.most_seconds, kept = TRIAL_SECONDS, sides.most_seconds
        try:
            return sides.forms.best(self.what, self.families, sides.programs, reached)
        finally:
            sides.most_seconds = kept

    def measure(self, sides, runs, processor):
        """Runs all sides in turn, in reverse order in every other round."""
        functions = {"ours": self.ours}
        forms = {"beside": self.strongest(sides) if self.families else None, **self.others} if self.theirs else {}
        for name, form in forms.items():
            functions[name] = lambda number, form=form: self.theirs(form, number)
        values, commands = {name: [] for name in functions}, {}
        for number in range(runs):
            for name in list(functions)[::1 if number % 2 == 0 else -1]:
                values[name].append(functions[name](number))
                commands.setdefault(name, sides.commands[-1])
        return dict(name=self.name, what=self.what, unit=self.unit, faster=self.faster, mlperf=self.mlperf, remark=self.remark(),
                    asked=ASKED.get(self.name, {}).get(processor.kind), ours=values.pop("ours"), peers=values,
                    commands=[commands[name] for name in functions], processor=processor.name)


def rows_of(sides, processor):
    """Those of one host."""
    bf16 = processor.has_bf16
    precision = "bf16" if bf16 else "fp32"
    ours, theirs = sides.words_of(precision)
    either = ((("--fp32",),),) if bf16 else ()  # precisions that the peer may choose

    def training(name, model, batch, steps):
        return Row(name, f"{model}, {precision}, {batch} per rank", lambda _: sides.our_rate(model, batch, steps, *ours),
                   lambda form, _: sides.their_rate(form, model, batch, steps), families_of_training(*theirs, more=either),
                   {"tuned": (*TUNED, *theirs), "tutorial": TUTORIAL})

    yield training("resnet9", "resnet9", 128, 10)
    yield training("resnet18", "resnet18", 128, 6)
    yield training("simple", "simple", 64, 1000)
    if bf16:
        yield Row("resnet9-fp32", "resnet9, fp32 on both sides, 128 per rank", lambda _: sides.our_rate("resnet9", 128, 10),
                  lambda form, _: sides.their_rate(form, "resnet9", 128, 10), families_of_training("--fp32"),
                  {"tuned": (*TUNED, "--fp32"), "tutorial": TUTORIAL})
    yield recipe_row(sides, ours, theirs)
    yield Row("two-ranks", f"resnet9, {precision}, 128 per rank, 2 ranks; 2 runs of 1 rank at the same time, each on its own core",
              lambda _: sides.our_rate("resnet9", 128, 10, *ours), lambda *_: sides.rates_alone("resnet9", 128, 10, *ours))
    yield Row("memory", f"peak memory of the second rank, resnet9, {precision} (proportional set size), --share-weights; PyTorch's least",
              lambda _: sides.our_memory("--share-weights", *ours), lambda form, _: sides.their_memory(form),
              {**families_of_training(*theirs, more=either), (*TUNED, *theirs): ()}, {"tuned": (*TUNED, *theirs), "tutorial": TUTORIAL},
              unit="bytes", faster=False)
    # Compiling would take longer than all else in this command.
    yield Row("start", "simple, fp32, one step: the whole command; torchrun", lambda _: sides.our_start(),
              lambda form, _: sides.their_start(form), {(*TUNED, "--fp32"): (), ("ddp_compiled.py", "--fp32"): ()},
              {"tuned": (*TUNED, "--fp32"), "tutorial": TUTORIAL}, unit="s", faster=False)
    yield Row("pack", "pack CIFAR-10 from its folder", lambda _: sides.our_packing(sides.folder / "again.h5"), unit="s", faster=False)
    yield Row("evaluation", f"evaluation of 10,000 images, resnet18, {precision}", lambda _: sides.our_evaluation(*ours),
              lambda form, _: sides.their_evaluation(form),
              {("evaluation.py", *theirs): SETTINGS, ("evaluation.py", *theirs, "--compile"): SETTINGS}, unit="s", faster=False)


def recipe_row(sides, ours, theirs):
    accuracies = {"tandem": [], "the peer": []}

    def seconds(side, summary):
        accuracies[side].append((summary["test_accuracy"], summary["test_accuracy_tta"]))
        return summary["train_seconds"]

    def said():
        means = {side: tuple(statistics.mean(values) for values in zip(*found)) for side, found in accuracies.items()}
        text = "; ".join(f"accuracy of {side} {plain:.4f}, {views:.4f} with test-time augmentation" for side, (plain, views) in means.items())
        reached = all(found >= least for found, least in zip(means["tandem"], RECIPE_ACCURACIES))
        return text if reached else f"{text}: less than {RECIPE_ACCURACIES}"

    return Row("cifar10-fast", "the recipe cifar10-fast, seconds of steps; fast_cifar10.py",
               lambda number: seconds("tandem", sides.our_recipe(number + 1, *ours)),
               lambda form, number: seconds("the peer", sides.their_recipe(form, number + 1)),
               {("fast_cifar10.py", *theirs): SETTINGS, ("fast_cifar10.py", *theirs, "--compile"): SETTINGS}, unit="s", faster=False,
               trial=lambda form: sides.their_recipe(form, 1, "--epochs", "0.4")["train_seconds"], mlperf=True, remark=said)


def link_names(sides):
    """Rows of two hosts whose exchange the program has."""
    return [name for name, (_, gradients) in LINKS.items() if sides.has_gradients(gradients)]


@contextlib.contextmanager
def link_row(name, sides, processor):
    """A row of two hosts. The hosts exist while the context lasts."""
    from network import Network  # pylint: disable=import-outside-toplevel
    rate, gradients = LINKS[name]
    precision = "bf16" if processor.has_bf16 else "fp32"
    ours, theirs = sides.words_of(precision)
    # With its two default buckets DDP's PowerSGD hook hangs over gloo, because it waits for a sum within a callback.
    hook, buckets = (("--hook", gradients), BUCKETS) if gradients != "powersgd" else (("--hook", gradients, "--bucket-mb", "1024"), ())
    with Network(2, rate, sides.folder) as network:
        # The tuned form sends fp32 only.
        yield Row(name, f"resnet9, {precision}, 32 per rank, two hosts at {rate}, gradients as {gradients} on both sides",
                  lambda _: sides.our_rate_on(network, *ours, "--grad-dtype", gradients), lambda form, _: sides.their_rate_on(network, form),
                  families_of_training(*theirs, *hook, more=buckets), {"tuned": (*TUNED, *theirs)} if gradients == "fp32" else {},
                  remark=sides.said_of_bytes)
