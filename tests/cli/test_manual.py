#!/usr/bin/env python3
"""The manual page and the shell completion say what the program's own help says.

Run it alone: tests/cli/test_manual.py (with WORLDPAGER=path for another program).
"""
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
PAGE = ROOT / "harness/worldpager.1"
COMPLETION = ROOT / "harness/worldpager.bash"
ACTIONS = ("make", "info", "validate", "import")


def help_of(*words):
    return subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True,
                          check=True).stdout


def verbs():
    return re.findall(r"^  ([a-z][a-z-]*) +\S", help_of(), re.MULTILINE)


def options_of(*words):
    return set(re.findall(r"^ +(?:-\S, +)?(--[a-z][a-z-]*)", help_of(*words), re.MULTILINE))


class Manual(unittest.TestCase):
    def entries(self):
        """Of each verb the text of its heading, continued lines joined."""
        text = PAGE.read_text().replace("\\\n", "")
        headings = re.findall(r"^\.It Cm ([a-z-]+)(.*)$", text, re.MULTILINE)
        return [(verb, rest) for verb, rest in headings if verb not in ("virtual", "model", "real")]

    def test_every_verb_and_only_those(self):
        self.assertEqual({verb for verb, _ in self.entries()}, set(verbs()))

    def test_options_exist(self):
        count = 0
        for verb, rest in self.entries():
            words = [verb]
            if verb == "trace":
                words.append(rest.split()[0])
                self.assertIn(words[1], ACTIONS)
            for option in re.findall(r"Fl -([a-z-]+)", rest):
                self.assertIn(f"--{option}", options_of(*words), words)
                count += 1
        self.assertGreater(count, 10)

    def test_examples_use_options_that_exist(self):
        lines = PAGE.read_text().replace("\\e\n.Dl \\ \\ \\ \\", "")
        examples = re.findall(r"^\.Dl \$ worldpager (\S+)(.*)$", lines, re.MULTILINE)
        self.assertGreater(len(examples), 4)
        for verb, rest in examples:
            self.assertLessEqual(set(re.findall(r"--[a-z-]+", rest)), options_of(verb), rest)

    def test_exit_statuses_are_the_readme_s(self):
        statuses = set(re.findall(r"^\.It (\d+)$", PAGE.read_text(), re.MULTILINE))
        readme = (ROOT / "README.md").read_text()
        self.assertEqual(statuses, set(re.findall(r"^\| (\d+) \| ", readme, re.MULTILINE)))

    @unittest.skipUnless(shutil.which("mandoc") or shutil.which("groff"), "nothing formats manuals")
    def test_page_is_well_formed(self):
        command = ["mandoc", "-T", "lint", "-W", "style"] if shutil.which("mandoc") else \
            ["groff", "-mandoc", "-Tutf8", "-z", "-ww"]
        done = subprocess.run([*command, PAGE], capture_output=True, text=True, check=False)
        # Pages of other programs that this machine happens to lack are no fault of ours.
        faults = [line for line in (done.stdout + done.stderr).splitlines()
                  if not re.search(r"mandoc\.db|no such manual|referenced manual not found", line)]
        self.assertEqual(faults, [])


class Completion(unittest.TestCase):
    def complete(self, *words):
        """What bash would offer for the last of the words."""
        script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _worldpager; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", COMPLETION, PROGRAM, *words],
                              capture_output=True, text=True, check=False, cwd="/")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_verbs(self):
        self.assertEqual(set(self.complete("")), {*verbs(), "--help", "--version"})
        self.assertEqual(self.complete("calib"), ["calibrate"])
        self.assertEqual(set(self.complete("trace", "")), {*ACTIONS, "--help"})

    def test_options_of_every_verb(self):
        for verb in verbs():
            words = [[verb]] if verb != "trace" else [[verb, action] for action in ACTIONS]
            for command in words:
                offered = {word.rstrip("=") for word in self.complete(*command, "--")}
                self.assertEqual(offered, options_of(*command), command)
                self.assertIn("--help", offered)

    def test_values(self):
        self.assertEqual(self.complete("replay", "--world", ""), ["virtual", "model", "real"])
        self.assertEqual(self.complete("replay", "--arm", "=", "hed"), ["hedged"])
        self.assertEqual(self.complete("replay", "--arm", "="), self.complete("threshold", "--arm",
                                                                              ""))
        self.assertEqual(self.complete("replay", "--trace", "b1"), ["b1_ws"])
        self.assertIn("smoke", self.complete("sweep", ""))
        self.assertIn("nvme-gen4", self.complete("plan", "--drive", ""))

    def test_anything_else_is_left_to_files(self):
        for words in (["replay", "--json", ""], ["plot", ""], ["no_such", "--"],
                      ["replay", "--dry-run", ""]):
            self.assertEqual(self.complete(*words), [])


if __name__ == "__main__":
    unittest.main()
