"""refine for pictures and volumes that are larger than the memory, or than a machine."""

from __future__ import annotations

import itertools
import json
import math
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import _core
from .._arrays import Number, as_number, as_sigmas, as_whole
from .._errors import InvalidInput, TooLarge
from .._keywords import Preset, check_choice, checked_keywords
from .._kernels import Sigma
from .._models import Metric, _labels_of
from .._parameters import SegmentationParameters
from .._refine import _known, _parameters_of, costs_of
from .._volumes import BILATERAL_SIDES, POSITION_SIDES, open_volume, write_volume
from ._dense import STRIP, Block, far
from ._nifti import SUFFIXES, is_nifti, volumes_of
from ._plan import as_sides, cut, metric_as_json, signature, text_of, write_json
from ._result import Blocks, Call, read_labels, sum_down, sum_up
from ._store import Box, Source, Target, describe, make_target, new_file, opened, place_axes, shape_of, slices

PROFILE = 2**20  # pixels that tell how sure the classifier is
HALO = 3.0  # standard deviations of the widest kernel
KINDS = ("position", "bilateral")


@checked_keywords
def refine(
    softmax: Any,
    image: Any,
    out: Union[None, str, "os.PathLike[str]"] = None,
    *,
    block: Union[None, int, Sequence[int]] = None,
    halo: Union[None, int, Sequence[int]] = None,
    small_halo: bool = False,
    scheduler: Any = None,
    workers: Optional[int] = None,
    threads: Optional[int] = None,
    max_memory: Optional[float] = None,
    certify: bool = True,
    method: str = "auto",
    updates: Optional[int] = None,
    gap: float = 0.01,
    time_limit: float = 30.0,
    tolerance: float = 1e-3,
    preset: Optional[Preset] = None,
    parameters: Union[None, str, "os.PathLike[str]", SegmentationParameters] = None,
    position_sigma: Optional[Sigma] = None,
    position_weight: Optional[Number] = None,
    bilateral_sigma: Optional[Sigma] = None,
    colour_sigma: Optional[Sigma] = None,
    bilateral_weight: Optional[Number] = None,
    normalised: Optional[bool] = None,
    softmax_temperature: Optional[float] = None,
    metric: Metric = "potts",
    spacing: Optional[Sequence[float]] = None,
    label_axis: Optional[int] = None,
    clip: float = 1e-5,
    work: Union[None, str, "os.PathLike[str]"] = None,
    progress: bool = False,
) -> Blocks:
    """Labels of :func:`submarine.refine` and an interval around log Z of the whole, from blocks with halos.

    Parameters
    ----------
    softmax, image : array or path
        As for :func:`submarine.refine`, or where such arrays are: .npy files, which are mapped, zarr v2 and v3, OME-Zarr.
        Workers read their blocks from there. Or NIfTI files as for :func:`submarine.refine_volume`, which are copied to arrays
        (z, y, x) first; sigmas are in millimetres then, along the axes of the file.
    out : path, optional
        Where the labels go: .npy, .zarr, .ome.zarr or, from NIfTI files, .nii and .nii.gz. Without it they come back as an array.
    block : int or sequence of int, optional
        The sides of the blocks without their halos; without it the largest for which a worker stays below ``max_memory``.
    halo : int or sequence of int, optional
        How far a block looks beyond itself for labels; three standard deviations of the widest kernel unless given.
    small_halo : bool
        Whether a smaller halo is accepted, where labels near seams may differ from those of the whole. Bounds hold with any.
    scheduler : str or client, optional
        "processes" of this machine (the default), "here", one block after the other in this process, or a dask.distributed
        client or the address of a scheduler, whose workers see the same files under the same paths.
    workers, threads : int, optional
        How many processes there are at a time, and threads in each; together as many as there are cores.
    max_memory : float, optional
        Gigabytes per worker.
    certify : bool
        Whether to prove the interval; labels alone take less time.
    method, gap, time_limit : optional
        Of the proof of each block's upper bound, as for :func:`submarine.solve`; the time is that of each block.
    updates : int, optional
        As for :func:`submarine.refine`.
    tolerance : float
        The share of the lower end that bounding far pairs in groups may cost.
    preset, parameters, position_sigma, position_weight, bilateral_sigma, colour_sigma, bilateral_weight, normalised
        Kernels, as for :func:`submarine.refine`.
    softmax_temperature, metric, label_axis, clip : optional
        As for :func:`submarine.refine`.
    spacing : sequence of float, optional
        The size of a voxel along every axis of the array; sigmas are in its units then. That of OME-Zarr is not read.
    work : path, optional
        The folder of what is not finished: ``out`` with .blocks at its end unless given. The same call continues from there.
    progress : bool
        Show a bar with the time left.

    Returns
    -------
    Blocks
        It unpacks into ``labels, lower, upper``.

    Raises
    ------
    InvalidInput
        For wrong values, and a halo that is too small.
    FileError
        For files that cannot be read or written, and packages that are not there.
    TooLarge
        Where no block and its halo fit.

    Examples
    --------
    >>> import numpy as np
    >>> softmax = np.full((24, 40, 2), 0.5); softmax[:, :20, 0] = 0.9; softmax[:, :20, 1] = 0.1
    >>> found = refine(softmax, np.zeros((24, 40), np.uint8), block=20, scheduler="here", bilateral_sigma=4)
    >>> found.labels.shape, found.lower < found.upper, found.missing
    ((24, 40), True, [])
    """
    call = Call(work, out, scheduler, workers, threads, max_memory, progress)
    try:
        plan = _plan(call, locals())
        return _run(call, plan)
    finally:
        call.close()


