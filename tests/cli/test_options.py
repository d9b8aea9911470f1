#!/usr/bin/env python3
"""Options that no run can mean: empty ones, and those that have no say in what else was asked.

Nothing is measured. Run it alone: tests/cli/test_options.py (with WORLDPAGER=path for another
program).
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
VERBS = ["doctor", "trace make", "trace info", "trace validate", "trace import", "replay", "sweep",
         "plot", "report", "plan", "threshold", "calibrate", "qualify", "compare", "walls",
         "overlap", "codec-report"]


class Options(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_tool(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False, cwd=self.folder, timeout=60)

    def refuse(self, word, *words, code=2):
        done = self.run_tool(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), (words, done.stderr))
        self.assertIn(word, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_no_option_takes_an_empty_value(self):
        tried = set()
        for verb in VERBS:
            text = self.run_tool(*verb.split(), "--help").stdout
            for option in re.findall(r"^ +(?:-\w, )?(--[\w-]+)=", text, re.MULTILINE):
                if option == "--HANG":
                    continue
                with self.subTest(verb=verb, option=option):
                    self.refuse(f"{option}: the value is empty", *verb.split(), option, "")
                    self.refuse(f"{option}: the value is empty", *verb.split(), f"{option}=")
                tried.add(option)
        for option in ("--store", "--out", "--json", "--iolog", "--ack-log", "--trace", "--model"):
            self.assertIn(option, tried)

    def test_no_argument_is_empty(self):
        for words in (["plot", ""], ["report", ""], ["compare", "", "x"], ["compare", "x", ""],
                      ["sweep", ""], ["trace", "info", ""], ["trace", "validate", ""],
                      ["replay", ""]):
            self.refuse("an argument is empty", *words)

    def replay(self, *options):
        return ["replay", "--trace", "b1_ws", "--frames", "30", "--bandwidth", "0.25GB/s", *options]

    def test_values_are_checked_where_they_have_no_say(self):
        for options, word in ((["--eviction", "foo"], "--eviction: 'foo'"),
                              (["--tiers", "foo"], "--tiers: 'foo'"),
                              (["--throttle", "foo"], "--throttle: 'foo'"),
                              (["--throttle-device", "foo"], "MAJ:MIN"),
                              (["--positions", "foo"], "--positions: 'foo'"),
                              (["--drive", "foo"], "foo")):
            self.refuse(word, *self.replay(*options))

    def test_options_without_a_say_are_refused(self):
        session = ["--residency", "tiered"]
        drive = ["--world", "model", "--scale", "1/256", "--store", self.folder / "store"]
        for options, word in ((["--eviction", "lru"], "--residency tiered"),
                              (["--tiers", "gpu+dram"], "--residency tiered"),
                              (["--gpu-budget", "4GB"], "--residency tiered"),
                              (["--host-budget", "4GB"], "--residency tiered"),
                              (["--nvme-budget", "4GB"], "--residency tiered"),
                              (["--resume"], "--residency tiered"),
                              (["--replace-session"], "--residency tiered"),
                              (["--ack-log", "log"], "--residency tiered"),
                              (["--resume", *session], "--world model or real"),
                              (["--replace-session", *session], "--world model or real"),
                              (["--nvme-budget", "4GB", "--tiers", "gpu+dram", *session],
                               "--tiers gpu+dram+nvme"),
                              (["--ack-log", "log", "--tiers", "gpu+dram", *session],
                               "--tiers gpu+dram+nvme"),
                              (["--positions", "native"], "--residency tiered or --world real"),
                              (["--store", "/nonexist/foo"], "--world model or real"),
                              (["--throttle", "cgroup"], "--world model or real"),
                              (["--throttle-device", "999999:1"], "--world model or real"),
                              (["--allow-unproven"], "--world model or real"),
                              (["--drive", "ideal", *drive], "--world virtual"),
                              (["--eviction", "lru", *drive], "--residency tiered")):
            for more in ([], ["--dry-run"]):
                self.refuse(f"{options[0]} needs {word}", *self.replay(*options), *more)
        self.refuse("--store needs --world model", "walls", "--store", "x")


if __name__ == "__main__":
    unittest.main()
