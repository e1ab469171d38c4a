"""``python -m submarine.blocks._worker FOLDER TASK``: one task in a process of its own."""

import os
import sys
import threading
import time

from .._errors import Error, FileError, InvalidInput
from ._run import REFUSED, perform


def die_with(parent: int) -> None:
    """A call that was killed and begins again finds no worker of its former life that writes what it reads."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main() -> int:
    """0 once its result is written; else the last line on stderr says why not."""
    threading.Thread(target=die_with, args=(os.getppid(),), daemon=True).start()
    try:
        perform(sys.argv[1], sys.argv[2])
    except (Error, MemoryError, OSError) as error:
        print(str(error) or type(error).__name__, file=sys.stderr)
        return REFUSED if isinstance(error, (InvalidInput, FileError)) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
