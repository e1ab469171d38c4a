"""Reads the PNG pictures, of up to 8 bits, of the shared data without any package."""

import struct
import zlib

import numpy as np


def read_png(path):
    """(height, width, 3) bytes, RGB; transparency is dropped, palettes and grey become colours."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    place, chunks = 8, {}
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        chunks[kind] = chunks.get(kind, b"") + data[place + 8:place + 8 + length]
        place += 12 + length
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert depth <= 8 and not interlaced, f"{path}: depth {depth}, interlaced {interlaced}"
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    row_bytes = (width * channels * depth + 7) // 8
    raw = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + row_bytes)
    rows = np.zeros((height, row_bytes), np.uint8)
    above = np.zeros(row_bytes, np.uint8)
    for y in range(height):
        rows[y] = above = _unfilter(int(raw[y, 0]), raw[y, 1:], above, max(1, channels * depth // 8))
    if depth < 8:
        assert colour == 3, f"{path}: grey of {depth} bits"
        bits = np.unpackbits(rows, axis=1)[:, :width * depth].reshape(height, width, depth)
        rows = (bits * (1 << np.arange(depth)[::-1])).sum(axis=-1).astype(np.uint8)
    pixels = rows.reshape(height, width, channels)
    if colour == 3:
        return np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[pixels[..., 0]]
    if colour in (0, 4):
        return np.repeat(pixels[..., :1], 3, axis=-1)
    return pixels[..., :3].copy()


def _unfilter(kind, line, above, channels):
    if kind == 0:
        return line.copy()
    if kind == 2:
        return line + above
    out = [0] * channels + line.tolist()
    up = [0] * channels + above.tolist()
    for i in range(channels, len(out)):
        a, b, c = out[i - channels], up[i], up[i - channels]
        if kind == 1:
            guess = a
        elif kind == 3:
            guess = (a + b) // 2
        else:
            p = a + b - c
            pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
            guess = a if pa <= pb and pa <= pc else b if pb <= pc else c
        out[i] = (out[i] + guess) & 255
    return np.array(out[channels:], np.uint8)
