#!/usr/bin/env python3
"""Prints one line `passed|failed|skipped TAB what` per test case of a JUnit file written by ctest, where what was skipped is
named with its reason. A case that passed without some of its tests has a line `skipped` more for every reason.

The reasons are looked for in the output: lines `SKIPPED: reason`, pytest's `SKIPPED [count] file:line: reason`, and
what GoogleTest says after `Skipped`.
"""

import collections
import re
import sys
import xml.etree.ElementTree

REASON = re.compile(r"^(?:SKIPPED: |SKIPPED \[(\d+)\] \S+:\d+: |\S+:\d+: Skipped\n)(.+)$", re.MULTILINE)


def verdicts(case):
    name = case.get("name")
    reasons = collections.Counter()
    for count, reason in REASON.findall(case.findtext("system-out", "").replace("\r\n", "\n")):
        reasons[reason] += int(count or 1)
    if case.find("skipped") is not None or case.get("status") == "disabled":
        yield "skipped", f"{name}: {'; '.join(reasons) or 'it does not say why'}"
    elif case.get("status") != "run" or case.find("failure") is not None:
        yield "failed", name
    else:
        yield "passed", name
        for reason, count in reasons.items():
            yield "skipped", f"{count} test{'s' * (count > 1)} of {name}: {reason}"


for element in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    for verdict in verdicts(element):
        print(*verdict, sep="\t")
