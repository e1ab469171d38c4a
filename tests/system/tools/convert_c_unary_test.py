"""tools/convert_c_unary.py on files that are written here."""

import struct
import subprocess
import sys

from submarine_support import SOURCE_DIR, Array, CommandTest, main

KEYS = [[1, 2, 1], [0, 5, 0], [2, 2, 5]]
IDS = [0, 1, 2, 2, 0, 1, 1, 0]  # of 4 x 2 pixels


class ConvertUnaries(CommandTest):

    def convert(self, data):
        self.write("a.c_unary", data)
        return subprocess.run([sys.executable, SOURCE_DIR / "tools" / "convert_c_unary.py", "a.c_unary", "a.npy"],
                              cwd=self.directory, capture_output=True, text=True, check=False)

    def file(self, keys=KEYS, ids=IDS):
        flat = [value for key in keys for value in key]
        return (struct.pack(">4If", 4, 2, 3, len(keys), 0.25) + struct.pack(f">{len(flat)}i", *flat)
                + struct.pack(f">{len(ids)}I", *ids))

    def test_rows_are_keys_that_sum_to_one(self):
        finished = self.convert(self.file())
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        array = Array(self.directory / "a.npy")
        self.assertEqual((array.shape, array.dtype), ((2, 4, 3), "<f4"))
        for row, key in zip(array.rows(), IDS, strict=True):
            for value, part in zip(row, KEYS[key], strict=True):
                self.assertAlmostEqual(value, part / sum(KEYS[key]), delta=1e-7)

    def test_damaged_files_are_refused(self):
        for data, message in ((b"", "0 bytes, expected a header"), (self.file()[:-1], "expected 88"),
                              (self.file(ids=[3] * 8), "refers to key 3"),
                              (self.file(keys=[[0, 0, 0]] * 3), "no distribution")):
            with self.subTest(message=message):
                finished = self.convert(data)
                self.assertEqual(finished.returncode, 1)
                self.assertIn(message, finished.stderr)
                self.assertFalse((self.directory / "a.npy").exists())


if __name__ == "__main__":
    main()
