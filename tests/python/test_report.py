"""Result.report: the files of a bundle, and the command's page of them."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

import submarine as sm
from conftest import run_command
from png_reader import read_png
from submarine import _report

RNG = np.random.default_rng(8)


def picture_result(height=20, width=26, labels=3, **options):
    truth = np.add.outer(np.arange(height), np.arange(width)) // 12 % labels
    image = (70 * truth[..., None] + RNG.integers(0, 40, (height, width, 3))).astype(np.uint8)
    softmax = 0.5 * np.eye(labels)[truth] + 0.5 * RNG.dirichlet(np.ones(labels), (height, width))
    return sm.refine(softmax, image, **options).result, image, softmax.argmax(-1)


def parts(path):
    """(what stands around the data, summary, the bundle with its blocks and pictures unpacked)"""
    page = path.read_text()
    found = dict(re.findall(r'<script type="[^"]*" id="([^"]*)">(.*?)</script>\n', page, flags=re.DOTALL))
    around = re.sub(r'<script type="[^"]*" id="[^"]*">.*?</script>\n', "", page, flags=re.DOTALL)
    bundle = json.loads(found["bundle"])
    blocks = {key: zlib.decompress(base64.b64decode(text)) for key, text in found.items() if key.startswith("block-")}
    for part in [*bundle["values"], bundle.get("marginals", {})]:
        for key in ("block", "labelBlock"):
            if key in part:
                part[key] = blocks.pop(f"block-{part[key]}")
    for panel in bundle["panels"]:
        path.with_suffix(".png").write_bytes(base64.b64decode(panel["src"].partition(",")[2]))
        panel["src"] = read_png(path.with_suffix(".png")).tobytes()
    assert not blocks, "blocks that nothing refers to"
    bundle["notes"] = [note.replace(" (--max-mb)", "") for note in bundle["notes"]]
    return around, json.loads(found["summary"]), bundle


def assert_page_is_the_commands(directory, *options):
    """`submarine report` makes the same page of the same files."""
    run_command("report", directory, "-o", directory / "again.html", *options)
    ours, theirs = (parts(directory / name) for name in ("report.html", "again.html"))
    assert ours[:2] == theirs[:2]
    for key, value in theirs[2].items():
        assert ours[2][key] == value, key
    assert ours[2].keys() == theirs[2].keys()
    return ours[2]


def test_files_and_summary(tmp_path):
    result, image, before = picture_result(certify=True)
    path = result.report(tmp_path / "out", image=image, before=before, names=["sky", "sea", "sand"], title="A <coast>")
    assert path == str(tmp_path / "out" / "report.html")
    for name, array in dict(labels=result.labels, marginals=result.marginals, entropy=result.entropy()).items():
        np.testing.assert_allclose(np.load(tmp_path / "out" / f"{name}.npy"), array, atol=1e-6)
    np.testing.assert_array_equal(read_png(tmp_path / "out" / "image.png"), image)
    colours = [[0, 0, 0], [128, 0, 0], [0, 128, 0]]  # VOC's
    np.testing.assert_array_equal(read_png(tmp_path / "out" / "labels.png"), np.take(colours, result.labels, axis=0))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["lower"], summary["upper"]) == result.interval
    assert summary["provenance"]["lower"] == summary["provenance"]["upper"] == "verified"
    assert summary["about"] == result.model and len(summary["iterations"]) == len(result.records)
    assert summary["interval"]["per_variable"] == (result.upper - result.lower) / 520
    assert summary["options"]["method"] == "auto"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<coast>" not in page and "A \\u003ccoast>" in page


def test_page_is_that_of_the_command(tmp_path):
    result, image, before = picture_result(certify=True)
    result.report(tmp_path, image=image, before=before, names=["sky", "sea", "sand"])
    bundle = assert_page_is_the_commands(tmp_path)
    assert [panel["name"] for panel in bundle["panels"]] == ["picture", "before", "labels", "uncertainty"]
    assert len(bundle["marginals"]["block"]) == result.marginals.size


@pytest.mark.parametrize("model", [
    sm.GridCrf(RNG.normal(size=(6, 7, 3)), 0.4),
    sm.DenseCrf(RNG.normal(size=(2, 5, 4, 3)), [sm.position(2, 0.5)]),
    sm.GraphCrf(RNG.normal(size=(5, 2)), [[0, 1], [1, 2], [3, 4]], 0.3),
    sm.FactorGraph([2, 3], [([0, 1], RNG.normal(size=(2, 3)))]),
], ids=["grid", "volume", "graph", "tables"])
@pytest.mark.parametrize("temperature", [0, 1])
def test_pages_of_other_models(tmp_path, model, temperature):
    result = sm.solve(model, temperature=temperature, time_limit=20)
    result.report(tmp_path)
    bundle = assert_page_is_the_commands(tmp_path)
    assert ("marginals" in bundle) == (len(model.shape) > 1)


def test_large_pages_are_made_smaller(tmp_path):
    result, image, _ = picture_result(300, 320, labels=9)
    result.report(tmp_path, image=image, max_mb=0.5)
    bundle = assert_page_is_the_commands(tmp_path, "--max-mb", "0.5")
    assert bundle["step"] > 1 and len(bundle["notes"]) >= 1
    assert (tmp_path / "report.html").stat().st_size < 5e5
    assert np.load(tmp_path / "marginals.npy").shape == (300, 320, 9)
    whole = tmp_path / "whole"
    unsure, _, _ = picture_result(300, 320, labels=9, max_iterations=0)
    unsure.report(whole, max_mb=1.0)
    bundle = assert_page_is_the_commands(whole, "--max-mb", "1")
    assert bundle["marginals"]["kept"] < 9 and "labelBlock" in bundle["marginals"]


def test_a_plain_page_without_the_template(tmp_path, monkeypatch):
    monkeypatch.setattr(_report, "_TEMPLATE", str(tmp_path / "missing.html"))
    result, image, _ = picture_result(certify="lower")
    page = open(result.report(tmp_path, image=image), encoding="utf-8").read()
    assert "how far above it lies is not known" in page and "verified: recomputed" in page
    assert page.count("data:image/png;base64,") == 3


def test_wrong_pictures_and_names_are_refused(tmp_path):
    result, image, before = picture_result()
    for wrong in (dict(image=image[1:]), dict(image=image, before=before + 7), dict(image=image, before=before / 2),
                  dict(before=before), dict(names=["one"])):
        with pytest.raises(sm.InvalidInput):
            result.report(tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()
