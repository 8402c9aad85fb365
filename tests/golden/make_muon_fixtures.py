#!/usr/bin/env python3
"""Writes muon.json beside this file: what Muon and the SGD beside it make of a few small parameters, computed by PyTorch in
double precision from the published formulas. Run it again only to add cases:

    PYTHON_WITH_TORCH tests/golden/make_muon_fixtures.py
"""

import json
import pathlib
import random

import torch

STEPS = 4
OPTIONS = {"momentum": 0.6, "head_rate": 0.67, "bias_rate": 0.053, "sgd_momentum": 0.85, "weight_decay": 0.004, "early_steps": 3}
PEAK = 0.24
SHARES = [1.0, 0.75, 0.5, 0.25]  # of the peak rate, by step
# As a network registers them; the last one of more than one dimension is the head.
SHAPES = {"early": [5], "wide": [4, 3, 2, 2], "tall": [12, 2, 2, 1], "matrix": [3, 7], "bias": [4], "head": [2, 6]}


def orthogonalized(matrix):
    x = matrix / (matrix.norm() + 1e-7)
    if matrix.shape[0] > matrix.shape[1]:
        return orthogonalized(matrix.T).T
    for _ in range(3):
        square = x @ x.T
        x = 3.4445 * x - 4.7750 * square @ x + 2.0315 * square @ square @ x
    return x


def main():
    rng = random.Random("muon")
    draw = lambda shape: torch.tensor([rng.gauss(0, 1) for _ in range(torch.Size(shape).numel())], dtype=torch.float32).view(shape)
    values = {name: draw(shape).double() for name, shape in SHAPES.items()}
    velocity = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in SHAPES.items()}
    case = {"options": OPTIONS, "peak": PEAK, "shares": SHARES, "shapes": list(SHAPES.items()),
            "initial": {name: value.flatten().tolist() for name, value in values.items()}, "gradients": [], "expected": []}
    for step, share in enumerate(SHARES):
        gradients = {name: draw(shape) for name, shape in SHAPES.items()}
        case["gradients"].append({name: gradient.flatten().tolist() for name, gradient in gradients.items()})
        for name, value in values.items():
            gradient, rows = gradients[name].double(), value.shape[0]
            if name in ("wide", "tall", "matrix"):
                velocity[name] = OPTIONS["momentum"] * velocity[name] + gradient
                direction = (gradient + OPTIONS["momentum"] * velocity[name]).reshape(rows, -1)
                if value.dim() == 4:
                    value *= rows ** 0.5 / value.norm()
                value -= PEAK * share * orthogonalized(direction).reshape(value.shape)
            else:
                rate = OPTIONS["head_rate"] if name == "head" else OPTIONS["bias_rate"]
                now = rate * (max(0, 1 - step / OPTIONS["early_steps"]) if name == "early" else share)
                change = gradient + OPTIONS["weight_decay"] / rate * value
                velocity[name] = OPTIONS["sgd_momentum"] * velocity[name] + change
                value -= now * (change + OPTIONS["sgd_momentum"] * velocity[name])
        case["expected"].append({name: value.flatten().tolist() for name, value in values.items()})
    path = pathlib.Path(__file__).resolve().parent / "muon.json"
    path.write_text(json.dumps(case, indent=1) + "\n")


main()
