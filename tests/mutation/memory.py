"""What earlier runs found out, so that an interrupted one goes on and a better
test is asked alone.

Kept for each test: what it executes and how long it takes. For each bug, in a
journal that grows by a line as soon as it is known: its verdict, who noticed, and
who looked in vain. All of it holds for one state of the code; what is known of a
test, also for one state of that test.
"""

import hashlib
import json
import os
import pickle
import re
import threading

import workshop

# What does not change what a test does.
NO_CODE = re.compile(r".*\.md$|scripts/mutation$|tests/mutation/|tests/\w+/test_\w+(\.\w+)?$")


def digest_of(*pieces):
    total = hashlib.sha256()
    for piece in pieces:
        total.update(len(piece).to_bytes(8, "little") + piece)
    return total.hexdigest()[:20]


def code_digest(root):
    pieces = []
    for name in workshop.tree_files(root):
        if not NO_CODE.match(name):
            pieces += [name.encode(), workshop.read(os.path.join(root, name))]
    return digest_of(*pieces)


def source_of_test(test):
    """build/mutant/tests/unit/test_sizes is made of tests/unit/test_sizes.c."""
    if "." in os.path.basename(test):
        return test
    return test[test.index("tests/"):] + ".c"


class Memory:
    def __init__(self, folder, root):
        self.folder, self.root = folder, root
        self.code = code_digest(root)
        self.digests = {}  # of each test
        self.lock = threading.Lock()
        self.tests = self.load_tests()
        self.bugs = self.load_bugs()

    # -- tests

    def digest(self, test):
        if test not in self.digests:
            source = workshop.read(os.path.join(self.root, source_of_test(test)))
            self.digests[test] = digest_of(self.code.encode(), source)
        return self.digests[test]

    def load_tests(self):
        path = os.path.join(self.folder, "tests.known")
        if not os.path.exists(path):
            return {}
        with open(path, "rb") as file:
            return pickle.load(file)

    def of_test(self, test):
        """{"executed": ..., "seconds": ...} or what of them is known."""
        known = self.tests.get(test)
        if not known or known["digest"] != self.digest(test):
            known = self.tests[test] = {"digest": self.digest(test)}
        return known

    def save_tests(self):
        path = os.path.join(self.folder, "tests.known")
        with open(path + ".new", "wb") as file:
            pickle.dump(self.tests, file)
        os.replace(path + ".new", path)

    # -- bugs

    def load_bugs(self):
        found, path = {}, os.path.join(self.folder, "journal")
        if not os.path.exists(path):
            return found
        with open(path, encoding="utf-8") as file:
            for line in file:
                if not line.endswith("\n"):
                    break  # the last one of a run that was cut off
                entry = json.loads(line)
                if entry["code"] == self.code:
                    found[entry["bug"]] = entry
        return found

    def of_bug(self, bug):
        """The verdict, or None while it is open; and who looked in vain, as they now are."""
        entry = self.bugs.get(bug)
        if not entry:
            return None, set()
        in_vain = {test for test, digest in entry["in_vain"].items() if self.is_now(test, digest)}
        found = entry["found"]
        if found["verdict"] == "survived" or (
                found["verdict"] == "killed" and not self.is_now(found["by"], entry["by_digest"])):
            found = None
        return found, in_vain

    def is_now(self, test, digest):
        return os.path.exists(os.path.join(self.root, source_of_test(test))) and \
            self.digest(test) == digest

    def remember_bug(self, bug, found, in_vain):
        entry = {"code": self.code, "bug": bug, "found": found,
                 "by_digest": found["by"] and self.digest(found["by"]),
                 "in_vain": {test: self.digest(test) for test in sorted(in_vain)}}
        self.bugs[bug] = entry
        with self.lock, open(os.path.join(self.folder, "journal"), "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
