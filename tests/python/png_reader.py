"""Pictures of the shared data and of the program, by Pillow."""

import numpy as np
from PIL import Image


def read_png(path):
    """(height, width, 3) bytes, RGB; transparency is dropped, palettes and grey become colours."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
