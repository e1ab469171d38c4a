"""Dense models by blocks: what a worker does with one of them."""

from __future__ import annotations

import json
import math
from typing import Any, Dict, Iterator, List, Tuple

import numpy as np

from .. import _core
from .._arrays import Array
from .._errors import InvalidInput
from .._kernels import KernelSpec
from .._models import DenseCrf
from .._refine import _check_sums, _known, costs_of
from .._solve import solve
from ._gaussian import far_cost, normalised
from ._plan import Folder, metric_from_json, widened, within
from ._sparse import feasible
from ._store import Box, Source, Target, opened, shape_of, slices

STRIP = 4  # pixels beyond a seam where the labels of both sides are compared
STEP = 8.0  # of potentials, along the difference of a pixel's marginals and those beyond the seam


class Block:
    """One block of a plan: its boxes and what belongs to them."""

    def __init__(self, folder: Folder, number: int) -> None:
        self.folder, self.plan = folder, folder.plan
        self.number = number
        self.extent: Tuple[int, ...] = tuple(self.plan["extent"])
        self.core: Box = tuple((a, b) for a, b in self.plan["blocks"][number])
        self.window = widened(self.core, self.plan["halo"], self.extent)
        self.own = slices(within(self.core, self.window))

    def costs(self, box: Box) -> Array:
        """Unaries."""
        try:
            given = _known(Source(*self.plan["softmax"]).read(box), -1)
            costs = costs_of(given, self.plan["clip"])
            _check_sums(given, -1)
        except InvalidInput as error:
            raise InvalidInput(f"in the block that begins at {tuple(a for a, _ in box)}, {error}") from error
        costs = np.ascontiguousarray(costs, np.float32)
        costs /= np.float32(self.plan["softmax_temperature"])
        return costs

    def kernels(self, box: Box, scaled: bool = True) -> List[KernelSpec]:
        """Those of the whole, restricted to the box."""
        image = None
        if any(kernel["colour_sigma"] for kernel in self.plan["kernels"]):
            image = Source(*self.plan["image"]).read(box)
            if image.dtype.kind == "f" and not np.isfinite(image).all():
                raise InvalidInput(f"the image is not finite in the block that begins at {tuple(a for a, _ in box)}")
        return [
            KernelSpec(
                "bilateral" if kernel["colour_sigma"] else "position", tuple(reversed(kernel["sigma"])), kernel["weight"],
                tuple(kernel["colour_sigma"]), image if kernel["colour_sigma"] else None, kernel["normalised"],
                self.factors(number, box).reshape(-1) if scaled and kernel["normalised"] else None,
            )
            for number, kernel in enumerate(self.plan["kernels"])
        ]

    def factors(self, kernel: int, box: Box) -> Array:
        """r of the whole's normalisation, single precision: what is stored is what defines the model."""
        if not self.plan["kernels"][kernel]["normalised"]:
            return np.ones(shape_of(box), np.float32)
        return np.array(opened(self.folder.file(f"factors{kernel}.npy"))[slices(box)])

    def marginals(self, box: Box) -> Array:
        """Those that the lower bound is about; of lost blocks what the classifier says is most probable."""
        found = np.array(opened(self.folder.file("marginals.npy"))[slices(box)])
        for part in self.lost("label", box):
            labels = self.costs(part).argmin(axis=-1)
            found[slices(within(part, box))] = labels[..., np.newaxis] == np.arange(self.plan["labels"])
        return found

    def lost(self, phase: str, box: Box) -> Iterator[Box]:
        """The parts of a box whose blocks were given up in a phase: what their workers, if they live, may still write is nothing."""
        for number in self.folder.lost().get(phase, ()):
            part = tuple((max(a, int(c)), min(b, int(d))) for (a, b), (c, d) in zip(box, self.plan["blocks"][number]))
            if all(start < stop for start, stop in part):
                yield part

    def model(self, box: Box, costs: Array) -> DenseCrf:
        """The whole's model, restricted to the box: pairs that leave it are dropped."""
        return DenseCrf(costs, self.kernels(box), metric_from_json(self.plan["metric"]))

    def potentials(self, box: Box) -> Array:
        """Those of the pairs that blocks are without, see ``exchange``."""
        found = np.array(opened(self.folder.file("potentials.npy"))[slices(box)])
        for part in self.lost("exchange", box):
            found[slices(within(part, box))] = 0.0
        return found

    def cut_pairs(self, potentials: Array) -> Tuple[Array, Array, Array]:
        """What the block's unaries take over from pairs that leave it: sums, weights and errors."""
        own = np.zeros(shape_of(self.window), np.uint8)
        own[self.own] = 1
        labels = self.plan["labels"]
        model = self.model(self.window, np.zeros((*own.shape, labels), np.float32))
        sums, weights, errors = model._core.cut_pairs(
            potentials.astype(np.float32).reshape(-1, labels), own.reshape(-1), np.asarray(self.plan["cutoffs"], np.float64),
            self.plan["threads"],
        )
        shape = own.shape
        return sums.reshape(*shape, labels)[self.own], weights.reshape(shape)[self.own], errors.reshape(shape)[self.own]

    def shifted(self) -> Tuple[Array, float]:
        """Unaries with what they take over, and how much log Z may lack for its errors and roundings."""
        costs = self.costs(self.core)
        if len(self.plan["blocks"]) == 1:
            return costs, 0.0
        sums, _, errors = self.cut_pairs(self.potentials(self.window))
        exact = costs + sums
        found = exact.astype(np.float32)
        off = np.abs(found - exact).max(axis=-1) + errors + 1e-15 * np.abs(exact).max(axis=-1)
        return found, float(off.sum()) * (1.0 + 1e-9)

    def totals(self) -> List[float]:
        """The sum of the factors of each kernel, over the whole model."""
        with open(self.folder.file("totals.json"), encoding="utf-8") as file:
            found: List[float] = json.load(file)
        return found

    def options(self) -> Dict[str, Any]:
        """Of every solve."""
        return {"threads": self.plan["threads"], "max_memory": self.plan["max_memory"]}


