"""One word for one thing: keywords are the command's options, and what is wrong is named with the nearest word."""

import inspect
import re
import subprocess
import typing

import numpy as np
import pytest
from conftest import program

import submarine as sm
import submarine.compat.densecrf as dcrf
from submarine import _core, _keywords, _solve

SOFTMAX, IMAGE = np.full((4, 5, 2), 0.5), np.zeros((4, 5, 3), np.uint8)
GRID = sm.GridCrf(np.zeros((3, 4, 2)), 0.5)


def options_of(command):
    shown = subprocess.run([program(), command, "--help"], capture_output=True, text=True, check=True).stdout
    return {name.replace("-", "_") for name in re.findall(r"--([a-z][a-z-]*)", shown)}


def keywords_of(function, *others):
    return [name for name in inspect.signature(function).parameters if name not in others]


def test_keywords_are_the_options_of_the_command():
    segment = options_of("segment")
    other = ("model", "callback", "progress", "expectations")  # Python's own
    assert set(keywords_of(sm.solve, *other)) <= options_of("solve") | (segment & {"updates"})
    kernels = ("position_sigma", "position_weight", "bilateral_sigma", "colour_sigma", "bilateral_weight", "normalised")
    arrays = ("probabilities", "image", "label_axis", "channel_axis", "spacing", "compatibility", "clip", "progress")
    assert set(keywords_of(sm.refine, *kernels, *arrays)) <= segment
    assert "count" in segment


def test_solve_takes_every_option_of_the_library():
    values = dict(max_iterations=5, gap=0.1, time_limit=9, max_memory=1.5, levels=8, rho=0.4, rho_steps=1, rounding=3,
                  starts=2, cutoff=0.01, threads=1)
    for name in keywords_of(sm.solve, "model", "callback", "progress"):
        value = values.get(name)
        if name in _solve._CHOICES:
            value = typing.get_args(_solve._CHOICES[name])[0]
        if value is not None:  # a word that the library does not know is refused by it
            method = {"rho_steps": "trw"}.get(name, "auto")
            assert sm.solve(GRID, method, **{name: value}).options[name] == value
    assert sm.solve(GRID, "pdhg", max_iterations=5, gap=0.0).records[-1].k <= 5


def test_the_library_has_the_same_values():
    for name, kind in _solve._CHOICES.items():
        with pytest.raises(sm.InvalidInput) as caught:
            _core.solve(GRID._core, {name: "?"}, None)
        assert f'{name} is "?", expected one of ' in str(caught.value)
        assert set(str(caught.value).partition("one of ")[2].split(", ")) == set(typing.get_args(kind))


def test_refine_many_has_the_keywords_of_refine():
    one, many = (dict(inspect.signature(f).parameters) for f in (sm.refine, sm.refine_many))
    del one["probabilities"], one["image"], many["jobs"], many["workers"]
    assert one == many
    for name, value in dict(bilateral_sigma=7, max_iterations=2, certify="lower", softmax_temperature=2).items():
        (found,) = sm.refine_many([(SOFTMAX + [0.1, -0.1], IMAGE)], **{name: value})
        alone = sm.refine(SOFTMAX + [0.1, -0.1], IMAGE, **{name: value})
        np.testing.assert_array_equal(found.probabilities, alone.probabilities)
        assert found.result.interval == alone.result.interval and found.result.options == alone.result.options


