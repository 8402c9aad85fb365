"""tandem's networks in PyTorch, and its model files and checkpoints there: one file, to be copied. Needs torch and
safetensors.

    network, info = tandem_models.load("runs/first")           # a run, a model.safetensors or a checkpoint
    logits = network(tandem_models.normalise(images, info))    # images: uint8 [N, C, H, W]

The networks are written independently of the C++ ones and have the same names, shapes and logits.
"""

import fnmatch
import json
import pathlib

import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import nn

OPTIMIZER = "optimizer."  # in front of the names of an optimizer's arrays
JSON_VALUES = ("classes", "hidden", "input_shape", "mean", "options", "state", "std")


class Mlp(nn.Sequential):
    def __init__(self, shape, classes, hidden):
        super().__init__()
        channels, height, width = shape
        sizes = [channels * height * width, *hidden, classes]
        self.add_module("flatten", nn.Flatten())
        for number, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]), 1):
            if number > 1:
                self.add_module(f"relu{number - 1}", nn.ReLU())
            self.add_module(f"fc{number}", nn.Linear(inputs, outputs))


class LeNet(nn.Module):
    def __init__(self, shape, classes, padding):
        super().__init__()
        channels, height, width = shape
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=padding)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        with torch.no_grad():
            features = self.features(torch.zeros(1, channels, height, width)).shape[1]
        self.fc1 = nn.Linear(features, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def features(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        return torch.flatten(x, 1)

    def forward(self, x):
        x = F.relu(self.fc1(self.features(x)))
        return self.fc3(F.relu(self.fc2(x)))


class ConvBnRelu(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class ResNet9(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.prep = ConvBnRelu(shape[0], 64)
        self.layer1 = ConvBnRelu(64, 128)
        self.res1 = nn.Sequential(ConvBnRelu(128, 128), ConvBnRelu(128, 128))
        self.layer2 = ConvBnRelu(128, 256)
        self.layer3 = ConvBnRelu(256, 512)
        self.res3 = nn.Sequential(ConvBnRelu(512, 512), ConvBnRelu(512, 512))
        self.linear = nn.Linear(512, classes, bias=False)

    def forward(self, x):
        x = F.max_pool2d(self.layer1(self.prep(x)), 2)
        x = x + self.res1(x)
        x = F.max_pool2d(self.layer2(x), 2)
        x = F.max_pool2d(self.layer3(x), 2)
        x = x + self.res3(x)
        return self.linear(F.adaptive_max_pool2d(x, 1).flatten(1)) * 0.125


class Residual(nn.Module):
    """x + convolutions of x. inputs: channels of x. layers: (output channels, kernel side, stride) of each convolution."""

    def __init__(self, inputs, layers):
        super().__init__()
        channels, stride = inputs, 1
        for number, (outputs, kernel, step) in enumerate(layers, 1):
            self.add_module(f"conv{number}", nn.Conv2d(channels, outputs, kernel, step, padding=kernel // 2, bias=False))
            self.add_module(f"bn{number}", nn.BatchNorm2d(outputs))
            channels, stride = outputs, stride * step
        self.downsample = None
        if stride != 1 or inputs != channels:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))


class BasicBlock(Residual):
    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)) + shortcut)


class Bottleneck(Residual):
    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return F.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet(nn.Module):
    def __init__(self, name, shape, classes, stem):
        super().__init__()
        width, kernel, stride = 64, *((7, 2) if stem == "imagenet" else (3, 1))
        self.conv1 = nn.Conv2d(shape[0], width, kernel, stride, padding=kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, 2, 1) if stem == "imagenet" else nn.Identity()
        channels = width
        for number, blocks in enumerate((2, 2, 2, 2) if name == "resnet18" else (3, 4, 6, 3), 1):
            layer = nn.Sequential()
            for i in range(blocks):
                stride = 2 if i == 0 and number > 1 else 1
                if name == "resnet50":
                    layer.append(Bottleneck(channels, [(width, 1, 1), (width, 3, stride), (4 * width, 1, 1)]))
                    channels = 4 * width
                else:
                    layer.append(BasicBlock(channels, [(width, 3, stride), (width, 3, 1)]))
                    channels = width
            self.add_module(f"layer{number}", layer)
            width *= 2
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class ShiftNorm(nn.Module):
    """BatchNorm that only shifts."""

    def __init__(self, channels):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, None, self.bias, self.training, momentum=0.4, eps=1e-12)