def normalise(folder: Folder, number: int) -> Dict[str, Any]:
    """The factors of a block, from row sums over the block and its halo."""
    block = Block(folder, number)
    totals = []
    specs = block.kernels(block.window, scaled=False)
    for kernel, spec in enumerate(specs):
        if not spec.normalised:
            totals.append(float(math.prod(shape_of(block.core))))
            continue
        extent = shape_of(block.window)
        places = np.indices(extent, np.float64).reshape(len(extent), -1).T / folder.plan["kernels"][kernel]["sigma"]
        columns = [places]
        if spec.values is not None:
            columns.append(spec.values.reshape(len(places), -1) / np.asarray(spec.colour_sigma))
        found = _core.lattice_factors(np.hstack(columns)).reshape(extent)[block.own].astype(np.float32)
        target = opened(folder.file(f"factors{kernel}.npy"), mode="r+")
        target[slices(block.core)] = found
        target.flush()
        totals.append(float(found.sum(dtype=np.float64)) * (1.0 + 1e-9))
    return {"totals": totals}


def label(folder: Folder, number: int) -> Dict[str, Any]:
    """Labels of a block, by mean field on the block and its halo, and the marginals that will prove the lower end."""
    block = Block(folder, number)
    model = block.model(block.window, block.costs(block.window))
    options = dict(block.options(), certify="none", pairs="lattice", marginals_of="mean-field")
    result = solve(model, "mf", updates=folder.plan["updates"], **options)
    Target(*folder.plan["target"]).write(block.core, result.labels[block.own])
    strips = {}
    for axis, (start, stop) in enumerate(block.core):
        for side, (low, high) in enumerate(((start - STRIP, start), (stop, stop + STRIP))):
            beyond = list(block.core)
            beyond[axis] = (max(low, block.window[axis][0]), min(high, block.window[axis][1]))
            if beyond[axis][0] < beyond[axis][1]:
                box = tuple(beyond)
                strips[f"{axis}{side}"] = result.labels[slices(within(box, block.window))].astype(np.int32)
    np.savez_compressed(folder.file("done", f"strips{number}.npz"), **strips)
    if folder.plan["certify"]:
        if folder.plan["updates"]:
            result = solve(model, "mf", max_iterations=folder.plan["proof_iterations"], **options)
        assert isinstance(result.marginals, np.ndarray)
        target = opened(folder.file("marginals.npy"), mode="r+")
        target[slices(block.core)] = result.marginals[block.own].astype(np.float16)
        target.flush()
    return {}


def exchange(folder: Folder, number: int) -> Dict[str, Any]:
    """Potentials u of the block's pixels, u(i) - u(j) <= d(i, j) / 2: w d(x_a, x_b) >= w (u_a - u_b)(x_a) - w (u_a - u_b)(x_b).

    The marginals of the whole, which the lower bound is about, say at once where to: a step from those beyond the seam.
    """
    block = Block(folder, number)
    sums, weights, _ = block.cut_pairs(normalised(block.marginals(block.window)))
    found = np.zeros(sums.shape, np.float32)
    cut = weights > 0.0
    half = np.full(int(cut.sum()), 0.5)
    found[cut] = feasible(STEP * sums[cut] / weights[cut][:, np.newaxis], half, np.asarray(folder.plan["distance"]))
    target = opened(folder.file("potentials.npy"), mode="r+")
    target[slices(block.core)] = found
    target.flush()
    return {}


def upper(folder: Folder, number: int) -> Dict[str, Any]:
    """A certified upper bound of the block alone, with its share of the pairs that leave it, about the exact Gaussians."""
    block = Block(folder, number)
    costs, slack = block.shifted()
    result = solve(
        block.model(block.core, costs), folder.plan["method"], certify="exact",
        gap=folder.plan["gap"], time_limit=folder.plan["time_limit"], **block.options(),
    )
    assert result.upper is not None
    return {"upper": result.upper, "slack": slack, "method": result.method, "about": result.model}


def lower(folder: Folder, number: int) -> Dict[str, Any]:
    """The block's share of the free energy of all marginals: pairs within the halo exactly, the others bounded."""
    block = Block(folder, number)
    own = np.zeros(shape_of(block.window), np.uint8)
    own[block.own] = 1
    model = block.model(block.window, block.costs(block.window))
    share, loss = model._core.lower_share(
        block.marginals(block.window).astype(np.float32).reshape(-1, model.num_labels), own.reshape(-1), 1.0,
        folder.plan["tolerance"], folder.plan["threads"],
    )
    return {"near": share, "loss": loss, "far": [far(block, kernel, block.window) for kernel in range(len(folder.plan["kernels"]))]}


def far(block: Block, kernel: int, near: Box) -> float:
    """What the pairs of one kernel that leave the window may cost."""
    spec = block.plan["kernels"][kernel]
    return far_cost(
        block.core, near, block.extent, spec["sigma"], spec["weight"], np.asarray(block.plan["distance"]),
        block.totals()[kernel], lambda box: block.factors(kernel, box), block.marginals,
    )
