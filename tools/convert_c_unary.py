#!/usr/bin/env python3
"""Writes the probabilities of a .c_unary file, in which MSRC-21 unaries are published, as X.softmax.npy.

    tools/convert_c_unary.py 2_14_s.c_unary 2_14_s.softmax.npy

The file: big-endian u32 width, height, labels, keys; f32 step; i32 key[keys][labels]; u32 id[width * height].
The probability of a label is its key times the step. Rows are divided by their sum, which quantisation has moved from 1.
"""

import array
import struct
import sys


def read_c_unary(path):
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 20:
        sys.exit(f"{path} has {len(data)} bytes, expected a header of 20")
    width, height, labels, keys, step = struct.unpack(">4If", data[:20])
    expected = 20 + 4 * (keys * labels + width * height)
    if len(data) != expected:
        sys.exit(f"{path} has {len(data)} bytes, expected {expected} from its header")
    table = struct.unpack(f">{keys * labels}i", data[20:20 + 4 * keys * labels])
    ids = struct.unpack(f">{width * height}I", data[20 + 4 * keys * labels:])
    if ids and max(ids) >= keys:
        sys.exit(f"{path} refers to key {max(ids)}, expected less than {keys}")
    rows = []
    for key in range(keys):
        row = [value * step for value in table[key * labels:(key + 1) * labels]]
        total = sum(row)
        if min(row) < 0.0 or not total > 0.0:
            sys.exit(f"{path} has a key {key} that is no distribution")
        rows.append([value / total for value in row])
    return width, height, labels, (rows[key] for key in ids)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    width, height, labels, rows = read_c_unary(sys.argv[1])
    values = array.array("f")
    for row in rows:
        values.extend(row)
    if sys.byteorder != "little":
        values.byteswap()
    header = repr({"descr": "<f4", "fortran_order": False, "shape": (height, width, labels)})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(sys.argv[2], "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1"))
        values.tofile(file)


if __name__ == "__main__":
    main()
