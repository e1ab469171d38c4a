"""pydensecrf's modules on submarine's engine: ``densecrf``, ``utils``, ``eigen``.

``import submarine.compat.install`` makes them importable as ``pydensecrf.densecrf`` and so on, and so does a
PYTHONPATH with ``build/python/compat``. Where they differ from pydensecrf on purpose, docs/pydensecrf.md says so.
"""

from . import densecrf, eigen, utils

__all__ = ["densecrf", "eigen", "utils"]
