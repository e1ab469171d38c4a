#!/usr/bin/env python3
"""Makes docs/gallery.md true: runs its commands, puts what they say behind them, and makes the pictures, two of which are README's.

usage: tools/readme_images.py [SECTION...]      (after ./demo; a section needs the pictures and the results of those before it, which
are kept in demo-out/gallery; Debian's python3-pil, python3-nibabel, chromium)
"""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
from PIL import Image

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "gallery.md"
IMAGES = REPOSITORY / "docs" / "images"
WORK = REPOSITORY / "demo-out" / "gallery"
HEIGHT, SPACE, WIDEST = 277, 8, 1300
# Lines of output that are worth showing.
TOLD = re.compile(r"(Pixels right|Helps|Hurts|Bad pixels|Uncertainty|Labels of|Best labeling|Certified|Proven|Areas|Voxels|Disparities)")
TISSUES = np.array([[0, 0, 0], [70, 110, 200], [150, 150, 150], [250, 250, 250]], np.uint8)
# ```sh, and the ```text behind it
BLOCK = re.compile(r"```sh\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)


def picture(name):
    return Image.open(WORK / name).convert("RGB")


def over(name, labels):
    """A picture under the colours of its labels."""
    below = picture(name)
    return Image.blend(below, picture(labels).resize(below.size, Image.NEAREST), 0.6)


def halves(name):
    """The labels and the uncertainty that `solve --picture` puts side by side."""
    both = picture(name)
    middle = both.width // 2
    return [both.crop((0, 0, middle - 2, both.height)), both.crop((middle + 2, 0, both.width, both.height))]


def volume_slice(name, labels):
    """The middle one, from the front."""
    import nibabel

    values = np.rot90(np.asarray(nibabel.load(WORK / name).dataobj, dtype=np.float32)[:, 108])
    if labels:
        return Image.fromarray(TISSUES[values.argmax(-1) if values.ndim == 3 else values.astype(int)])
    return Image.fromarray(np.clip(255 * (values - values.min()) / np.ptp(values), 0, 255).astype(np.uint8)).convert("RGB")


def page(directory):
    """What a browser shows of report.html."""
    shot = WORK / directory / "screenshot.png"
    subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,1100",
                    "--virtual-time-budget=5000", f"--screenshot={shot}", (WORK / directory / "report.html").as_uri()],
                   check=True, capture_output=True)
    return picture(shot)


def side_by_side(name, panels, height=HEIGHT):
    width = min(panels[0].width * height // panels[0].height, WIDEST // len(panels) - SPACE)
    height = width * panels[0].height // panels[0].width
    row = Image.new("RGB", (len(panels) * (width + SPACE) - SPACE, height), "white")
    for k, image in enumerate(panels):
        row.paste(image.resize((width, height), Image.LANCZOS), (k * (width + SPACE), 0))
    row.quantize(256).save(IMAGES / name, optimize=True)
    print(name, (IMAGES / name).stat().st_size, "bytes")


PICTURES = {
    "Segmentation": lambda: ("segment.png", [
        picture("segment/image.png"), over("segment/image.png", "segment/labels_before.png"),
        over("segment/image.png", "segment/labels.png"), over("segment/image.png", "segment/truth.png")]),
    "Scribbles": lambda: ("scribbles.png", [
        Image.blend(picture("aloeL.jpg"), Image.open(IMAGES / "aloe_scribbles.png").convert("RGB"), 0.6),
        over("scribbled/image.png", "scribbled/labels.png")]),
    "Stereo": lambda: ("stereo.png", [
        picture(f"stereo/{name}.png") for name in ("left", "disparity_colour", "uncertainty_colour", "error_colour")]),
    "A model file": lambda: ("grid.png", [picture("matching/left.png"), *halves("grid.png")]),
    "Volume": lambda: ("volume.png", [
        volume_slice("noisy.nii.gz", False), volume_slice("softmax.nii.gz", True), volume_slice("labels.nii.gz", True),
        volume_slice("ch2bet.nii.gz", False)]),
    "The page": lambda: ("report.png", [page("scene")], 1100),
}


def run(block):
    """The block again, with what its commands say now."""
    commands = block[1]
    environment = dict(os.environ, REPOSITORY=str(REPOSITORY), PYTHONPATH=str(REPOSITORY / "build" / "python"),
                       PATH=f"{REPOSITORY}/build/bin:/usr/bin:{os.environ['PATH']}")
    print(commands, flush=True)
    ran = subprocess.run(["bash", "-e", "-c", commands], cwd=WORK, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"readme_images: these commands failed:\n{ran.stdout}{ran.stderr}")
    told = "".join(f"{line}\n" for line in ran.stdout.splitlines() if TOLD.match(line))
    return f"```sh\n{commands}```\n" + (f"\n```text\n{told}```\n" if told else "")


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    sections = re.split(r"^(?=## )", PAGE.read_text(), flags=re.MULTILINE)
    for k, section in enumerate(sections):
        title = section.partition("\n")[0].removeprefix("## ")
        wanted = title in sys.argv[1:] or len(sys.argv) == 1 if k > 0 else not (WORK / "aloeL.jpg").exists()
        if not wanted:
            continue
        sections[k] = BLOCK.sub(run, section)
        PAGE.write_text("".join(sections))
        if title in PICTURES:
            side_by_side(*PICTURES[title]())


if __name__ == "__main__":
    main()
