"""Whatever names the version, or what a build needs, says the same as CMakeLists.txt and tools/packages.txt."""

import re

from submarine_support import SOURCE_DIR, CommandTest, main

NAMES = {
    "CITATION.cff": r"^version: (\S+)",
    "CHANGELOG.md": r"^## \[Unreleased\] \((\S+)\)|^## \[(\d\S*)\]",
    "debian/changelog": r"^submarine \((\S+)-\d+\)",
    "packaging/conda-forge/meta.yaml": r'set version = "(\S+)"',
    "packaging/vcpkg/vcpkg.json": r'"version": "(\S+)"',
    "packaging/homebrew/submarine-crf.rb": r"submarine_crf-(\S+)\.tar\.gz",
    "README.md": r"submarine_crf-(\d[\d.]*)-py3",
}


def text(name):
    return (SOURCE_DIR / name).read_text()


class Versions(CommandTest):

    def test_versions(self):
        version = re.search(r"project\(submarine VERSION ([0-9.]+)", text("CMakeLists.txt"))[1]
        for name, pattern in NAMES.items():
            with self.subTest(name=name):
                found = re.search(pattern, text(name), flags=re.MULTILINE)
                self.assertIsNotNone(found, f"{name} names no version")
                self.assertEqual(next(filter(None, found.groups())), version)

    def test_debian_asks_for_what_a_build_needs(self):
        asked = set(re.findall(r"^ ([a-z0-9+.-]+)", text("debian/control").partition("Package:")[0], flags=re.MULTILINE))
        section = text("tools/packages.txt").partition("[build]\n")[2].partition("[test]")[0].split()
        # A Debian system that builds packages has a compiler, and the page is in the sdist.
        self.assertEqual(set(section) - asked, {"g++", "esbuild", "ca-certificates"})

    def test_pip_names_packages_that_there_are(self):
        section = text("tools/packages.txt").partition("[build]\n")[2].partition("[test]")[0].split()
        needed = re.search(r'^NEEDED = "(.*)"', text("python/build_backend.py"), flags=re.MULTILINE)[1].split()
        self.assertLessEqual(set(needed), set(section))
        # Without pictures, volumes, the command, the page and what Python itself needs.
        self.assertEqual({package for package in section if package not in needed}, {
            "ca-certificates", "esbuild", "libcli11-dev", "libjpeg-dev", "libnifti2-dev", "libpng-dev", "libtiff-dev",
            "python3-numpy", "zlib1g-dev"})

    def test_the_soname_is_in_the_name_of_the_package(self):
        major, minor = re.search(r"VERSION ([0-9]+)\.([0-9]+)", text("CMakeLists.txt").partition("project(submarine")[2]).groups()
        self.assertIn(f"Package: libsubmarine{major}.{minor}\n", text("debian/control"))


if __name__ == "__main__":
    main()