@pytest.mark.parametrize("call, words", [
    (lambda: sm.solve(GRID, iterations=5), 'solve() has no keyword "iterations"; did you mean max_iterations?'),
    (lambda: sm.solve(GRID, time_limt=5), 'solve() has no keyword "time_limt"; did you mean time_limit?'),
    (lambda: sm.solve(GRID, marginals="mean"), "did you mean marginals_of?"),
    (lambda: sm.refine(SOFTMAX, IMAGE, sxy=80),
     'refine() has no keyword "sxy"; did you mean position_sigma or bilateral_sigma?'),
    (lambda: sm.refine(SOFTMAX, IMAGE, srgb=13), "did you mean colour_sigma?"),
    (lambda: sm.refine(SOFTMAX, IMAGE, color_sigma=13), "did you mean colour_sigma?"),
    (lambda: sm.refine(SOFTMAX, IMAGE, sigma=8), "did you mean position_sigma, bilateral_sigma or colour_sigma?"),
    (lambda: sm.refine(SOFTMAX, IMAGE, temperature=2), "did you mean softmax_temperature?"),
    (lambda: sm.refine_many([], worker=2), "did you mean workers?"),
    (lambda: sm.DenseCrf(SOFTMAX, pairs="once"), 'DenseCrf() has no keyword "pairs"; did you mean count?'),
    (lambda: sm.GridCrf(SOFTMAX, zzz=1), 'GridCrf() has no keyword "zzz"; it has unary, weights, metric, '),
    (lambda: sm.position(3, 3, normalized=True), "did you mean normalised?"),
    (lambda: sm.solve(GRID).report("out", picture=IMAGE), 'Result.report() has no keyword "picture"'),
    (lambda: dcrf.DenseCRF(3, 2).bounds(limit=3), "did you mean time_limit?"),
])
def test_unknown_keywords_name_the_nearest(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("call, words", [
    (lambda: sm.solve(GRID, "pdgh"), 'method is "pdgh", expected auto, pdhg, '),
    (lambda: sm.solve(GRID, "pdgh"), "; did you mean pdhg?"),
    (lambda: sm.solve(GRID, certify="lowr"),
     'certify is "lowr", expected auto, exact, operator, lower or none; did you mean lower?'),
    (lambda: sm.solve(GRID, pairs="latice"), "did you mean lattice?"),
    (lambda: sm.solve(GRID, marginals_of="mean_field"), "did you mean mean-field?"),
    (lambda: sm.solve(GRID, step=2), "step is 2, expected line-search or harmonic"),
    (lambda: sm.solve(GRID, gap="small"), 'gap is "small", expected a number'),
    (lambda: sm.solve(GRID, max_iterations=2.5), "max_iterations is 2.5, expected a whole number"),
    (lambda: sm.solve(GRID, max_memory=0), "max_memory is 0.0, expected a finite number of gigabytes > 0"),
    (lambda: sm.solve([[1]]), "the model is a list, expected GridCrf"),
    (lambda: sm.DenseCrf(SOFTMAX, count="twice"), 'count is "twice", expected once or ordered'),
    (lambda: sm.DenseCrf(SOFTMAX, sm.position(3, 3)), "kernels is a KernelSpec, expected a list of kernels"),
    (lambda: sm.DenseCrf(SOFTMAX, [IMAGE]), "kernels holds an array of uint8, expected what position"),
    (lambda: sm.GridCrf(SOFTMAX, metric="pots"), "did you mean potts?"),
    (lambda: sm.position(None, 3), "sigma is None, expected a number or a list of numbers"),
    (lambda: sm.refine(SOFTMAX, IMAGE, bilateral_sigma="8"), 'bilateral_sigma is "8", expected a number or a list'),
    (lambda: sm.refine(SOFTMAX, IMAGE, label_axis="last"), 'label_axis is "last", expected a whole number'),
    (lambda: sm.GridCrf(SOFTMAX, label_axis=None), "label_axis is None, expected a whole number"),
    (lambda: list(sm.refine_many([SOFTMAX])), "a job is an array of float64, expected (probabilities, image)"),
    (lambda: sm.FactorGraph(3, []), "cardinality is 3, expected a list of whole numbers"),
    (lambda: sm.FactorGraph([2], [3]), "factor 0 is 3, expected (scope, energies)"),
    (lambda: sm.FactorGraph([2], [((0.5,), [0, 0])]), "an entry of the scope of factor 0 is 0.5, expected a whole"),
    (lambda: sm.position(3, "3"), 'weight is "3", expected a number'),
    (lambda: sm.refine(SOFTMAX, IMAGE, preset="pydensecrv"), "did you mean pydensecrf?"),
    (lambda: sm.refine(SOFTMAX, None), "the image is None, expected an array of numbers"),
    (lambda: sm.refine("softmax.npy", IMAGE), 'probabilities is "softmax.npy", expected an array of numbers'),
    (lambda: sm.refine(SOFTMAX, [[1, 2], [3]]), " of unequal lengths"),
    (lambda: sm.refine(SOFTMAX, [[None, {}]]), " with entries that are no numbers"),
    (lambda: sm.refine({}, IMAGE), "probabilities is a dict, expected an array of numbers"),
    (lambda: sm.refine(SOFTMAX, np.array([[None]])), "the image is an array of objects, expected"),
    (lambda: sm.set_threads(-1), "threads is -1"),
])
def test_wrong_values_say_what_was_given_and_expected(call, words):
    with pytest.raises(sm.InvalidInput) as caught:
        call()
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


def test_lists_and_half_precision():
    rng = np.random.default_rng(1)
    softmax = rng.dirichlet([1, 1], (4, 5)).astype(np.float16)
    image = rng.integers(0, 256, (4, 5, 3))
    expected = sm.refine(softmax.astype(np.float32), image).probabilities
    for s, i in ((softmax, image), (softmax.tolist(), image.tolist()), (softmax, image.astype(np.float16))):
        np.testing.assert_array_equal(sm.refine(s, i).probabilities, expected)


def test_pairs_count_once_everywhere():
    kernels = [sm.position(2, 0.5)]
    labels = np.indices((4, 5)).sum(0) % 2
    default, once, ordered = (sm.DenseCrf(np.zeros((4, 5, 2)), kernels, **options).energy(labels)
                              for options in ({}, dict(count="once"), dict(count="ordered")))
    assert default == once == pytest.approx(0.5 * ordered)
    graph = sm.GraphCrf(np.zeros((2, 2)), [[0, 1]], 0.5)
    assert graph.energy([0, 1]) == 0.5


def test_what_is_shown_is_short():
    kernel = sm.bilateral(80, (13, 14, 15), 10, np.zeros((90, 80, 3)), normalised=True)
    assert repr(kernel) == ("<submarine.KernelSpec: bilateral, sigma 80, colour_sigma (13, 14, 15), weight 10, "
                            "image of shape (90, 80, 3), normalised>")
    refined = sm.refine(np.full((90, 80, 2), 0.5), np.zeros((90, 80)))
    assert repr(refined).startswith("<submarine.Refined: labels of shape (90, 80), probabilities of shape (90, 80, 2), "
                                    "no certified bound by mf (iteration limit), ")
    result = sm.solve(GRID)
    low, high = re.fullmatch(r"<submarine.Result: (\S+) <= log Z <= (\S+) by exact \(exact\), .* s>", repr(result)).groups()
    assert float(low) <= result.lower <= result.upper <= float(high) and float(high) - float(low) < 3e-4  # four decimals
    lower = sm.solve(GRID, "mf")
    assert re.match(r"<submarine.Result: \S+ <= log Z by mf ", repr(lower))
    assert "0.5 log Z" in repr(sm.solve(GRID, temperature=0.5)) and "-min E" in repr(sm.solve(GRID, temperature=0))


def documented():
    for name in sm.__all__:
        thing = getattr(sm, name)
        if inspect.isfunction(thing) or hasattr(thing.__init__, "__wrapped__"):
            yield name, thing
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and hasattr(function, "__wrapped__") and method != "__init__":
                    yield f"{name}.{method}", function


@pytest.mark.parametrize("name, thing", documented(), ids=lambda value: value if isinstance(value, str) else "")
def test_docstrings_have_sections_with_every_parameter(name, thing):
    text = thing.__doc__
    sections = dict(re.findall(r"^ *(\w+)\n *-+\n(.*?)(?=^ *\w+\n *-+\n|\Z)", text, flags=re.MULTILINE | re.DOTALL))
    parameters = [word for word in inspect.signature(thing).parameters if word != "self"]
    if parameters:
        assert "Raises" in sections
    for word in parameters:
        assert re.search(rf"\b{word}\b", sections["Parameters"]), word
    if inspect.isfunction(thing) and inspect.signature(thing).return_annotation != "None":
        assert "Returns" in sections
    if "." not in name:
        assert "Examples" in sections


def test_every_checked_word_is_a_keyword():
    """The words of others lead to words that there are."""
    functions = [sm.solve, sm.refine, sm.DenseCrf, sm.position, sm.bilateral, sm.SegmentationParameters, sm.probabilities_of]
    known = {word for function in functions for word in inspect.signature(function).parameters}
    for words in _keywords._OTHER_WORDS.values():
        assert set(words) <= known
