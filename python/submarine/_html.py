"""Results as HTML: for notebooks and for Result.report. Nothing but the standard library and numpy."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import List, Optional, Sequence, Tuple

import numpy as np

from ._arrays import Array
from ._result import Result

_MOST_PIXELS = 400_000  # of a picture in a page; larger ones are thinned out


def png(pixels: Array, palette: Optional[Array] = None) -> bytes:
    """A PNG of (height, width, 3) bytes, of grey (height, width) ones, or of indices into a palette of (colours, 3)."""
    height, width = pixels.shape[:2]
    flat = np.asarray(pixels, np.uint8).reshape(height, -1)
    rows = np.zeros((height, 1 + flat.shape[1]), np.uint8)
    rows[:, 1:] = flat

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    kind = 3 if palette is not None else 2 if pixels.ndim == 3 else 0
    parts = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))]
    if palette is not None:
        parts.append(chunk(b"PLTE", np.asarray(palette, np.uint8).tobytes()))
    return b"".join([*parts, chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)), chunk(b"IEND", b"")])


def label_colours(count: int) -> Array:
    """Pascal VOC's, as in the command's pictures: bits of the label are bits of red, green and blue."""
    colours = np.zeros((count, 3), np.uint8)
    label = np.arange(count)
    for bit in (7, 6, 5):
        for channel in range(3):
            colours[:, channel] |= ((label >> channel & 1) << bit).astype(np.uint8)
        label = label >> 3
    return colours


def _thin(values: Array) -> Array:
    step = 1
    while (values.shape[0] // step) * (values.shape[1] // step) > _MOST_PIXELS:
        step += 1
    return values[::step, ::step]


def _picture(pixels: Array, caption: str) -> str:
    return _figure(png(pixels), caption)


def _figure(picture: bytes, caption: str) -> str:
    data = base64.b64encode(picture).decode()
    return (
        '<figure style="display:inline-block;margin:0 8px 0 0">'
        f'<img style="max-width:320px;image-rendering:pixelated" src="data:image/png;base64,{data}" '
        f'alt="{html.escape(caption)}"><figcaption>{html.escape(caption)}</figcaption></figure>'
    )


def _pictures(result: Result) -> str:
    labels = result.labels
    if labels.ndim == 3:
        labels = labels[labels.shape[0] // 2]
    if labels.ndim != 2 or not isinstance(result.marginals, np.ndarray):
        return ""
    count = int(result.marginals.shape[-1])
    entropy = result.entropy()
    if entropy.ndim == 3:
        entropy = entropy[entropy.shape[0] // 2]
    grey = np.rint(255 * np.clip(_thin(entropy) / np.log(max(2, count)), 0, 1)).astype(np.uint8)
    return _picture(label_colours(count)[_thin(labels)], "labels") + _picture(
        np.repeat(grey[..., None], 3, axis=-1), "entropy of the marginals (white: uniform)"
    )


def outwards(lower: float, upper: float) -> Tuple[str, str]:
    """Decimals that enclose the interval."""
    digits = 4
    scale = 10.0**digits
    low = np.floor(lower * scale) / scale if np.isfinite(lower) else lower
    high = np.ceil(upper * scale) / scale if np.isfinite(upper) else upper
    return f"{low:.{digits}f}", f"{high:.{digits}f}"


_PROVENANCE = {
    "verified": "recomputed from the model by code that shares nothing with the solver, rounded to the safe side",
    "exact": "by exact inference, with a bound on its rounding errors",
}


def _interval_rows(result: Result) -> List[Tuple[str, str]]:
    """What is proven, and how, in plain words."""
    low, high = result.interval
    what = "log Z" if result.temperature == 1 else f"T log Z at T = {result.temperature:g}"
    provenances = [("lower", result.lower_provenance), ("upper", result.upper_provenance)]
    if result.temperature == 0:
        what, low, high = "the least energy", -high, -low
        provenances = [("lower", result.upper_provenance), ("upper", result.lower_provenance)]
    lower, upper = outwards(low, high)
    if np.isfinite(low) and np.isfinite(high):
        text = f"{lower} &le; {what} &le; {upper}"
    elif np.isfinite(low):
        text = f"{what} &ge; {lower}; how far above it lies is not known"
    elif np.isfinite(high):
        text = f"{what} &le; {upper}; how far below it lies is not known"
    else:
        text = "none was asked for"
    rows = [("certified interval", text)]
    rows += [(f"{end} end", f"{kind}: {_PROVENANCE.get(kind, kind)}") for end, kind in provenances if kind]
    return rows


def result_html(result: Result, pictures: bool = True) -> str:
    """The interval and, for pictures, labels and uncertainty."""
    rows = _interval_rows(result) + [
        ("model", html.escape(result.model)),
        ("method", html.escape(f"{result.method}, {result.termination}, {result.seconds:.2f} s")),
    ]
    if result.energy is not None:
        rows.append(("energy of the labels", f"{result.energy:.6f}"))
    rows.extend(("note", html.escape(note)) for note in result.notes)
    cells = "".join(f'<tr><th style="text-align:left">{name}</th><td>{text}</td></tr>' for name, text in rows)
    return f"<table>{cells}</table>{_pictures(result) if pictures else ''}"


def plain_page(result: Result, pictures: Sequence[Tuple[str, bytes]]) -> str:
    """A page that stands alone, without scripts: where the build had no esbuild for the command's."""
    shown = "".join(_figure(picture, name) for name, picture in pictures)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>submarine</title>'
        "<style>body{font:16px sans-serif;margin:2em;max-width:60em}th{padding-right:1em;vertical-align:top}"
        f"</style></head><body><h1>What was proven</h1>{result_html(result, not pictures)}{shown}</body></html>\n"
    )
