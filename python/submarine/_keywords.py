"""The keywords of public functions: their values by name, and what a wrong one is told."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Literal, Sequence, Set, TypeVar, cast

from ._arrays import given
from ._errors import InvalidInput

# The words of the command's options and of submarine/c_api/solve.cc, which a test compares.
Certify = Literal["auto", "exact", "operator", "lower", "none"]
Count = Literal["once", "ordered"]
FitScore = Literal["iou", "accuracy", "nll"]
Extension = Literal["optimal", "alternate"]
MarginalsOf = Literal["upper-bound", "mean-field", "mean", "routed"]
MeanFieldKind = Literal["naive", "forest"]
Plot = Literal["labels", "entropy", "marginals", "bounds"]
Preset = Literal["adapted", "pydensecrf"]
Pairs = Literal["auto", "list", "lattice", "brute-force"]
Step = Literal["line-search", "harmonic"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Words of pydensecrf and of bundles, which resemble none of ours.
_OTHER_WORDS = {
    "sxy": ("sigma", "position_sigma", "bilateral_sigma"),
    "srgb": ("colour_sigma",),
    "schan": ("colour_sigma",),
    "compat": ("weight", "position_weight", "bilateral_weight"),
    "rgbim": ("image",),
    "niter": ("max_iterations", "updates"),
    "unknown": ("ignore",),
    "pairs": ("count",),
}


def suggestion(word: str, known: Sequence[str]) -> str:
    """``; did you mean ...?`` with the known words that are nearest, or nothing."""
    near = [name for name in _OTHER_WORDS.get(word, ()) if name in known]
    if not near:
        parts = {name: _parts(name) for name in known}
        mine = _parts(word)
        near = [name for name in known if parts[name] == mine]
        near = near or [name for name in known if parts[name] <= mine or mine <= parts[name]]
    if not near:
        import difflib  # only here: it takes time

        near = difflib.get_close_matches(word.lower(), known, 1)
    return f"; did you mean {listed(near)}?" if near else ""


def _parts(word: str) -> Set[str]:
    return set(word.lower().replace("-", "_").replace(" ", "_").split("_"))


def listed(words: Sequence[str]) -> str:
    """``a, b or c``"""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def checked_keywords(function: Function) -> Function:
    """A function whose unknown keywords raise a TypeError that names the nearest one."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]
    name = function.__qualname__.replace(".__init__", "")

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for word in keywords:
            if word not in known:
                near = suggestion(word, known) or f"; it has {', '.join(known)}"
                raise TypeError(f'{name}() has no keyword "{word}"{near}')
        return function(*arguments, **keywords)

    return cast(Function, call)


def check_choice(value: Any, known: Sequence[str], name: str) -> None:
    """Refuses what is not one of the known words."""
    if not (isinstance(value, str) and value in known):
        near = suggestion(value, known) if isinstance(value, str) else ""
        raise InvalidInput(f"{name} is {given(value)}, expected {listed(known)}{near}")
