#!/usr/bin/env python3
"""Writes layerwise.json beside this file: what timm's Lars and Lamb make of a few small parameters. Run it again only to add
cases:

    PYTHON_WITH_TORCH_AND_TIMM tests/golden/make_layerwise_fixtures.py

timm 1.0.31 wrote the file. Parameters of one dimension are in a group of their own, without weight decay, as timm's
factories do it. Those of more dimensions are adapted without weight decay too (always_adapt), as in the papers.
"""

import importlib.metadata
import json
import pathlib
import random

import torch
from timm.optim import Lamb, Lars

STEPS = 4
SHAPES = {"filters": [3, 2, 2, 1], "matrix": [3, 4], "zero": [2, 3], "unused": [2, 2], "bias": [5]}
RATES = [1.0, 0.5, 2.0, 0.25]  # times the case's rate, by step


def case(name, optimizer, rate, **settings):
    rng = random.Random(name)
    draw = lambda shape, scale: torch.tensor([rng.gauss(0, scale) for _ in range(torch.Size(shape).numel())]).view(shape)
    parameters = {key: torch.nn.Parameter(draw(shape, 0 if key == "zero" else 0.5)) for key, shape in SHAPES.items()}
    made = {"name": name, "optimizer": optimizer, "rates": [rate * share for share in RATES], "momentum": 0.9,
            "nesterov": False, "weight_decay": 0.0, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6,
            "trust_coefficient": 0.001, **settings}
    made["initial"] = {key: value.flatten().tolist() for key, value in parameters.items()}
    groups = [{"params": [value for value in parameters.values() if value.dim() > 1], "weight_decay": made["weight_decay"],
               "always_adapt": True},
              {"params": [value for value in parameters.values() if value.dim() < 2], "weight_decay": 0.0}]
    if optimizer == "lars":
        update = Lars(groups, lr=rate, momentum=made["momentum"], nesterov=made["nesterov"],
                      trust_coeff=made["trust_coefficient"])
    else:
        update = Lamb(groups, lr=rate, betas=(made["beta1"], made["beta2"]), eps=made["epsilon"], max_grad_norm=None)
    made["gradients"], made["expected"] = [], []
    for rate in made["rates"]:
        for group in update.param_groups:
            group["lr"] = rate
        gradients = {key: draw(shape, 0 if key == "unused" else 0.1) for key, shape in SHAPES.items()}
        for key, value in parameters.items():
            value.grad = gradients[key].clone()
        update.step()
        made["gradients"].append({key: value.flatten().tolist() for key, value in gradients.items()})
        made["expected"].append({key: value.detach().flatten().tolist() for key, value in parameters.items()})
    return made


def main():
    cases = [case("lars", "lars", 2.0), case("lars with weight decay", "lars", 4.0, weight_decay=5e-4),
             case("lars with nesterov and another coefficient", "lars", 1.0, weight_decay=0.01, nesterov=True,
                  trust_coefficient=0.02),
             case("lars without momentum", "lars", 1.0, weight_decay=0.01, momentum=0.0),
             case("lamb", "lamb", 0.01),
             case("lamb with weight decay", "lamb", 0.02, weight_decay=0.1),
             case("lamb with other betas", "lamb", 0.02, weight_decay=0.01, beta1=0.8, beta2=0.95, epsilon=1e-8)]
    made_with = f"timm {importlib.metadata.version('timm')}, PyTorch {torch.__version__.split('+')[0]}"
    text = json.dumps({"made_with": made_with, "shapes": list(SHAPES.items()), "cases": cases})
    path = pathlib.Path(__file__).resolve().parent / "layerwise.json"
    path.write_text(text.replace('{"name"', '\n{"name"').replace('], "', '],\n"') + "\n")


main()
