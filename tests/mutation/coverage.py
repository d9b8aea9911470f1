"""Which tests execute which line, from one run of all tests under gcov.

A bug in a line is looked for by the tests that execute the line. Where gcov
knows nothing of a line (the second one of an expression, a table) the function
around it counts, then the file. Processes that are killed leave no record; what
only they execute is missed, so tests that kill are credited with their files.
"""

import concurrent.futures
import json
import os
import subprocess

OBJECTS = "build/covered"


def build(shop, jobs):
    # Threads may lose a count, but not all of them.
    shop.make(jobs, f"OBJ={OBJECTS}", "CFLAGS=--coverage -g0 -w -fprofile-update=single",
              "LDFLAGS=--coverage", "tests")


def run_test(shop, test, paths):
    """[file, first line or None, last line] of everything that the test executed."""
    name = os.path.basename(test)
    prefix = shop.path(f"{OBJECTS}/counts/{name}")
    subprocess.run(["rm", "-rf", prefix], check=True)
    shop.run(test, objects=OBJECTS, under=[
        "env", f"GCOV_PREFIX={prefix}", f"GCOV_PREFIX_STRIP={shop.folder.count('/')}"])
    counts = []
    for path in paths:
        stem = f"{OBJECTS}/{path[:-2]}"
        data = os.path.join(prefix, stem + ".gcda")
        if os.path.exists(data):
            os.symlink(shop.path(stem + ".gcno"), data[:-5] + ".gcno")
            counts.append(data)
    if not counts:
        return []
    done = subprocess.run(["gcov", "--json-format", "--stdout", *counts], cwd=shop.folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    executed = []
    for line in done.stdout.splitlines():
        for file in json.loads(line)["files"]:
            executed += lines_of(file)
    return executed


def lines_of(file):
    for line in file["lines"]:
        yield file["file"], "line", line["line_number"], line["count"] > 0
    for function in file["functions"]:
        span = function["start_line"], function["end_line"]
        yield file["file"], "function", span, function["execution_count"] > 0


class Coverage:
    """tests_of(): the tests that execute any of some lines of a file."""

    def __init__(self):
        self.lines = {}  # path, number: tests
        self.functions = {}  # path, (first, last): tests
        self.files = {}  # path: tests

    def add(self, test, executed):
        for path, what, where, ran in executed:
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


def measure(shop, paths, jobs):
    build(shop, jobs)
    coverage = Coverage()
    tests = shop.tests(OBJECTS)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for test, executed in zip(tests, pool.map(lambda test: run_test(shop, test, paths),
                                                  tests)):
            coverage.add(test.replace(OBJECTS, "build/mutant"), executed)
    return coverage
