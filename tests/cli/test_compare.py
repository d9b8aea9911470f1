#!/usr/bin/env python3
"""`worldpager compare`: verdicts, exit status and reports over documents of real replays."""
import json
import os
import shutil
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

    def check_refused(self, junit, markdown, text):
        suite = xml.parse(junit).getroot().find("testsuite")
        self.assertEqual([suite.get(key) for key in ("tests", "failures", "errors", "skipped")],
                         ["1", "0", "1", "0"])
        self.assertEqual(len(suite.findall("testcase")), 1)
        self.assertIn(text, suite.find("testcase/error").get("message"))
        self.assertIn("ERROR", markdown.read_text())
        self.assertIn(text, markdown.read_text())

    def test_a_refusal_leaves_no_older_verdict(self):
        base, other = self.replay("base.json"), self.replay("other.json", "--seed", "7")
        junit, markdown = self.path / "out.xml", self.path / "out.md"
        reports = ["--junit", junit, "--markdown", markdown]
        (self.path / "bad.json").write_text(base.read_text()[:-40])
        (self.path / "empty").mkdir()
        for new, more, status, text in (
                (other, [], 4, "seed differs: 1 and 7"),
                (self.path / "bad.json", [], 4, "bad.json"),
                (self.path / "nothing.json", [], 4, "No such file"),
                (self.path / "empty", [], 4, "holds no replay"),
                (base, ["--tolerance", "5"], 2, "--tolerance")):
            with self.subTest(text):
                self.assertEqual(run("compare", base, base, *reports).returncode, 0)
                self.assertIn('failures="0" errors="0"', junit.read_text())
                done = run("compare", base, new, *reports, *more)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.check_refused(junit, markdown, text)
        # One that cannot be written leaves the other an error, too.
        self.assertEqual(run("compare", base, base, *reports).returncode, 0)
        done = run("compare", base, base, "--junit", junit, "--markdown", self.path / "no/out.md")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn('errors="1"', junit.read_text())

    def test_a_forced_point_names_both_sides(self):
        base = self.replay("base.json")
        new = self.replay("new.json", "--bandwidth", "0.24GB/s", "--codec", "bf16")
        done = run("compare", base, new, "--force", "--junit", "-")
        self.assertEqual(done.returncode, 1, done.stderr)
        name = xml.fromstring(done.stdout).find("testsuite/testcase").get("classname")
        self.assertRegex(name, r"^b1_ws prefetch, k 2, int4 against bf16, virtual, scale 1, "
                               r"200\.0 MB/s .* against 240\.0 MB/s")
        done = run("compare", base, base, "--junit", "-")
        self.assertNotIn("against", done.stdout)

    def test_only_results_of_a_folder_count(self):
        folder = self.path / "qualify"
        self.replay("qualify/a_yaw.json")
        shutil.copy(ROOT / "configs/drives/ideal.json", folder / "drive.json")
        (folder / "verdict.json").write_text('{"schema_version": 1, "verdict": "holds"}')
        (folder / "list.json").write_text("[]")
        done = run("compare", folder, folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("(1 and 1 runs)", done.stderr)
        # What was a result and is damaged is no other kind of document.
        good = (folder / "a_yaw.json").read_text()
        for bad in (good[:-40], good.replace('"summary"', '"sumary"')):
            (folder / "a_yaw.json").write_text(bad)
            self.assertEqual(run("compare", folder, folder).returncode, 4)
        (folder / "a_yaw.json").unlink()
        done = run("compare", folder, folder)
        self.assertEqual(done.returncode, 4)
        self.assertIn("holds no replay's result", done.stderr)
        done = run("compare", folder / "drive.json", folder / "drive.json")
        self.assertEqual(done.returncode, 4)
        self.assertIn("not a replay's result", done.stderr)

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
