"""``python -m submarine.blocks._worker FOLDER TASK``: one task in a process of its own."""

import sys

from .._errors import Error
from ._run import perform


def main() -> int:
    """0 once its result is written; else the last line on stderr says why not."""
    try:
        perform(sys.argv[1], sys.argv[2])
    except (Error, MemoryError, OSError) as error:
        print(str(error) or type(error).__name__, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
