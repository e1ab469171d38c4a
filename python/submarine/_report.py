"""A directory of results and its page: the files, and the page, that ``submarine solve --bundle`` writes.

docs/formats.md says what is in a bundle, report/ in the sources what the page makes of it. ``submarine report`` makes the
same page of the same directory, which a test compares.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import zlib
from typing import IO, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _core
from ._arrays import Array, as_array, require_finite
from ._errors import InvalidInput
from ._html import label_colours, plain_page, png
from ._result import Result

_MARK = "<!-- the bundle goes here -->"
_TEMPLATE = os.path.join(os.path.dirname(__file__), "report_page.html")  # where the build had esbuild
# As in apps/report/report.cc: larger pictures are shown at a lower resolution, and of marginals what fits.
_MOST_PIXELS = 2e6
_MOST_STEP = 256
_PICTURES_SHARE = 0.75
_SPARE_BYTES = 20_000


class _Panel(NamedTuple):
    name: str
    file: str
    pixels: Array  # (height, width[, 3]) bytes; with a palette, indices into it
    palette: Optional[Array] = None
    about: Dict[str, Any] = {}

    def png(self, step: int = 1) -> bytes:
        if step == 1:
            return png(self.pixels, self.palette)
        if self.palette is not None or "legend" in self.about:  # colours that stand for labels have no mean
            return png(_middles(self.pixels, step), self.palette)
        return png(_means(self.pixels, step))


def _middles(values: Array, step: int) -> Array:
    """The entry in the middle of every block of step x step pixels; slices of volumes are the first axis."""
    y, x = (np.minimum(np.arange(0, n, step) + step // 2, n - 1) for n in values.shape[:2])
    shown: Array = values[y[:, None], x]
    return shown


def _means(pixels: Array, step: int) -> Array:
    starts = [np.arange(0, n, step) for n in pixels.shape[:2]]
    sums = np.add.reduceat(np.add.reduceat(pixels.astype(np.int64), starts[0], 0), starts[1], 1)
    counts = np.multiply.outer(*(np.diff(np.append(s, n)) for s, n in zip(starts, pixels.shape[:2])))
    means: Array = (sums // counts.reshape(counts.shape + (1,) * (pixels.ndim - 2))).astype(np.uint8)
    return means


def _label_panel(name: str, file: str, labels: Array, names: Sequence[str], role: str) -> _Panel:
    palette = label_colours(len(names))
    counts = np.bincount(labels.ravel(), minlength=len(names))
    legend = [
        {"name": names[k], "colour": "#{:02x}{:02x}{:02x}".format(*palette[k]), "share": counts[k] / labels.size}
        for k in np.flatnonzero(counts)
    ]
    about = {"legend": legend, "role": role}
    if len(names) > 256:
        return _Panel(name, file, palette[labels], None, about)
    return _Panel(name, file, labels.astype(np.uint8), palette, about)


def _picture_bytes(image: Any, shape: Tuple[int, ...]) -> Array:
    picture = as_array(image, "the image")
    if picture.shape[:2] != shape or picture.ndim > 3 or picture.size == 0:
        raise InvalidInput(f"the image has shape {picture.shape}, expected {shape} as the labels, with or without channels")
    require_finite(picture, "the image")
    if picture.ndim == 3 and picture.shape[2] != 3:
        picture = picture[..., 0]
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def _before(labels: Any, shape: Tuple[int, ...], count: int) -> Array:
    before = as_array(labels, "before")
    if before.shape != shape or before.dtype.kind not in "iu":
        raise InvalidInput(f"before is {before.dtype} of shape {before.shape}, expected integers of shape {shape}")
    if before.min() < 0 or before.max() >= count:
        raise InvalidInput(f"before has labels from {before.min()} to {before.max()}, expected 0 to {count - 1}")
    return before.astype(np.int64)


def _panels(result: Result, image: Any, before: Any, names: Sequence[str], entropy: Array) -> List[_Panel]:
    """Labels over the picture and the uncertainty. Without a picture the page draws its own from the marginals."""
    if image is None:
        if before is not None:
            raise InvalidInput("before is shown over the image, which is not given")
        return []
    if result.labels.ndim != 2:
        raise InvalidInput(f"an image is shown with labels of shape (height, width), not {result.labels.shape}")
    shape, count = result.labels.shape, len(names)
    panels = [_Panel("picture", "image.png", _picture_bytes(image, shape), None, {"role": "picture"})]
    if before is not None:
        panels.append(_label_panel("before", "labels_before.png", _before(before, shape, count), names, "before"))
    panels.append(_label_panel("labels", "labels.png", result.labels, names, "after"))
    most = math.log(count)
    colours = _core.colour_map(entropy / (most or 1.0))
    scale = {"low": 0.0, "high": most, "unit": "nats"}
    panels.append(_Panel("uncertainty", "entropy_colour.png", colours, None, {"scale": scale}))
    return panels


def _page_json(title: Optional[str], panels: List[_Panel], names: Sequence[str]) -> Dict[str, Any]:
    page: Dict[str, Any] = {"title": title} if title else {}
    page["panels"] = [{"name": panel.name, "file": panel.file, **panel.about} for panel in panels]
    page["values"] = [{"name": "entropy", "file": "entropy.npy", "unit": "nats"}]
    page["marginals"] = {"file": "marginals.npy", "label": "label", "names": list(names)}
    return page


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[IO[bytes]]:
    """A file that appears complete or not at all."""
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


class _Page:
    """What apps/report/report.cc assembles of a bundle: the template, two JSON texts and blocks of compressed bytes."""

    def __init__(self, template: str, summary: str, most_bytes: int) -> None:
        self.template, self.summary, self.most_bytes = template, summary, most_bytes
        self.json: Dict[str, Any] = {"figures": [], "gallery": []}
        self.blocks: List[str] = []
        self.notes: List[str] = []

    def size(self) -> int:
        pictures = sum(len(panel.get("src", "")) for panel in self.json.get("panels", []))
        return len(self.template.encode()) + len(self.summary.encode()) + pictures + sum(map(len, self.blocks))

    def add_block(self, data: bytes) -> int:
        self.blocks.append(base64.b64encode(zlib.compress(data, 4)).decode())
        return len(self.blocks) - 1

    def add_pictures(self, panels: List[_Panel], values: List[Tuple[str, str, Array]], step: int) -> None:
        self.blocks.clear()
        self.json["panels"] = [
            dict(name=panel.name, width=-(-panel.pixels.shape[1] // step), height=-(-panel.pixels.shape[0] // step),
                 src="data:image/png;base64," + base64.b64encode(panel.png(step)).decode())
            for panel in panels
        ]
        self.json["values"] = [
            dict(name=name, unit=unit, block=self.add_block(_shown(array, step).astype("<f4").tobytes()))
            for name, unit, array in values
        ]

    def add_marginals(self, marginals: Array, names: Sequence[str], step: int) -> None:
        labels = marginals.shape[-1]
        shown = _shown(marginals, step, 1).reshape(-1, labels)
        scaled = 255 * np.sqrt(np.clip(shown.astype(np.float32), 0, 1))
        q = np.floor(scaled.astype(np.float64) + 0.5).astype(np.uint8)
        room = self.most_bytes - self.size() - _SPARE_BYTES
        megabytes = f"{1e-6 * self.most_bytes:g} MB"
        packed = _packed(q, room)
        if packed is None:
            self.notes.append(f"The marginals are left out: with them this page would be larger than {megabytes}.")
            return
        kept, parts = packed
        if kept < labels:
            self.notes.append(
                f"Of the {labels} labels only the {kept} most probable of every pixel are kept: with more of them this page "
                f"would be larger than {megabytes}.")
        about = dict(label="label", names=list(names), labels=labels, kept=kept, block=len(self.blocks))
        if len(parts) > 1:
            about.update(labelBlock=len(self.blocks) + 1, labelBytes=1 if labels <= 256 else 2)
        self.blocks += parts
        self.json["marginals"] = about

    def text(self) -> str:
        def safe(text: str) -> str:  # to stand in a <script> element
            return text.replace("<", "\\u003c")

        self.json["notes"] = self.notes
        parts = [
            f'<script type="application/json" id="summary">{safe(self.summary)}</script>\n',
            f'<script type="application/json" id="bundle">{safe(json.dumps(self.json))}</script>\n',
        ]
        parts += [f'<script type="text/plain" id="block-{k}">{block}</script>\n' for k, block in enumerate(self.blocks)]
        begin, end = self.template.split(_MARK)
        return begin + "".join(parts) + end


def _shown(values: Array, step: int, last: int = 0) -> Array:
    """Slices, if any, keep their number; ``last`` axes at the end are of a pixel."""
    if step == 1:
        return values
    if values.ndim - last == 2:
        return _middles(values, step)
    return np.stack([_middles(part, step) for part in values])


def _packed(q: Array, room: int) -> Optional[Tuple[int, List[str]]]:
    """As many labels per pixel as fit, the most probable ones; the size grows with them, so by halving."""

    def attempt(k: int) -> Optional[Tuple[int, List[str]]]:
        arrays = [q]
        if k < q.shape[1]:
            order = np.argsort(-q.astype(np.int16), axis=1, kind="stable")[:, :k]
            arrays = [np.take_along_axis(q, order, 1), order.astype(np.uint8 if q.shape[1] <= 256 else "<u2")]
        parts = [base64.b64encode(zlib.compress(array.tobytes(), 4)).decode() for array in arrays]
        return (k, parts) if sum(map(len, parts)) <= room else None

    best = attempt(q.shape[1])
    low, high = 1, 0 if best else q.shape[1] - 1
    while low <= high:
        k = (low + high) // 2
        found = attempt(k)
        best = found or best
        low, high = (k + 1, high) if found else (low, k - 1)
    return best


def _shown_page(
    template: str, folder: str, summary: str, result: Result, panels: List[_Panel],
    values: List[Tuple[str, str, Array]], names: Sequence[str], most_bytes: int,
) -> str:
    page = _Page(template, summary, most_bytes)
    page.json.update(folder=os.path.basename(folder), width=0, height=0, depth=1, step=1, full=[0, 0], panels=[], values=[])
    page.json["colours"] = _core.colour_map(np.arange(256) / 255).tobytes().hex()
    shape = result.labels.shape
    if not isinstance(result.marginals, np.ndarray) or len(shape) not in (2, 3):
        if isinstance(result.marginals, np.ndarray):
            page.notes.append("The marginals are not shown, since they are not of a picture.")
        return page.text()
    step = min(_MOST_STEP, max(1, math.ceil(math.sqrt(result.labels.size / _MOST_PIXELS))))
    page.add_pictures(panels, values, step)
    while page.size() > _PICTURES_SHARE * most_bytes and step < _MOST_STEP:
        step += 1
        page.add_pictures(panels, values, step)
    height, width = shape[-2:]
    page.json.update(width=-(-width // step), height=-(-height // step), depth=shape[0] if len(shape) == 3 else 1,
                     step=step, full=[width, height])
    if step > 1:
        page.notes.append(
            f"The page shows {page.json['width']} x {page.json['height']} of the {width} x {height} pixels (pictures averaged "
            f"over {step} x {step}, labels and numbers from the middle of each): with more it would be slow to open or larger "
            f"than {1e-6 * most_bytes:g} MB. The files beside it have all of them.")
    page.add_marginals(result.marginals, names, step)
    return page.text()


def write_report(
    result: Result, directory: str, image: Any, before: Any, names: Optional[Sequence[str]], title: Optional[str],
    max_mb: float,
) -> str:
    """See :meth:`Result.report`."""
    marginals = result.marginals if isinstance(result.marginals, np.ndarray) else None
    if names is not None and (marginals is None or len(names) != marginals.shape[-1]):
        raise InvalidInput(f"there are {len(names)} names, expected one for each label")
    count = marginals.shape[-1] if marginals is not None else 0
    known = names or result.label_names  # as the page does without names
    entropy = result.entropy().astype(np.float32)
    panels = _panels(result, image, before, known or [str(k) for k in range(count)], entropy)
    summary = result.summary()
    described = bool(panels) or names is not None or title is not None
    if described:
        # Names beside a picture are those of its legend; elsewhere numbers need none.
        shown_names: Sequence[str] = known or ([str(k) for k in range(count)] if panels else [])
        summary["page"] = _page_json(title, panels, shown_names)
        if marginals is None or result.labels.ndim not in (2, 3):
            del summary["page"]["marginals"], summary["page"]["values"]
    else:
        shown_names = known
    text = json.dumps(summary, indent=2, default=float)
    folder = os.path.abspath(directory)
    os.makedirs(folder, exist_ok=True)
    arrays = {"labels.npy": result.labels, "entropy.npy": entropy}
    if result.groups:
        arrays["groups.npy"] = np.stack(list(result.group_marginals().values()), -1).astype(np.float32)
    if marginals is not None:
        arrays["marginals.npy"] = marginals
    for name, array in arrays.items():
        with _replacing(os.path.join(folder, name)) as file:
            np.save(file, array)
    for panel in panels:
        with _replacing(os.path.join(folder, panel.file)) as file:
            file.write(panel.png())
    if os.path.exists(_TEMPLATE):
        with open(_TEMPLATE, encoding="utf-8") as template:
            values = [("entropy", "nats", entropy)]
            if not described:  # as the page looks for them itself
                values.insert(0, ("label", "", result.labels))
            page = _shown_page(template.read(), folder, text, result, panels, values, shown_names,
                               int(1e6 * max_mb))
    else:
        page = plain_page(result, [(panel.name, panel.png()) for panel in panels])
    path = os.path.join(directory, "report.html")
    for file_name, content in (("report.html", page), ("summary.json", text)):
        with _replacing(os.path.join(folder, file_name)) as file:
            file.write(content.encode())
    return path
