#!/usr/bin/env python3
"""Writes multi_label.json beside this file: PyTorch's BCEWithLogitsLoss, and average precision by a plain loop over the
ranked images, as scikit-learn's average_precision_score defines it. Run it again only to add cases:

    PYTHON_WITH_TORCH_AND_NUMPY tests/golden/make_multi_label_fixtures.py
"""

import json
import math
import pathlib

import numpy
import torch


def loss_case(smoothing, weighted, mixed):
    torch.manual_seed(7)
    logits = (3 * torch.randn(5, 4)).requires_grad_()
    targets = (torch.rand(5, 4) < 0.4).float()
    if mixed:
        targets = targets * 0.75 + targets.roll(1, 0) * 0.25
    weights = torch.tensor([0.5, 1, 2.5, 7]) if weighted else None
    smoothed = targets * (1 - smoothing) + smoothing / 2
    loss = torch.nn.BCEWithLogitsLoss(pos_weight=weights)(logits, smoothed) * len(logits)
    loss.backward()
    return {"label_smoothing": smoothing, "positive_weights": weights.tolist() if weighted else None,
            "logits": logits.tolist(), "targets": targets.tolist(), "loss": loss.item(), "gradient": logits.grad.tolist()}


def average_precision(scores, targets):
    """sum of (R_n - R_(n-1)) P_n over the thresholds, which are the scores."""
    if targets.sum() == 0:
        return None
    total, recall_before = 0.0, 0.0
    for threshold in sorted(set(scores.tolist()), reverse=True):
        chosen = targets[scores >= threshold]
        recall = chosen.sum() / targets.sum()
        total += (recall - recall_before) * chosen.mean()
        recall_before = recall
    return float(total)


def precision_cases():
    random = numpy.random.default_rng(3)
    for count, levels, share in ((1, 2, 1), (6, 100, 0.5), (50, 1000, 0.1), (50, 5, 0.3), (20, 1, 0.25), (40, 1000, 0)):
        scores = random.integers(0, levels, count).astype(numpy.float32) / 8 - 3
        targets = (random.random(count) < share).astype(float)
        yield {"scores": scores.tolist(), "targets": targets.tolist(), "expected": average_precision(scores, targets)}
    # The example of scikit-learn's documentation.
    yield {"scores": [0.1, 0.4, 0.35, 0.8], "targets": [0, 0, 1, 1], "expected": 0.8333333333333333}


def main():
    losses = [loss_case(*case) for case in ((0, False, False), (0.1, False, False), (0, True, False), (0.2, True, True))]
    written = {"made_with": f"PyTorch {torch.__version__}, NumPy {numpy.__version__}", "losses": losses,
               "precisions": list(precision_cases())}
    assert all(math.isfinite(each["loss"]) for each in losses)
    path = pathlib.Path(__file__).resolve().parent / "multi_label.json"
    path.write_text(json.dumps(written).replace("}, {", "},\n{") + "\n")


if __name__ == "__main__":
    main()
