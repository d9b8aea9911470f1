#!/usr/bin/env python3
"""`worldpager compare`: verdicts, exit status and reports over documents of real replays."""
import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          check=False)


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def replay(self, name, *more):
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        done = run("replay", "--trace", "b1_ws", "--arm", "prefetch", "--bandwidth", "0.2GB/s",
                   "--json", path, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def test_same_bits(self):
        base = self.replay("base.json")
        for i in range(20):
            done = run("compare", base, self.replay("new.json"))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bit for bit", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_other_bits(self):
        base = self.replay("base.json")
        # The same settings by the document, other figures: a drive of the same name.
        drive = json.loads((ROOT / "configs/drives/ideal.json").read_text())
        drive["read_latency_ns"] = 1000
        (self.path / "drive.json").write_text(json.dumps(drive))
        new = self.replay("new.json", "--drive", self.path / "drive.json")
        junit, markdown = self.path / "out.xml", self.path / "out.md"
        done = run("compare", base, new, "--junit", junit, "--markdown", markdown)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"DIFFERS: frame \d+, \w+_ns: \d+ and \d+")
        suite = xml.parse(junit).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        self.assertIn("frame", suite.find("testcase/failure").get("message"))
        self.assertIn("**WORSE**", markdown.read_text())
        self.assertEqual(run("compare", base, new, "--junit", "-").stdout, junit.read_text())

    def test_settings_and_folders(self):
        self.replay("a/one.json")
        self.replay("a/two.json", "--arm", "deadline")
        self.replay("b/one.json")
        done = run("compare", self.path / "a", self.path / "b")
        self.assertEqual(done.returncode, 4)
        self.assertIn("only in BASE", done.stderr)
        done = run("compare", self.path / "a", self.path / "b", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.replay("b/two.json", "--arm", "deadline")
        self.assertEqual(run("compare", self.path / "a", self.path / "b").returncode, 0)
        self.replay("b/two.json", "--arm", "deadline", "--seed", "2")
        done = run("compare", self.path / "a", self.path / "b")
        self.assertEqual(done.returncode, 4)
        self.assertIn("seed differs: 1 and 2", done.stderr)

    def test_results_of_sweeps(self):
        for name in ("a", "b"):
            done = run("sweep", "smoke", "--out", self.path / name, "--no-figures")
            self.assertEqual(done.returncode, 0, done.stderr)
        done = run("compare", self.path / "a", self.path / "b", "--junit", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        suite = xml.fromstring(done.stdout).find("testsuite")
        points = json.loads((self.path / "a/index.json").read_text())["points"]
        self.assertEqual(int(suite.get("tests")), len(points))

    def test_unreadable(self):
        base = self.replay("base.json")
        for text in ("", "{", "[]", "{}", base.read_text()[:-40],
                     base.read_text().replace('"schema_version": 1', '"schema_version": 7')):
            (self.path / "new.json").write_text(text)
            done = run("compare", base, self.path / "new.json")
            self.assertEqual(done.returncode, 4, done.stderr)
        for arguments in ([], [base], [base, base, base], [base, base, "--tolerance", "5"]):
            self.assertEqual(run("compare", *arguments).returncode, 2)
        (self.path / "empty").mkdir()
        self.assertEqual(run("compare", base, self.path / "empty").returncode, 4)


if __name__ == "__main__":
    unittest.main()
