#!/usr/bin/env python3
"""Makes docs/images/segment.png and stereo.png from the results of the two commands that README shows.

usage: tools/readme_images.py [DEMO_OUT]        (after ./demo and the three commands of the segmentation; needs Debian's
python3-pil)
"""
import pathlib
import sys

from PIL import Image

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
IMAGES = REPOSITORY / "docs" / "images"
PANEL = (320, 277)
SPACE = 8


def panel(image):
    return image.convert("RGB").resize(PANEL, Image.LANCZOS)


def over(picture, labels):
    return Image.blend(picture.convert("RGB"), labels.convert("RGB"), 0.6)


def side_by_side(panels, path):
    width, height = PANEL
    row = Image.new("RGB", (len(panels) * (width + SPACE) - SPACE, height), "white")
    for k, image in enumerate(panels):
        row.paste(panel(image), (k * (width + SPACE), 0))
    row.quantize(256).save(path, optimize=True)
    print(path, path.stat().st_size, "bytes")


def segmentation(directory):
    picture, before, after = (Image.open(directory / name) for name in ("image.png", "labels_before.png", "labels.png"))
    return [picture, over(picture, before), over(picture, after)]


def main():
    demo_out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "demo-out"
    segment = demo_out / "segment"
    side_by_side(segmentation(segment), IMAGES / "segment.png")
    side_by_side([Image.open(demo_out / name) for name in ("left.png", "disparity_colour.png", "entropy_colour.png")],
                 IMAGES / "stereo.png")


if __name__ == "__main__":
    main()
