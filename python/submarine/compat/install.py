"""Importing this makes ``pydensecrf`` mean ``submarine.compat`` in this process."""

import sys

from submarine import compat
from submarine.compat import densecrf, eigen, utils

sys.modules["pydensecrf"] = compat
sys.modules["pydensecrf.densecrf"] = densecrf
sys.modules["pydensecrf.eigen"] = eigen
sys.modules["pydensecrf.utils"] = utils
