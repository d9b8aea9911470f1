"""Planted bugs: one small patch each under planted/CLASS-NAME.patch.

The lines before the diff say what the bug is and what it would cost a user.
Hunks are found by their text, which has to be in the file exactly once, and not
by line number: a patch lives as long as the lines that it changes.
"""

import os

CLASSES = ("order", "eviction", "short_read", "checksum", "id", "off_by_one", "durability",
           "overflow")
A_CLASS = 2
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "planted")


class Broken(Exception):
    """A patch that cannot be used, and why."""


class Planted:
    def __init__(self, file_name):
        self.name = file_name[:-len(".patch")]
        self.kind = self.name.split("-")[0]
        self.path, self.hunks = None, []  # a hunk: old text, new text
        with open(os.path.join(FOLDER, file_name), encoding="utf-8") as file:
            lines = file.read().splitlines()
        begin = next((i for i, line in enumerate(lines) if line.startswith("--- ")), None)
        if begin is None or begin == 0:
            raise Broken(f"{file_name}: a sentence about the bug, then a diff")
        self.about = " ".join(lines[:begin]).strip()
        for line in lines[begin:]:
            self.take(file_name, line)

    def take(self, file_name, line):
        if line.startswith("--- "):
            if self.path:
                raise Broken(f"{file_name}: more than one file")
            self.path = line[len("--- a/"):].split("\t")[0]
        elif line.startswith("@@"):
            self.hunks.append(("", ""))
        elif self.hunks:
            line = line or " "  # a context line that is empty
            old, new = self.hunks[-1]
            self.hunks[-1] = (old + line[1:] + "\n" if line[0] != "+" else old,
                              new + line[1:] + "\n" if line[0] != "-" else new)

    def apply(self, source):
        for old, new in self.hunks:
            if source.count(old) != 1:
                raise Broken(f"{self.name}: {self.path} has this {source.count(old)} times, "
                             f"not once:\n{old}")
            source = source.replace(old, new)
        return source

    def lines(self, source):
        """The lines that the patch takes away or stands beside, from 1."""
        for old, _ in self.hunks:
            first = source[:source.index(old)].count("\n") + 1
            yield from range(first, first + old.count("\n"))


def load(root):
    """All planted bugs, each of which applies; raises Broken."""
    found = [Planted(name) for name in sorted(os.listdir(FOLDER)) if name.endswith(".patch")]
    for bug in found:
        if bug.kind not in CLASSES:
            raise Broken(f"{bug.name}: no class of bugs, which are {' '.join(CLASSES)}")
        with open(os.path.join(root, bug.path), encoding="utf-8") as file:
            source = file.read()
        if not bug.hunks or bug.apply(source) == source:
            raise Broken(f"{bug.name}: changes nothing")
    for kind in CLASSES:
        count = sum(bug.kind == kind for bug in found)
        if count < A_CLASS:
            raise Broken(f"planted bugs of class {kind}: {count}, at least {A_CLASS}")
    return found
