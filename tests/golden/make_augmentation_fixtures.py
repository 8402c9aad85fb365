#!/usr/bin/env python3
"""Writes augmentations.json beside this file: what torchvision's transforms (v2) make of small images with given
parameters, and how their draws are distributed. Run it again only to add cases:

    PYTHON_WITH_TORCH_AND_TORCHVISION tests/golden/make_augmentation_fixtures.py

torchvision 0.26.0 wrote the file. Bytes are hexadecimal, images are channel by channel.
"""

import json
import math
import pathlib
from unittest import mock

import torch
import torchvision
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

SHAPE = (3, 9, 11)
DRAWS = 100000


def pattern(*shape):
    """The bytes that pattern() of the tests makes: value i is (37 i + 11 floor(i / 7)) mod 256."""
    i = torch.arange(math.prod(shape))
    return ((37 * i + i // 7 * 11) % 256).to(torch.uint8).reshape(shape)


def hexadecimal(image):
    return bytes(image.contiguous().flatten().tolist()).hex()


def resized_crops():
    for shape, region, size in (((3, 9, 11), (1, 2, 5, 7), (9, 11)), ((1, 8, 8), (0, 0, 8, 3), (8, 8)),
                                ((3, 6, 5), (2, 1, 1, 1), (6, 5)), ((3, 16, 20), (3, 1, 13, 17), (5, 7)),
                                ((1, 30, 9), (0, 0, 30, 9), (4, 9)), ((3, 32, 32), (3, 5, 23, 19), (32, 32))):
        image = pattern(*shape)
        top, left, height, width = region
        part = image[:, top:top + height, left:left + width]
        floats = functional.resize(part.to(torch.float32), list(size), antialias=True)
        yield {"shape": shape, "region": region, "to": size, "values": hexadecimal(floats.round().to(torch.uint8)),
               "of_bytes": hexadecimal(functional.resized_crop(image, *region, list(size), antialias=True))}


def color_ops():
    makers = {"brightness": functional.adjust_brightness, "contrast": functional.adjust_contrast,
              "saturation": functional.adjust_saturation, "hue": functional.adjust_hue}
    for kind, amount in (("brightness", 0.37), ("brightness", 1.73), ("contrast", 0.21), ("contrast", 1.87),
                         ("saturation", 0.43), ("saturation", 1.61), ("hue", -0.5), ("hue", -0.13), ("hue", 0.31)):
        for shape in (SHAPE, (1, 5, 6)):
            yield {"kind": kind, "amount": amount, "shape": shape, "values": hexadecimal(makers[kind](pattern(*shape), amount))}


def policies():
    """Each operation at two magnitudes and both signs. Those at which shears have places between two pixels are left out:
    there torchvision's result depends on the last bits of its sums."""
    for name, policy in (("rand", v2.RandAugment()), ("trivial", v2.TrivialAugmentWide())):
        for index, (kind, (levels, is_signed)) in enumerate(policy._AUGMENTATION_SPACE.items()):
            if kind == "Identity":
                continue
            values = levels(31, *SHAPE[1:])
            for magnitude in (7, 23) if values is not None else (0,):
                for is_negative in (False, True) if is_signed else (False,):
                    amount = float(values[magnitude]) if values is not None else 0.0
                    # Without a magnitude they depend on the values that occur.
                    image = pattern(*SHAPE) if values is not None else pattern(3, 17, 20) // 3 + 50
                    made = policy._apply_image_or_video_transform(image, kind, -amount if is_negative else amount,
                                                                  v2.InterpolationMode.NEAREST, policy._fill)
                    yield {"policy": name, "index": index, "kind": kind, "magnitude": magnitude, "negative": is_negative,
                           "shape": list(image.shape), "values": hexadecimal(made)}


def normalized(count):
    return pattern(count, 2, 4, 5).to(torch.float32) / 64 - 2


def mixes():
    """The values of MixUp and CutMix, and the targets."""
    labels = torch.tensor([3, 0, 2, 3])
    for lam in (0.25, 0.8125, 0.5, 1.0):
        mixup = v2.MixUp(num_classes=4)
        params = {"labels": labels, "batch_size": 4, "lam": lam}
        yield {"kind": "mixup", "lambda": lam, "values": mixup.transform(normalized(4), params).flatten().tolist(),
               "targets": mixup._mixup_label(labels, lam=lam).tolist()}
    for lam, x, y in ((0.25, 2, 1), (0.8125, 4, 3), (0.5, 0, 0), (1.0, 3, 2)):
        cutmix = v2.CutMix(num_classes=4)
        cutmix._dist = mock.Mock(sample=lambda _, value=lam: torch.tensor(value, dtype=torch.float64))
        with mock.patch("torch.randint", side_effect=[torch.tensor([x]), torch.tensor([y])]):
            params = {"labels": labels, "batch_size": 4, **cutmix.make_params([normalized(4)])}
        yield {"kind": "cutmix", "lambda": lam, "center": [y, x], "own": params["lam_adjusted"],
               "values": cutmix.transform(normalized(4), params).flatten().tolist(),
               "targets": cutmix._mixup_label(labels, lam=params["lam_adjusted"]).tolist()}


def erasing():
    image = normalized(1)[0]
    return {"region": [1, 2, 2, 3], "values": functional.erase(image, 1, 2, 2, 3, torch.zeros(1)).flatten().tolist()}


def losses():
    generator = torch.Generator().manual_seed(3)
    for smoothing in (0.0, 0.1):
        logits = torch.randn((5, 4), generator=generator).mul(2).requires_grad_()
        labels, others = torch.randint(4, (2, 5), generator=generator)
        shares = torch.rand(5, generator=generator) / 2
        one_hot = torch.nn.functional.one_hot
        targets = one_hot(labels, 4) * (1 - shares)[:, None] + one_hot(others, 4) * shares[:, None]
        loss = torch.nn.functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
        loss.backward()
        yield {"label_smoothing": smoothing, "logits": logits.tolist(), "labels": labels.tolist(), "others": others.tolist(),
               "shares": shares.tolist(), "loss": loss.item(), "gradient": logits.grad.tolist()}


def moments(rows):
    rows = torch.tensor(rows, dtype=torch.float64)
    return {"draws": len(rows), "mean": rows.mean(0).tolist(), "deviation": rows.std(0).tolist()}


def draws():
    """Mean and deviation of [top, left, height, width]."""
    torch.manual_seed(1)
    image = torch.zeros((3, 32, 48), dtype=torch.uint8)
    result = {}
    for name, scale, ratio in (("resized-crop", 0.08, 0.75), ("resized-crop=0.5,0.3", 0.5, 0.3)):
        crop = v2.RandomResizedCrop((32, 48), scale=(scale, 1.0), ratio=(ratio, 1 / ratio))
        regions = (crop.make_params([image]) for _ in range(DRAWS))
        result[name] = moments([[each[key] for key in ("top", "left", "height", "width")] for each in regions])
    erase = v2.RandomErasing()
    regions = (erase.make_params([image]) for _ in range(DRAWS))
    result["random-erasing"] = moments([[each[key] for key in ("i", "j", "h", "w")] for each in regions if each["v"] is not None])
    return result


def main():
    torch.set_num_threads(1)
    content = {"made_with": f"torchvision {torchvision.__version__.split('+')[0]}", "resized_crops": list(resized_crops()),
               "color_ops": list(color_ops()), "policies": list(policies()), "mixes": list(mixes()), "erasing": erasing(),
               "losses": list(losses()), "draws": draws()}
    lines = json.dumps(content).replace('{"', '\n{"')
    (pathlib.Path(__file__).resolve().parent / "augmentations.json").write_text(lines.lstrip() + "\n")


if __name__ == "__main__":
    main()
