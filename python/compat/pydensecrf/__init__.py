"""pydensecrf as submarine.compat provides it, for a PYTHONPATH with this folder's parent."""

try:
    import submarine.compat
except ModuleNotFoundError:
    # In a build tree the package stands two folders up.
    import pathlib
    import sys

    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
    import submarine.compat