def _plan(call: Call, given: Dict[str, Any]) -> Dict[str, Any]:
    """Everything that workers need, as JSON."""
    like = None  # the NIfTI file that labels are written like
    if is_nifti(given["softmax"]) or is_nifti(given["image"]):
        if given["spacing"] is not None:
            raise InvalidInput("spacing is that of the NIfTI files; leave it out")
        volumes = volumes_of(given["softmax"], given["image"], given["colour_sigma"] is not None, call.folder)
        image, classes, like = volumes.image, volumes.softmax, os.path.abspath(volumes.like.path)
        given = dict(given, spacing=volumes.spacing)
        for name, sides in (("position_sigma", POSITION_SIDES), ("bilateral_sigma", BILATERAL_SIDES)):
            if given[name] is None and given["parameters"] is None:
                given[name] = sides * min(volumes.spacing)
    else:
        image = describe(given["image"], "the image", call.folder.file("image.npy"))
        classes = describe(given["softmax"], "the softmax", call.folder.file("softmax.npy"))
    volume_out = call.out is not None and call.out.endswith(SUFFIXES)
    if volume_out and like is None:
        raise InvalidInput(f'out is "{call.out}", and the image is no NIfTI file whose grid it could have; .npy and .zarr need none')
    softmax, picture = _agree(classes, image, given["label_axis"])
    extent = softmax.extent
    if len(extent) not in (2, 3):
        raise InvalidInput(f"the softmax has shape {classes.shape}, expected that of a picture or a volume with labels")
    kernels, fitted = _kernels(given, softmax, extent)
    if given["colour_sigma"] is None and like is None:
        sample = picture.read(_middle(extent))
        if sample.dtype.kind == "f" and 0 < sample.max(initial=0) <= 1:
            raise InvalidInput(
                "the image has samples from 0 to 1, expected 0 to 255; for another range say colour_sigma in its units"
            )
    widest = [max(kernel["sigma"][axis] for kernel in kernels) if kernels else 0.0 for axis in range(len(extent))]
    least = [min(size, math.ceil(HALO * sigma)) for size, sigma in zip(extent, widest)]
    halo = tuple(least) if given["halo"] is None else as_sides(given["halo"], len(extent), "halo")
    if any(h < 0 for h in halo):
        raise InvalidInput(f"halo is {halo}, expected whole numbers >= 0")
    if any(h < m for h, m in zip(halo, least)) and not given["small_halo"]:
        raise InvalidInput(
            f"the halo of {text_of(halo)} is below three standard deviations of the widest kernel, {text_of(least)}: labels "
            "near seams would differ from those of the whole (small_halo=True takes it nevertheless)"
        )
    block = call.block(
        given["block"], extent, halo, bytes_per_pixel(len(extent), picture.depth, softmax.depth), softmax.depth
    )
    labels = _labels_of(given["metric"], softmax.depth)
    updates = fitted.updates if given["updates"] is None else as_whole(given["updates"], "updates")
    plan = {
        "softmax": softmax, "image": picture, "extent": extent, "blocks": cut(extent, block), "block": block, "halo": halo,
        "kernels": kernels, "cutoffs": [min(1.0, _cutoff(kernel["sigma"], block, halo, extent)) for kernel in kernels],
        "clip": as_number(given["clip"], "clip"),
        "softmax_temperature": as_number(fitted.softmax_temperature, "softmax_temperature"),
        "metric": metric_as_json(given["metric"]),
        "distance": np.asarray(labels.distances[0]).tolist(), "labels": softmax.depth, "updates": updates,
        "proof_iterations": PROOF_ITERATIONS, "certify": bool(given["certify"]), "method": given["method"],
        "gap": as_number(given["gap"], "gap"), "time_limit": as_number(given["time_limit"], "time_limit"),
        "tolerance": as_number(given["tolerance"], "tolerance"), "threads": call.threads, "max_memory": call.gigabytes,
        "data": [signature(softmax.path), signature(picture.path)], "out": call.out,
        "like": like if volume_out else None,
    }
    if not plan["softmax_temperature"] > 0:
        raise InvalidInput(f"softmax_temperature is {plan['softmax_temperature']}, expected a finite number > 0")
    spacing = given["spacing"] or [1.0] * len(extent)
    path = call.folder.file("labels.npy") if call.out is None or volume_out else call.out
    dtype = np.uint8 if softmax.depth <= 256 else np.uint16
    fresh = not os.path.exists(call.folder.file("plan.json"))
    plan["target"] = [path, "0" if path.endswith(".ome.zarr") else ""]
    if fresh:
        for number, kernel in enumerate(kernels):
            if kernel["normalised"]:
                new_file(call.folder.file(f"factors{number}.npy"), np.float32, extent).flush()
        if plan["certify"]:
            new_file(call.folder.file("marginals.npy"), np.float16, (*extent, softmax.depth)).flush()
            new_file(call.folder.file("potentials.npy"), np.float32, (*extent, softmax.depth)).flush()
        make_target(path, extent, dtype, block, spacing, True)  # last: where something failed, nothing is left
    call.folder.begin(plan)
    read = math.prod(min(side + 2 * h, size) / side for side, h, size in zip(block, halo, extent))
    call.say(
        f"{len(plan['blocks'])} blocks of {text_of(block)} and a halo of {text_of(halo)} on each side, which makes the work "
        f"{read:.1f} times that of the blocks; {call.workers} workers of {call.threads} threads and "
        f"{call.gigabytes:.2g} GB"
    )
    return call.folder.plan


