"""Results as HTML: for notebooks and for Result.report. Nothing but the standard library and numpy."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import List, Tuple

import numpy as np

from ._arrays import Array
from ._result import Result

_MOST_PIXELS = 400_000  # of a picture in a page; larger ones are thinned out


def png(pixels: Array) -> bytes:
    """A PNG of (height, width, 3) bytes."""
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def colours(count: int) -> Array:
    """One colour per label, hues apart by the golden angle."""
    k = np.arange(count)
    hue = (0.6 + 0.61803398875 * k) % 1.0
    light = np.where(k % 2 == 0, 0.45, 0.65)
    channel = (np.arange(3)[:, None] * 4 + 12 * hue) % 12
    wave = np.clip(np.minimum(channel - 3, 9 - channel), -1, 1)
    values: Array = np.rint(255 * (light - 0.6 * np.minimum(light, 1 - light) * wave)).astype(np.uint8)
    return values.T


def _thin(values: Array) -> Array:
    step = 1
    while (values.shape[0] // step) * (values.shape[1] // step) > _MOST_PIXELS:
        step += 1
    return values[::step, ::step]


def _picture(pixels: Array, caption: str) -> str:
    data = base64.b64encode(png(pixels)).decode()
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
    return _picture(colours(count)[_thin(labels)], "labels") + _picture(
        np.repeat(grey[..., None], 3, axis=-1), "entropy of the marginals (white: uniform)"
    )


def _outwards(lower: float, upper: float) -> Tuple[str, str]:
    """Decimals that enclose the interval."""
    digits = 4
    scale = 10.0**digits
    low = np.floor(lower * scale) / scale if np.isfinite(lower) else lower
    high = np.ceil(upper * scale) / scale if np.isfinite(upper) else upper
    return f"{low:.{digits}f}", f"{high:.{digits}f}"


def result_html(result: Result) -> str:
    """The interval and, for pictures, labels and uncertainty."""
    low, high = _outwards(*result.interval)
    rows: List[Tuple[str, str]] = [
        ("certified interval", f"{low} &le; {'' if result.temperature == 1 else 'T '}log Z &le; {high}"),
        ("model", html.escape(result.model)),
        ("method", html.escape(f"{result.method}, {result.termination}, {result.seconds:.2f} s")),
    ]
    if result.energy is not None:
        rows.append(("energy of the labels", f"{result.energy:.6f}"))
    rows.extend(("note", html.escape(note)) for note in result.notes)
    cells = "".join(f'<tr><th style="text-align:left">{name}</th><td>{text}</td></tr>' for name, text in rows)
    return f"<table>{cells}</table>{_pictures(result)}"


def _curve(result: Result) -> str:
    """Upper and dual values over the seconds, as SVG."""
    points = [(r.seconds, r.upper, r.dual) for r in result.records if r.upper is not None and r.dual is not None]
    if len(points) < 2:
        return ""
    seconds = np.array([p[0] for p in points])
    values = np.array([[p[1], p[2]] for p in points], float)
    values = values[:, np.isfinite(values).all(axis=0)]
    if not values.size:
        return ""
    last = values[-1]
    top, bottom = values[len(values) // 8 :].max(), values[len(values) // 8 :].min()
    span = max(top - bottom, 1e-12 * max(1.0, abs(float(last.max()))))
    x = 40 + 560 * (seconds - seconds[0]) / max(seconds[-1] - seconds[0], 1e-9)
    lines = []
    for column, colour in zip(values.T, ("#b04030", "#3050a0")):
        y = np.clip(20 + 200 * (top - column) / span, 0, 240)
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{path}"/>')
    return (
        '<h2>Upper bound (red) and dual value (blue) over time</h2><svg width="640" height="260" '
        f'role="img">{"".join(lines)}<text x="40" y="255">0 s</text>'
        f'<text x="560" y="255">{seconds[-1]:.2f} s</text></svg>'
    )


def page(result: Result) -> str:
    """A page that stands alone."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>submarine</title>'
        "<style>body{font:16px sans-serif;margin:2em;max-width:60em}th{padding-right:1em;vertical-align:top}"
        f"</style></head><body><h1>What was proven</h1>{result_html(result)}{_curve(result)}</body></html>\n"
    )
