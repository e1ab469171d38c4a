#!/usr/bin/env python3
"""Prints one line `passed|failed|skipped TAB name` per test case of a JUnit file written by ctest."""

import sys
import xml.etree.ElementTree

for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    if case.find("skipped") is not None or case.get("status") == "disabled":
        verdict = "skipped"
    else:
        verdict = "passed" if case.get("status") == "run" and case.find("failure") is None else "failed"
    print(verdict, case.get("name"), sep="\t")