class FastGroup(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm1 = ShiftNorm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = ShiftNorm(outputs)

    def forward(self, x):
        x = F.gelu(self.norm1(F.max_pool2d(self.conv1(x), 2)))
        return F.gelu(self.norm2(self.conv2(x)))


class FastNet(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        channels = shape[0]
        self.whiten = nn.Conv2d(channels, 8 * channels, 2)
        del self.whiten.weight  # it is not trained
        self.whiten.register_buffer("weight", torch.zeros(8 * channels, channels, 2, 2))
        self.group1 = FastGroup(8 * channels, 64)
        self.group2 = FastGroup(64, 256)
        self.group3 = FastGroup(256, 256)
        self.head = nn.Linear(256, classes, bias=False)

    def forward(self, x):
        x = self.group3(self.group2(self.group1(F.gelu(self.whiten(x)))))
        return self.head(F.max_pool2d(x, x.shape[2:]).flatten(1)) / 256


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads = width // 64
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        images, tokens, width = x.shape
        qkv = self.qkv(x).reshape(images, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
        return self.proj(x.transpose(1, 2).reshape(images, tokens, width))


class Perceptron(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class TransformerBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = Perceptron(width)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, shape, classes, width):
        super().__init__()
        channels, height, column = shape
        patch = 16 if min(height, column) >= 96 else 4
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, (height // patch) * (column // patch) + 1, width))
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(channels, width, patch, patch)
        self.blocks = nn.Sequential(*(TransformerBlock(width) for _ in range(12)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch_embed.proj(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x)[:, 0]))


NETWORKS = ("mlp", "lenet", "simple", "fastnet", "resnet9", "resnet18", "resnet34", "resnet50", "vit-tiny", "vit-small")
STEMS = ("resnet18", "resnet34", "resnet50")  # the networks that have a choice of stem


def make_network(name, shape, classes, hidden=(512, 512), stem="cifar"):
    """A network with random weights. shape: (channels, height, width) of an image, in pixels. classes: their number. hidden:
    widths of the hidden layers, of mlp only. stem: "cifar" or "imagenet", of STEMS only. Raises ValueError for another name."""
    if name == "mlp":
        return Mlp(shape, classes, hidden)
    if name == "lenet":
        return LeNet(shape, classes, padding=2 if min(shape[1:]) < 32 else 0)
    if name == "simple":
        return LeNet(shape, classes, padding=0)
    if name == "fastnet":
        return FastNet(shape, classes)
    if name == "resnet9":
        return ResNet9(shape, classes)
    if name in STEMS:
        return ResNet(name, shape, classes, stem)
    if name in ("vit-tiny", "vit-small"):
        return VisionTransformer(shape, classes, width=192 if name == "vit-tiny" else 384)
    raise ValueError(f"no network of tandem is called '{name}', expected {', '.join(NETWORKS)}")


def read(path):
    """The tensors of a file by name, and what its metadata says. A run folder stands for the file that tandem takes of it:
    its best checkpoint, else its model, else its newest checkpoint."""
    path = pathlib.Path(path)
    if path.is_dir():
        model = path / "model/model.safetensors"
        places = [path / "checkpoints/best.safetensors", model, *sorted(path.glob("checkpoints/step-*.safetensors"))[-1:]]
        path = next((place for place in places if place.exists()), model)
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        metadata = file.metadata() or {}
    return tensors, {key: json.loads(value) if key in JSON_VALUES else value for key, value in metadata.items()}


def load(path):
    """The trained network, in evaluation mode, and the file's metadata."""
    tensors, info = read(path)
    network = make_network(info["model"], info["input_shape"], len(info["classes"]), info.get("hidden", (512, 512)),
                           info.get("stem", "cifar"))
    network.load_state_dict({name: tensor for name, tensor in tensors.items() if not name.startswith(OPTIMIZER)})
    return network.eval(), info


def normalise(images, info):
    """uint8 [N, C, H, W] to what a network takes, with tandem's arithmetic: one factor and one offset a channel, computed
    in double and rounded once."""
    mean, std = (torch.tensor(info[name], dtype=torch.float64).reshape(1, -1, 1, 1) for name in ("mean", "std"))
    return torch.as_tensor(images).float() * (1 / (255 * std)).float() - (mean / std).float()


def layer_groups(options, network):
    """{factor: parameters}, by the factors of --lr-scale, 1 where no pattern fits. Parameters that fit --freeze get
    requires_grad False and are in no group. options: those of a checkpoint's metadata."""
    frozen = [pattern for pattern in options.get("freeze", "").split(",") if pattern]
    scales = [scale.rsplit("=", 1) for scale in options.get("lr-scale", "").split(",") if scale]
    groups = {}
    for name, parameter in network.named_parameters():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in frozen):
            parameter.requires_grad_(False)
            continue
        factors = [float(factor) for pattern, factor in scales if fnmatch.fnmatchcase(name, pattern)]
        groups.setdefault(factors[-1] if factors else 1, []).append(parameter)
    return groups


def make_optimizer(path, network):
    """The optimizer of a checkpoint, with its state, over the parameters of `network`. Its learning rate is the peak; the
    schedule is the caller's."""
    tensors, info = read(path)
    options = info["options"]
    if float(options.get("ema", 0)):
        raise ValueError("with --ema the network of a checkpoint holds averages, and the optimizer's state belongs to the tensors "
                         "optimizer.trained_weights.*; copy them into the network and give a checkpoint without averages")
    number = {name: float(options[name]) for name in ("lr", "lr-reference-batch", "momentum", "weight-decay", "beta1",
                                                      "beta2", "epsilon")}
    scale = float(info["global_batch"]) / number["lr-reference-batch"] if number["lr-reference-batch"] else 1
    common = {"lr": number["lr"] * scale, "weight_decay": number["weight-decay"]}
    groups = [{"params": parameters, "lr": common["lr"] * factor} for factor, parameters in layer_groups(options, network).items()]
    if options["optimizer"] == "sgd":
        optimizer = torch.optim.SGD(groups, momentum=number["momentum"],
                                    nesterov=options["nesterov"] == "true", **common)
        arrays, state = {"velocity": "momentum_buffer"}, {}
    elif options["optimizer"] != "adamw":
        raise ValueError(f"PyTorch has no {options['optimizer']} that updates each parameter as tandem's does; expected sgd "
                         "or adamw")
    else:
        optimizer = torch.optim.AdamW(groups, betas=(number["beta1"], number["beta2"]), eps=number["epsilon"],
                                      **common)
        arrays, state = {"first_moment": "exp_avg", "second_moment": "exp_avg_sq"}, {"step": float(info["optimizer_steps"])}
    for name, parameter in network.named_parameters():
        mine = {theirs: tensors[f"{OPTIMIZER}{ours}.{name}"].clone() for ours, theirs in arrays.items()
                if f"{OPTIMIZER}{ours}.{name}" in tensors}
        mine.update({key: torch.tensor(value) for key, value in state.items()})
        if mine:
            optimizer.state[parameter] = mine
    return optimizer