def _cutoff(sigma: Sequence[float], block: Sequence[int], halo: Sequence[int], extent: Sequence[int]) -> float:
    """The kernel's value from which on a block and its halo hold all pairs of a pixel; no pair beyond four sigmas counts."""
    reach = [(h + 1) / s for s, b, h, size in zip(sigma, block, halo, extent) if b < size]
    return math.exp(-0.5 * min([4.0, *reach]) ** 2) * (1.0 + 1e-9)


PROOF_ITERATIONS = 20  # of mean field, for the marginals of the lower end


def bytes_per_pixel(axes: int, channels: int, labels: int) -> float:
    """What refining takes at most, per pixel of a block and its halo: features, lattices, a few arrays of marginals."""
    return 500.0 + 60.0 * (2 * axes + channels) + 45.0 * labels


def _agree(classes: Any, image: Any, label_axis: Optional[int]) -> Tuple[Source, Source]:
    """Which axes are whose: as refine, the softmax tells what the picture's are."""
    if image.names and set(image.names) & set("zyx"):
        picture = place_axes(image, None, None, "the image")
        if len(picture.extent) == 3 and picture.extent[0] == 1 and len(classes.shape) == 3:
            picture = picture._replace(axes=picture.axes[1:])
        return place_axes(classes, picture.extent, label_axis, "the softmax"), picture
    same = len(image.shape) == len(classes.shape)
    extent = image.shape[:-1] if same else image.shape
    softmax = place_axes(classes, extent, label_axis, "the softmax")
    axes = (*range(len(extent)), len(extent) if same else -1)
    picture = Source(image.path, image.component, image.shape, axes)
    if picture.extent != softmax.extent:
        raise InvalidInput(
            f"the softmax is about {text_of(softmax.extent)} pixels and the image has {text_of(picture.extent)}"
        )
    return softmax, picture


