"""`submarine report`: what it embeds, and one sentence for every bundle that is not in order."""

import base64
import json
import math
import random
import re
import struct
import subprocess
import zlib

from submarine_support import PROGRAM, CommandTest, main, npy_bytes, png_bytes

PNG_BEGIN = b"\x89PNG\r\n\x1a\n"


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\x00" + bytes(3 * width) for _ in range(height))
    return (PNG_BEGIN + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class ReportTest(CommandTest):

    def bundle(self, page=None, files=None, **summary):
        """Writes the bundle `out` and returns its name."""
        (self.directory / "out").mkdir(exist_ok=True)
        for name, content in (files or {}).items():
            self.write(f"out/{name}", content)
        self.write("out/summary.json", {**summary, **({} if page is None else {"page": page})})
        return "out"

    def page_text(self, *arguments):
        finished = self.run_well("report", "out", *arguments)
        self.assertEqual((finished.stdout, finished.messages), ("Wrote out/report.html.\n", ""))
        return (self.directory / "out" / "report.html").read_text(encoding="utf-8")

    def embedded(self, text, name):
        found = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.DOTALL)
        self.assertEqual(len(found), 1)
        return json.loads(found[0])

    def block(self, text, number):
        (found,) = re.findall(rf'<script type="text/plain" id="block-{number}">(.*?)</script>', text)
        return zlib.decompress(base64.b64decode(found, validate=True))


