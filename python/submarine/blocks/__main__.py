"""``python -m submarine.blocks SOFTMAX IMAGE -o LABELS``: labels of what is larger than the memory, by the command line."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from typing import Any, Dict, List, Optional

from .._errors import Error
from ._refine import refine

EXAMPLES = """examples:
  python3 -m submarine.blocks softmax.npy image.npy -o labels.npy --max-memory 3
  python3 -m submarine.blocks softmax.zarr image.ome.zarr -o labels.ome.zarr --bilateral 8,13,4 --position 2,3
  python3 -m submarine.blocks p.nii.gz t1.nii.gz -o labels.nii.gz --no-certify
  python3 -m submarine.blocks softmax.zarr image.zarr -o labels.zarr --scheduler tcp://10.0.0.1:8786 --threads 1
"""


def numbers(count: int) -> Any:
    """The type of an option of so many numbers."""

    def parse(text: str) -> List[float]:
        values = [float(part) for part in text.split(",")]
        if len(values) != count:
            raise ValueError(text)
        return values

    parse.__name__ = f"{count} numbers with commas between them"  # argparse says what is wrong with it
    return parse


def parser_of() -> argparse.ArgumentParser:
    """The options, most of them keywords of refine."""
    parser = argparse.ArgumentParser(
        prog="python3 -m submarine.blocks", description="Labels of pictures and volumes larger than the memory, by blocks, and an interval "
        "around log Z of the whole (docs/scaling.md). The same command continues where one was stopped.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("softmax", help=".npy, zarr, OME-Zarr or NIfTI; several NIfTI files with commas between them")
    parser.add_argument("image", help=".npy, zarr, OME-Zarr or NIfTI")
    parser.add_argument("-o", "--output", required=True, dest="out", help="the labels: .npy, .zarr, .ome.zarr, .nii.gz")
    parser.add_argument("--max-memory", type=float, metavar="GB", help="of each worker")
    parser.add_argument("--block", type=int, metavar="N", help="side of the blocks; without it the largest that fit")
    parser.add_argument("--workers", type=int, help="processes at a time")
    parser.add_argument("--threads", type=int, help="of each worker")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a dask.distributed cluster that sees the same files")
    parser.add_argument("--position", type=numbers(2), metavar="SIGMA,WEIGHT", help="kernel of positions")
    parser.add_argument("--bilateral", type=numbers(3), metavar="SXY,SRGB,WEIGHT", help="kernel of positions and colours")
    parser.add_argument("--preset", choices=["adapted", "pydensecrf"])
    parser.add_argument("--parameters", metavar="FILE", help="of submarine fit")
    parser.add_argument("--metric", help="potts, linear, truncated:T")
    parser.add_argument("--label-axis", type=int, help="which axis of the softmax is that of the labels, where both ends could be")
    parser.add_argument("--no-certify", dest="certify", action="store_false", default=None, help="labels only")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="of the proof of each block's upper bound (30)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no summary")
    return parser


def keywords_of(given: Dict[str, Any]) -> Dict[str, Any]:
    """Those of refine."""
    keywords = {name: value for name, value in given.items() if value is not None}
    for kernel, names in (("position", ["position_sigma", "position_weight"]),
                          ("bilateral", ["bilateral_sigma", "colour_sigma", "bilateral_weight"])):
        keywords.update(zip(names, keywords.pop(kernel, [])))
    if "," in keywords["softmax"]:
        keywords["softmax"] = keywords["softmax"].split(",")
    keywords["progress"] = not keywords.pop("quiet")
    return keywords


def main(arguments: Optional[List[str]] = None) -> int:
    """As those of the command (docs/conventions.md); 3 where blocks are missing."""
    given = vars(parser_of().parse_args(arguments))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is missing is told below
            found = refine(**keywords_of(given))
    except KeyboardInterrupt:
        print("submarine.blocks: interrupted; the same command continues", file=sys.stderr)
        return 3
    except (Error, OSError) as error:
        print(f"submarine.blocks: {error}", file=sys.stderr)
        return 2 if isinstance(error, Error) else 1
    if not given["quiet"]:
        seams = found.summary["seams"]
        print(f"{found.summary['blocks']} blocks of {found.summary['block']}, {found.summary['seconds']:.0f} s; "
              f"{seams['different']} of {seams['compared']} labels next to seams differ between their blocks.")
        if found.lower > -math.inf:
            print(f"Certified: log Z lies between {found.lower:.6f} and {found.upper:.6f}.")
        print(f"Labels: {found.labels}")
    for task in found.missing:
        print(f"missing: {task}; the same command tries it again", file=sys.stderr)
    return 3 if found.missing else 0


if __name__ == "__main__":
    sys.exit(main())