def _kernels(given: Dict[str, Any], softmax: Source, extent: Sequence[int]) -> Tuple[List[Dict[str, Any]], SegmentationParameters]:
    """The kernels as refine chooses them, per axis of the array."""
    preset, parameters = given["preset"], given["parameters"]
    if preset is not None and parameters is not None:
        raise InvalidInput("preset and parameters both name kernels; give one of them")
    check_choice(preset or "adapted", ("adapted", "pydensecrf"), "preset")
    fitted = _parameters_of(parameters) if parameters is not None else SegmentationParameters()
    names = SegmentationParameters._fields
    changes = {name: given[name] for name in names if given.get(name) is not None}
    if parameters is None and preset != "pydensecrf":
        fitted = _adapted(softmax, extent, changes.get("softmax_temperature", 1.0), given["clip"])
    fitted = fitted._replace(**changes)
    if len(fitted.superpixel_sizes) > 0:
        raise InvalidInput("the parameters ask for superpixels, and blocks have none; use refine, or parameters without them")
    spacing = [1.0] * len(extent) if given["spacing"] is None else [as_number(s, "spacing") for s in given["spacing"]]
    if len(spacing) != len(extent) or not all(0 < s < math.inf for s in spacing):
        raise InvalidInput(f"spacing is {given['spacing']}, expected {len(extent)} numbers > 0, one per axis")
    kernels = []
    for kind in KINDS:
        weight = as_number(getattr(fitted, f"{kind}_weight"), f"{kind}_weight")
        if weight == 0.0:
            continue
        if not 0.0 < weight < math.inf:
            raise InvalidInput(f"{kind}_weight is {weight}, expected a finite number >= 0")
        sigma = as_sigmas(getattr(fitted, f"{kind}_sigma"), f"{kind}_sigma")
        if len(sigma) not in (1, len(extent)):
            raise InvalidInput(f"{kind}_sigma has {len(sigma)} numbers, expected 1 or {len(extent)} (x, y and, in volumes, z)")
        along = [s / step for s, step in zip(sigma[::-1] if len(sigma) > 1 else sigma * len(extent), spacing)]
        if not all(0 < s < math.inf for s in along):
            raise InvalidInput(f"{kind}_sigma is {sigma}, expected finite numbers > 0")
        colour = list(as_sigmas(fitted.colour_sigma, "colour_sigma")) if kind == "bilateral" else []
        kernels.append({
            "sigma": along, "weight": weight, "colour_sigma": colour, "normalised": bool(fitted.normalised),
        })
    return kernels, fitted


