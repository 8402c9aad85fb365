#!/usr/bin/env python3
"""Writes what PyTorch's optimizers, schedules and loss really compute, for the tests of tandem's own:
optimizers.json, schedules.json, losses.json and averages.json beside this file. Run it again only to add cases:

    PYTHON_WITH_TORCH tests/golden/make_optimizer_fixtures.py

Parameters, gradients and losses are float32, written as the double of the same value; learning rates are double.
"""

import json
import math
import pathlib
import random

import torch

STEPS = 5
SIZE = 8
FOLDER = pathlib.Path(__file__).resolve().parent


def values(rng, count, scale=1.0):
    """`count` normal numbers, rounded to float32."""
    return torch.tensor([rng.gauss(0, scale) for _ in range(count)], dtype=torch.float32).tolist()


def optimizer_case(name, optimizer, lrs, **settings):
    """One parameter tensor over STEPS steps; lrs[i] is the learning rate of step i."""
    case = {"name": name, "optimizer": optimizer, "lr": lrs[0], "lrs": lrs, "momentum": 0.0, "nesterov": False,
            "weight_decay": 0.0, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    case.update(settings)
    rng = random.Random(name)
    case["initial"] = values(rng, SIZE)
    # Gradients of very different sizes, and one that is always zero, as of a unit that is never active.
    scales = [1.0, 1.0, 0.1, 1e-3, 10.0, 1.0, 1e-6, 0.0]
    case["gradients"] = [[g * s for g, s in zip(values(rng, SIZE), scales)] for _ in range(STEPS)]
    case["gradients"] = [torch.tensor(g, dtype=torch.float32).tolist() for g in case["gradients"]]

    parameter = torch.nn.Parameter(torch.tensor(case["initial"]))
    if optimizer == "sgd":
        update = torch.optim.SGD([parameter], lr=lrs[0], momentum=case["momentum"], nesterov=case["nesterov"],
                                 weight_decay=case["weight_decay"], foreach=False)
    else:
        update = torch.optim.AdamW([parameter], lr=lrs[0], betas=(case["beta1"], case["beta2"]), eps=case["epsilon"],
                                   weight_decay=case["weight_decay"], foreach=False)
    case["expected"] = []
    for lr, gradient in zip(lrs, case["gradients"]):
        update.param_groups[0]["lr"] = lr
        parameter.grad = torch.tensor(gradient)
        update.step()
        case["expected"].append(parameter.detach().tolist())
    return case


def optimizer_cases():
    changing = [0.1, 0.2, 0.05, 0.4, 0.01]
    yield optimizer_case("sgd", "sgd", [0.1] * STEPS)
    yield optimizer_case("sgd with weight decay", "sgd", [0.1] * STEPS, weight_decay=0.01)
    yield optimizer_case("sgd with momentum", "sgd", [0.1] * STEPS, momentum=0.9)
    yield optimizer_case("sgd with momentum and weight decay", "sgd", [0.1] * STEPS, momentum=0.9, weight_decay=5e-4)
    yield optimizer_case("sgd with nesterov", "sgd", [0.1] * STEPS, momentum=0.9, nesterov=True)
    yield optimizer_case("sgd with nesterov and weight decay", "sgd", [0.1] * STEPS, momentum=0.85, nesterov=True,
                         weight_decay=5e-4)
    yield optimizer_case("sgd with everything and a changing learning rate", "sgd", changing, momentum=0.9,
                         nesterov=True, weight_decay=5e-4)
    yield optimizer_case("adamw without weight decay", "adamw", [0.001] * STEPS)
    yield optimizer_case("adamw with weight decay", "adamw", [0.001] * STEPS, weight_decay=0.01)
    yield optimizer_case("adamw with other betas and epsilon", "adamw", [0.01] * STEPS, weight_decay=0.1, beta1=0.8,
                         beta2=0.95, epsilon=1e-6)
    yield optimizer_case("adamw with a changing learning rate", "adamw", [lr / 100 for lr in changing],
                         weight_decay=0.05)


def rates(make_schedule, lr, steps):
    """The learning rate of each step, 0 … steps-1."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    schedule = make_schedule(optimizer)
    seen = []
    for _ in range(steps):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return seen


def schedule_cases():
    """Warm-up over W steps gives step i the rate lr * (i + 1) / W, so that step W-1 already has the full one. Cosine and
    the falling side of the triangle then take total_steps - W steps to 0; the drops of step count from the first step."""
    schedulers = torch.optim.lr_scheduler
    total, warmup, lr = 30, 6, 0.4

    def rising(optimizer):
        return schedulers.LinearLR(optimizer, start_factor=1 / warmup, total_iters=warmup - 1)

    def constant(optimizer, _):
        return schedulers.LambdaLR(optimizer, lambda i: 1.0)

    def cosine(optimizer, length):
        return schedulers.CosineAnnealingLR(optimizer, T_max=length)

    def falling(optimizer, length):
        return schedulers.LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=length)

    def step(optimizer, _):
        return schedulers.StepLR(optimizer, step_size=8, gamma=0.3)

    def polynomial(power):
        return lambda optimizer, length: schedulers.PolynomialLR(optimizer, total_iters=length, power=power)

    def alone(make_main):
        return rates(lambda optimizer: make_main(optimizer, total), lr, total)

    def warmed(make_main):
        def make(optimizer):
            parts = [rising(optimizer), make_main(optimizer, total - warmup)]
            return schedulers.SequentialLR(optimizer, parts, milestones=[warmup])
        return rates(make, lr, total)

    def case(name, schedule, warmup_steps, expected, **more):
        return {"name": name, "schedule": schedule, "lr": lr, "total_steps": total, "warmup_steps": warmup_steps,
                **more, "expected": expected}

    drops = {"step_size": 8, "gamma": 0.3}
    yield case("constant", "constant", 0, alone(constant))
    yield case("cosine", "cosine", 0, alone(cosine))
    yield case("step", "step", 0, alone(step), **drops)
    yield case("constant after warm-up", "constant", warmup, warmed(constant))
    yield case("cosine after warm-up", "cosine", warmup, warmed(cosine))
    yield case("triangle", "triangle", warmup, warmed(falling))
    yield case("polynomial", "polynomial", 0, alone(polynomial(2)), power=2)
    yield case("polynomial after warm-up", "polynomial", warmup, warmed(polynomial(0.9)), power=0.9)
    both = rates(lambda o: schedulers.ChainedScheduler([rising(o), step(o, total)]), lr, total)
    yield case("step with warm-up", "step", warmup, both, **drops)


def loss_cases():
    rng = random.Random("losses")
    logits = [values(rng, 5, scale=3.0) for _ in range(4)]
    labels = [0, 3, 4, 1]
    class_weights = torch.tensor([0.5, 1.0, 2.0, 0.25, 4.0])
    for smoothing, weight in ((0.0, None), (0.1, None), (0.0, class_weights), (0.1, class_weights)):
        tensor = torch.tensor(logits, requires_grad=True)
        loss = torch.nn.functional.cross_entropy(tensor, torch.tensor(labels), reduction="sum",
                                                 label_smoothing=smoothing, weight=weight)
        loss.backward()
        weighted = {} if weight is None else {"class_weights": weight.tolist()}
        yield {"name": f"cross entropy, sum, label smoothing {smoothing}{', weighted' if weighted else ''}",
               "label_smoothing": smoothing, **weighted, "logits": logits, "labels": labels, "expected_loss": loss.item(),
               "expected_gradient": tensor.grad.tolist()}


def average_cases():
    """torch.optim.swa_utils.AveragedModel of a parameter and a buffer, which take new values in each step. It would take
    over the first values whole, so it is told that it has taken some before: those that it was made with."""
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
    for decay in (0.9, 0.999):
        rng = random.Random(f"average {decay}")
        network = torch.nn.Module()
        network.register_parameter("weight", torch.nn.Parameter(torch.tensor(values(rng, SIZE))))
        network.register_buffer("running_mean", torch.tensor(values(rng, 3)))
        case = {"name": f"decay {decay}", "decay": decay, "initial_weight": network.weight.tolist(),
                "initial_buffer": network.running_mean.tolist(), "weights": [], "buffers": [], "expected_weights": [],
                "expected_buffers": []}
        averaged = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)
        averaged.n_averaged.fill_(1)
        for _ in range(STEPS):
            case["weights"].append(values(rng, SIZE))
            case["buffers"].append(values(rng, 3))
            with torch.no_grad():
                network.weight.copy_(torch.tensor(case["weights"][-1]))
                network.running_mean.copy_(torch.tensor(case["buffers"][-1]))
            averaged.update_parameters(network)
            case["expected_weights"].append(averaged.module.weight.tolist())
            case["expected_buffers"].append(averaged.module.running_mean.tolist())
        yield case


def write(name, cases):
    cases = list(cases)
    text = json.dumps({"made_with": f"PyTorch {torch.__version__.split('+')[0]}", "cases": cases}, indent=1)
    # One line for each innermost list, so that a difference can be read.
    lines, open_list = [], None
    for line in text.split("\n"):
        stripped = line.strip()
        if open_list is not None:
            if stripped.startswith("]"):
                lines.append(open_list + " ".join(items) + stripped)
                open_list = None
            elif stripped.endswith("["):
                lines.append(open_list)
                open_list, items = line, []
            elif stripped.endswith("{"):
                lines.append(open_list)
                lines.append(line)
                open_list = None
            else:
                items.append(stripped)
        elif stripped.endswith("["):
            open_list, items = line, []
        else:
            lines.append(line)
    text = "\n".join(lines) + "\n"
    assert json.loads(text)["cases"] == cases
    assert all(math.isfinite(x) for x in flat(cases))
    (FOLDER / name).write_text(text)


def flat(node):
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from flat(child)
    elif isinstance(node, float):
        yield node


if __name__ == "__main__":
    write("optimizers.json", optimizer_cases())
    write("schedules.json", schedule_cases())
    write("losses.json", loss_cases())
    write("averages.json", average_cases())