class Embeds(ReportTest):

    def test_marginals_within_their_quantisation(self):
        rows = [[0.0, 1.0, 0.0], [0.2, 0.3, 0.5], [1e-4, 0.9999, 0.0], [1 / 3, 1 / 3, 1 / 3]]
        values = [p for row in rows for p in row]
        for dtype in ("<f4", "<f8"):
            self.bundle(files={"marginals.npy": npy_bytes((2, 2, 3), values, dtype)})
            text = self.page_text()
            about = self.embedded(text, "bundle")
            self.assertEqual((about["width"], about["height"]), (2, 2))
            self.assertEqual((about["marginals"]["labels"], about["marginals"]["kept"]), (3, 3))
            self.assertEqual(list(self.block(text, about["marginals"]["block"])),
                             [math.floor(255 * math.sqrt(p) + 0.5) for p in values])

    def test_most_probable_labels(self):
        page = {"marginals": {"file": "top.npy", "labels_file": "labels.npy", "names": list("abcd")}}
        self.bundle(page, {"top.npy": npy_bytes((1, 2, 2), [0.25, 0.5, 0.64, 0.36], "<f4"),
                           "labels.npy": npy_bytes((1, 2, 2), [3, 1, 0, 2], "<i4")})
        text = self.page_text()
        about = self.embedded(text, "bundle")["marginals"]
        self.assertEqual((about["labels"], about["kept"], about["labelBytes"]), (4, 2, 1))
        self.assertEqual(list(self.block(text, about["labelBlock"])), [1, 3, 0, 2])
        self.assertEqual(list(self.block(text, about["block"])), [180, 128, 204, 153])

    def test_values_as_they_are(self):
        page = {"values": [{"name": "truth", "file": "truth.npy", "unit": "px"}]}
        self.bundle(page, {"truth.npy": npy_bytes((1, 3), [0.1, math.nan, -7.0])})
        text = self.page_text()
        (value,) = self.embedded(text, "bundle")["values"]
        numbers = struct.unpack("<3f", self.block(text, value["block"]))
        self.assertEqual(numbers[0], struct.unpack("<f", struct.pack("<f", 0.1))[0])
        self.assertTrue(math.isnan(numbers[1]))
        self.assertEqual(numbers[2], -7.0)

    def test_panels_and_texts(self):
        name = "</script><script>alert(1)</script><!-- \u00e9 \u2028"
        picture = png(4, 3)
        self.bundle({"title": name, "panels": [{"name": name, "file": "a b.png"}]}, {"a b.png": picture}, model=name)
        text = self.page_text()
        self.assertEqual(text.count("alert(1)"), 4)  # title, name, model; and the name once more
        self.assertNotIn("<script>alert", text)
        self.assertEqual(self.embedded(text, "summary")["model"], name)
        (panel,) = self.embedded(text, "bundle")["panels"]
        self.assertEqual(panel["name"], name)
        self.assertEqual(base64.b64decode(panel["src"].removeprefix("data:image/png;base64,")), picture)

    def test_one_file_with_its_licence(self):
        self.bundle(lower=-2.5, upper=-1.5)
        text = self.page_text()
        self.assertIn("Permission is hereby granted", text)
        self.assertIn("default-src 'none'", text)
        self.assertLess(len(text), 200_000)
        self.assertEqual([name for name in re.findall(r'(?:src|href)="([^"]*)"', text) if not name.startswith("data:")], [])

    def test_output_elsewhere(self):
        self.bundle(upper=1.0)
        self.run_well("report", "out", "-o", "page.html")
        self.assertTrue((self.directory / "page.html").exists())
        self.assertFalse((self.directory / "out" / "report.html").exists())
        piped = subprocess.run([PROGRAM, "report", "out", "-o", "/dev/stdout"], cwd=self.directory, stdout=subprocess.PIPE,
                               check=True, timeout=60)
        self.assertEqual(piped.stdout, (self.directory / "page.html").read_bytes())

    def test_a_tight_limit_shows_fewer_pixels_and_labels(self):
        width, height, labels = 200, 150, 12
        numbers = random.Random(3)
        noise = [numbers.randrange(256) for _ in range(3 * width * height)]
        rows = [[1 + numbers.randrange(37) for _ in range(labels)] for _ in range(width * height)]
        marginals = [v / sum(row) for row in rows for v in row]
        values = [numbers.random() for _ in range(width * height)]
        self.bundle({"panels": [{"file": "a.png"}], "marginals": {"file": "m.npy"}, "values": [{"file": "v.npy"}]},
                    {"m.npy": npy_bytes((height, width, labels), marginals, "<f4"), "a.png": png_bytes(width, height, 3, noise),
                     "v.npy": npy_bytes((height, width), values, "<f4")})
        text = self.page_text()
        about = self.embedded(text, "bundle")
        self.assertEqual((about["notes"], about["step"], about["width"], about["height"]), ([], 1, width, height))
        text = self.page_text("--max-mb", 0.25)
        self.assertLess(len(text), 250_000)
        about = self.embedded(text, "bundle")
        step = about["step"]
        self.assertGreater(step, 1)
        self.assertEqual((about["width"], about["height"]), (-(-width // step), -(-height // step)))
        self.assertEqual(about["full"], [width, height])
        self.assertIn(f"of the {width} x {height} pixels", about["notes"][0])
        self.assertIn('"src":"data:', text)
        # The pixel in the middle of every block.
        shown = struct.unpack(f"<{about['width'] * about['height']}f", self.block(text, about["values"][0]["block"]))
        x, y = 3, 2
        pixel = (y * step + step // 2) * width + x * step + step // 2
        self.assertAlmostEqual(shown[y * about["width"] + x], values[pixel], places=6)
        kept, q = about["marginals"]["kept"], self.block(text, about["marginals"]["block"])
        best = max(marginals[pixel * labels:(pixel + 1) * labels])
        place = (y * about["width"] + x) * kept
        self.assertLess(abs((max(q[place:place + kept]) / 255) ** 2 - best), 1 / 255)

    def test_volumes_have_slices(self):
        depth, height, width, labels = 3, 4, 5, 2
        values = [k / 400 for k in range(depth * height * width)]
        self.bundle(files={"marginals.npy": npy_bytes((depth, height, width, labels), [p for v in values for p in (v, 1 - v)], "<f4"),
                           "entropy.npy": npy_bytes((depth, height, width), values, "<f4")})
        about = self.embedded(self.page_text(), "bundle")
        self.assertEqual((about["width"], about["height"], about["depth"], about["notes"]), (width, height, depth, []))
        self.bundle(files={"marginals.npy": npy_bytes((depth, height, width, labels), [0.5] * 120, "<f4"),
                           "entropy.npy": npy_bytes((height, width), values[:20], "<f4")})
        self.assert_one_sentence(self.run_command("report", "out"), ["marginals.npy", "5 x 4 x 3"])


class Refused(ReportTest):

    def assert_refused(self, *mentions, arguments=("report", "out")):
        finished = self.run_command(*arguments)
        self.assert_one_sentence(finished, mentions)
        self.assertFalse((self.directory / "out" / "report.html").exists())

    def test_directories(self):
        self.assert_refused("missing", arguments=("report", "missing"))
        (self.directory / "out").mkdir()
        self.assert_refused("summary.json")
        self.assert_refused("DIR", arguments=("report",))
        self.write("file", "")
        self.assert_refused("file", "directory", arguments=("report", "file"))
        self.bundle()
        self.assert_refused("nowhere", arguments=("report", "out", "-o", "nowhere/page.html"))
        self.assert_refused("--max-mb", arguments=("report", "out", "--max-mb", "-1"))

    def test_summaries(self):
        self.bundle()
        for text, *words in (("", "empty"), ("{", "summary.json:1"), ("[]", "object"), ('{"a": "\xff"}'.encode("latin1"), "summary.json"),
                             ('{"iterations": 3}', "iterations", "list"), ('{"iterations": [{}]}', "iterations[0]", "seconds"),
                             ('{"page": []}', "page", "object")):
            self.write("out/summary.json", text)
            self.assert_refused(*words)

    def test_ill_formed_pages(self):
        x = {"values": [1, 2]}
        for page, *words in (
                ({"panels": {}}, "page.panels", "list"),
                ({"panels": [{"name": "a"}]}, "page.panels[0]", "file"),
                ({"panels": [{"file": 3}]}, "page.panels[0].file", "string"),
                ({"panels": [{"file": "../a.png"}]}, "page.panels[0].file", "inside"),
                ({"panels": [{"file": "/etc/passwd"}]}, "page.panels[0].file", "inside"),
                ({"panels": [{"file": ""}]}, "page.panels[0].file", "inside"),
                ({"panels": [{"file": "a.png\0b"}]}, "page.panels[0].file", "inside"),
                ({"panels": [{"file": "a.png", "scale": {"low": "0", "high": 1}}]}, "page.panels[0].scale.low", "number"),
                ({"panels": [{"file": "a.png", "legend": [{"name": "a", "colour": "red;"}]}]}, "legend[0].colour", "#aabbcc"),
                ({"values": [{"name": "v"}]}, "page.values[0]", "file"),
                ({"marginals": {"file": "m.npy", "names": 4}}, "page.marginals.names", "list"),
                ({"facts": [["only one"]]}, "page.facts[0]", "pair"),
                ({"plots": [{"x": x}]}, "page.plots[0]", "series"),
                ({"plots": [{"x": x, "series": [{"name": "s", "values": [1]}]}]}, "series[0].values", "2 numbers"),
                ({"plots": [{"x": x, "series": [{"name": "s", "values": [1, "b"]}]}]}, "values[1]", "number"),
                ({"notes": [3]}, "page.notes[0]", "string"),
                ({"title": 3}, "page.title", "string")):
            with self.subTest(page=page):
                self.bundle(page)
                self.assert_refused(*words)

    def test_links_out_of_the_bundle(self):
        """A page is given to others: nothing of the disk may enter it through an unpacked archive."""
        outside = {"secret.png": png(4, 3), "secret.npy": npy_bytes((3, 4), [0.0] * 12),
                   "secret_m.npy": npy_bytes((3, 4, 2), [0.5] * 24), "secret.json": '{"page": {"title": "secret"}}'}
        for name, content in outside.items():
            self.write(name, content)
        panel, figure, value = ({kind: [{"file": "link"}]} for kind in ("panels", "figures", "values"))
        marginals = {"marginals": {"file": "link"}}
        top = {"marginals": {"file": "m.npy", "labels_file": "link"}}
        for page, link, target in ((panel, "link", "secret.png"), (figure, "link", "secret.png"), (value, "link", "secret.npy"),
                                   (marginals, "link", "secret_m.npy"), (top, "link", "secret_m.npy"),
                                   (None, "labels.npy", "secret.npy"), (None, "marginals.npy", "secret_m.npy"),
                                   (None, "picture.png", "secret.png"),
                                   ({"panels": [{"file": "d/secret.png"}]}, "d", ""), (None, "summary.json", "secret.json")):
            with self.subTest(page=page, link=link):
                self.bundle(page, {"m.npy": npy_bytes((3, 4, 2), [0.5] * 24)})
                path = self.directory / "out" / link
                path.unlink(missing_ok=True)
                path.symlink_to(self.directory / target)
                self.assert_refused(link, "link out of the bundle")
                path.unlink()
        self.bundle({"panels": [{"file": "b.png"}]}, {"a.png": png(4, 3)})
        (self.directory / "out" / "b.png").symlink_to("a.png")
        (self.directory / "also").symlink_to("out")
        self.run_well("report", "also")

    def test_files_that_disagree(self):
        good = {"a.png": png(4, 3), "v.npy": npy_bytes((3, 4), [0.0] * 12), "m.npy": npy_bytes((3, 4, 2), [0.5] * 24)}
        page = {"panels": [{"file": "a.png"}], "values": [{"file": "v.npy"}], "marginals": {"file": "m.npy", "names": ["a", "b"]}}
        for name, content, *words in (
                ("a.png", None, "a.png"), ("a.png", b"JFIF" * 20, "a.png", "PNG"), ("a.png", PNG_BEGIN, "a.png", "PNG"),
                ("a.png", png(4, 4), "v.npy", "4 x 3", "4 x 4", "a.png"),
                ("v.npy", npy_bytes((4, 3), [0.0] * 12), "v.npy", "3 x 4", "expected 4 x 3"),
                ("v.npy", npy_bytes((12,), [0.0] * 12), "v.npy", "(12,)"), ("v.npy", b"", "v.npy"),
                ("v.npy", npy_bytes((0, 4), []), "v.npy", "4 x 0"),
                ("m.npy", npy_bytes((3, 4, 3), [1 / 3] * 36), "m.npy", "3 labels", "expected 2"),
                ("m.npy", npy_bytes((12, 2), [0.5] * 24), "m.npy", "(12, 2)"),
                ("m.npy", npy_bytes((3, 4, 2), [0.5] * 23 + [math.nan]), "m.npy", "x = 3, y = 2", "nan"),
                ("m.npy", npy_bytes((3, 4, 2), [0.5] * 11 + [0.25] + [0.5] * 12), "m.npy", "x = 1, y = 1", "0.75"),
                ("m.npy", npy_bytes((3, 4, 2), [-3.0, 4.0] + [0.5] * 22), "m.npy", "x = 0, y = 0", "-3")):
            with self.subTest(name=name, words=words):
                self.bundle(page, {**good, **({name: content} if content is not None else {})})
                if content is None:
                    (self.directory / "out" / name).unlink()
                self.assert_refused(*words)

    def test_labels_of_most_probable(self):
        page = {"marginals": {"file": "top.npy", "labels_file": "labels.npy", "names": list("abc")}}
        top = npy_bytes((1, 2, 2), [0.5, 0.5, 0.6, 0.4])
        for labels, *words in ((npy_bytes((1, 2, 2), [0, 1, 2, 3], "<i4"), "labels.npy", "label 3", "0 to 2"),
                               (npy_bytes((1, 2, 2), [0, -1, 2, 1], "<i4"), "label -1"),
                               (npy_bytes((2, 2), [0, 1, 2, 1], "<i4"), "labels.npy", "(2, 2)", "(1, 2, 2)"),
                               (npy_bytes((1, 2, 2), [0, 1, 2, 1]), "labels.npy", "integers")):
            self.bundle(page, {"top.npy": top, "labels.npy": labels})
            self.assert_refused(*words)


if __name__ == "__main__":
    main()
