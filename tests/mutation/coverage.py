"""Which tests execute which line, from a run of each test under gcov.

A bug in a line is looked for by the tests that execute the line: in a source, in
a function of a header that some source or the test itself has compiled in. Where
gcov knows nothing of a line (the second one of an expression, a table) the
function around it counts, then the file. Processes that are killed leave no
record; what only they execute is missed.
"""

import json
import os
import subprocess

OBJECTS = "build/covered"
CODE = ("pager/", "harness/")


def build(shop, jobs):
    # Threads may lose a count, but not all of them.
    shop.make(jobs, f"OBJ={OBJECTS}", "LDFLAGS=--coverage", "tests",
              "CFLAGS=--coverage -g0 -w -fprofile-update=single -fno-early-inlining")


def counts_under(prefix, shop):
    """The records that a test has left there, each with the compiler's notes beside it."""
    for folder, _, names in os.walk(prefix):
        for name in names:
            if name.endswith(".gcda"):
                data = os.path.join(folder, name)
                stem = os.path.relpath(data, prefix)[:-len(".gcda")]
                os.symlink(shop.path(stem + ".gcno"), data[:-len(".gcda")] + ".gcno")
                yield data


def run_test(shop, test):
    """What the test executed of the code: {(path, what, where): whether}."""
    prefix = shop.path(f"{OBJECTS}/counts/{os.path.basename(test)}")
    subprocess.run(["rm", "-rf", prefix], check=True)
    shop.run(test, objects=OBJECTS, under=[
        "env", f"GCOV_PREFIX={prefix}", f"GCOV_PREFIX_STRIP={shop.folder.count('/')}"])
    counts = sorted(counts_under(prefix, shop))
    if not counts:
        return {}
    done = subprocess.run(["gcov", "--json-format", "--stdout", *counts], cwd=shop.folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    executed = {}
    for unit in done.stdout.splitlines():
        for file in json.loads(unit)["files"]:
            path = os.path.normpath(file["file"])  # headers come as ./pager/...
            if path.startswith(CODE):
                add_file(executed, path, file)
    subprocess.run(["rm", "-rf", prefix], check=True)
    return executed


def add_file(executed, path, file):
    for line in file["lines"]:
        place = path, "line", line["line_number"]
        executed[place] = executed.get(place, False) or line["count"] > 0
    for function in file["functions"]:
        place = path, "function", (function["start_line"], function["end_line"])
        executed[place] = executed.get(place, False) or function["execution_count"] > 0


class Coverage:
    """tests_of(): the tests that execute any of some lines of a file."""

    def __init__(self):
        self.lines = {}  # path, number: tests
        self.functions = {}  # path, (first, last): tests
        self.files = {}  # path: tests

    def add(self, test, executed):
        for (path, what, where), ran in executed.items():
            table = self.lines if what == "line" else self.functions
            tests = table.setdefault((path, where), set())
            if ran:
                tests.add(test)
                self.files.setdefault(path, set()).add(test)

    def tests_of_line(self, path, number):
        if (path, number) in self.lines:
            return self.lines[path, number]
        around = [tests for (of, span), tests in self.functions.items()
                  if of == path and span[0] <= number <= span[1]]
        return set().union(*around) if around else self.files.get(path, set())

    def tests_of(self, path, numbers):
        return set().union(*(self.tests_of_line(path, number) for number in numbers))