def _middle(extent: Sequence[int]) -> Box:
    """A part that is small enough to be read at once."""
    side = int(PROFILE ** (1.0 / len(extent)))
    while side < max(extent) and math.prod(min(size, 2 * side) for size in extent) <= PROFILE:
        side *= 2
    return tuple(((size - min(size, side)) // 2, (size - min(size, side)) // 2 + min(size, side)) for size in extent)


def _adapted(softmax: Source, extent: Sequence[int], temperature: float, clip: float) -> SegmentationParameters:
    """As for refine, from a part in the middle where the whole is large; lengths are the whole's."""
    box = _middle(extent)
    costs = np.ascontiguousarray(costs_of(_known(softmax.read(box), -1), clip)) / np.float32(temperature)
    found = SegmentationParameters(*_core.parameters_for(costs))
    if len(extent) == 2 and shape_of(box) != tuple(extent):
        larger = math.sqrt(math.prod(extent) / math.prod(shape_of(box)))
        found = found._replace(
            position_sigma=found.position_sigma * larger, bilateral_sigma=found.bilateral_sigma * larger
        )
    return found


def _run(call: Call, plan: Dict[str, Any]) -> Blocks:
    folder, numbers = call.folder, range(len(plan["blocks"]))

    def tasks(name: str) -> List[str]:
        return [f"dense/{name}/{number}" for number in numbers]

    def lost_factors(task: str) -> None:
        raise TooLarge(f"the normalisation of {_place(plan, task)} was not done: {call.missing[task]}")

    for phase, given_up in folder.lost().items():  # in an earlier call: what came of them later does not count
        folder.forget(tuple(f"dense-{phase}-{number}.json" for number in given_up))
    lost: Dict[str, List[int]] = {}

    def give_up(phase: str) -> None:
        lost[phase] = [number for number in numbers if f"dense/{phase}/{number}" in call.missing]
        write_json(folder.file("lost.json"), lost)

    if any(kernel["normalised"] for kernel in plan["kernels"]):
        found = call.do("normalisation", tasks("normalise"), lost_factors)
        totals = [sum_up(column) for column in zip(*(result["totals"] for result in found.values()))]
    else:
        totals = [float(math.prod(plan["extent"]))] * len(plan["kernels"])
    with open(folder.file("totals.json"), "w", encoding="utf-8") as file:
        json.dump(totals, file)
    call.do("labels", tasks("label"), lambda task: _give_own_labels(folder, plan, task), ("dense-lower", "dense-exchange"))
    give_up("label")
    lower, upper = -math.inf, math.inf
    width: Dict[str, float] = {}
    if plan["certify"]:
        above: List[float] = []
        below: List[float] = []
        if len(numbers) > 1:
            call.do("exchange", tasks("exchange"), lambda task: None, ("dense-upper",))
            give_up("exchange")
        results = call.do("upper bounds", tasks("upper"), lambda task: above.append(_log_sum(folder, task)))
        above += [result[part] for result in results.values() for part in ("upper", "slack")]
        results = call.do("lower bounds", tasks("lower"), lambda task: below.extend(_loosest(folder, task)))
        for result in results.values():
            below += [result["near"], *(-far for far in result["far"])]
        lower, upper = sum_down(below), sum_up(above)
        width = {
            "beyond_halos": sum(sum(result["far"]) for result in results.values()),
            "of_groups": sum(result["loss"] for result in results.values()),
        }
    compared, different = _seams(folder, plan)
    if plan["like"] is not None:
        write_volume(plan["out"], opened(*plan["target"]).T, open_volume(plan["like"], "the image"))
    blocks = Blocks(read_labels(plan["target"], call.out), lower, upper)
    blocks.missing = sorted(call.missing)
    blocks.summary = {
        "blocks": len(plan["blocks"]), "block": text_of(plan["block"]), "halo": text_of(plan["halo"]), "kernels": plan["kernels"],
        "extent": plan["extent"], "sides": plan["block"], "halos": plan["halo"],
        "seams": {"compared": compared, "different": different}, "lower": width, **call.summary(),
    }
    call.end()
    return blocks


def _place(plan: Dict[str, Any], task: str) -> str:
    start = tuple(a for a, _ in plan["blocks"][int(task.split("/")[2])])
    return f"the block that begins at {start}"


def _give_own_labels(folder: Any, plan: Dict[str, Any], task: str) -> None:
    """A lost block has the classifier's labels, which bounds are about then (``Block.marginals``)."""
    block = Block(folder, int(task.split("/")[2]))
    labels = block.costs(block.core).argmin(axis=-1)
    Target(*plan["target"]).write(block.core, labels)
    if plan["certify"]:
        marginals = opened(folder.file("marginals.npy"), mode="r+")
        marginals[slices(block.core)] = (labels[..., np.newaxis] == np.arange(plan["labels"])).astype(np.float16)
        marginals.flush()


def _log_sum(folder: Any, task: str) -> float:
    """An upper bound of a block without any of its own pairs: sum_a log sum_l exp(-phi_a(l))."""
    block = Block(folder, int(task.split("/")[2]))
    shifted, lacking = block.shifted()
    costs = shifted.astype(np.float64)
    least = costs.min(axis=-1, keepdims=True)
    terms = np.log(np.exp(least - costs).sum(axis=-1)) - least[..., 0]
    slack = 1e-14 * (np.abs(costs).max(axis=-1) + 1.0 + costs.shape[-1])  # of every rounding
    return sum_up([math.fsum(terms.reshape(-1)), float(slack.sum()) * (1.0 + 1e-9), lacking])


def _loosest(folder: Any, task: str) -> List[float]:
    """A lower bound of a block's share in which all pairs are bounded as the far ones are."""
    block = Block(folder, int(task.split("/")[2]))
    marginals = block.marginals(block.core).astype(np.float64)
    marginals /= marginals.sum(axis=-1, keepdims=True)
    costs = block.costs(block.core).astype(np.float64)
    entropy = -marginals * np.log(np.where(marginals > 0, marginals, 1.0))
    slack = 1e-14 * (np.abs(costs).max(axis=-1) + 1.0 + costs.shape[-1])
    terms = (entropy - marginals * costs).sum(axis=-1) - slack
    return [math.fsum(terms.reshape(-1)), *(-far(block, kernel, ()) for kernel in range(len(block.plan["kernels"])))]


def _seams(folder: Any, plan: Dict[str, Any]) -> Tuple[int, int]:
    """How many pixels within STRIP of a seam were compared, and how many differ between the blocks of both sides."""
    compared = different = 0
    labels = opened(*plan["target"])
    extent = plan["extent"]
    for number, core in enumerate(plan["blocks"]):
        try:
            strips = np.load(folder.file("done", f"strips{number}.npz"))
        except FileNotFoundError:
            continue
        for axis, side in itertools.product(range(len(extent)), range(2)):
            if f"{axis}{side}" not in strips:
                continue
            mine = strips[f"{axis}{side}"]
            start, stop = core[axis]
            box = [(low, high) for low, high in core]
            box[axis] = (stop, stop + mine.shape[axis]) if side else (start - mine.shape[axis], start)
            theirs = np.asarray(labels[slices(tuple(box))])
            compared += mine.size
            different += int((mine != theirs).sum())
    return compared, different


__all__ = ["STRIP", "refine"]
