#!/usr/bin/env python3
"""`worldpager replay` on a store that goes wrong: what ends the run, what does not, what is left.

Faults are injected with --faults. In the virtual world time is simulated; in
the model world the deadline is the shortest there is and nothing depends on
how fast the machine is.
Run it alone: tests/cli/test_faults.py (with WORLDPAGER=path for another program).
"""
import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
VIRTUAL = ["--trace", "b1_ws", "--bandwidth", "0.25GB/s", "--frames", "12", "--warmup", "2"]


class Faults(unittest.TestCase):
    def setUp(self):
        # Beside the program, not in a memory file system.
        self.folder = Path(tempfile.mkdtemp(dir=Path(PROGRAM).resolve().parent))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.json = self.folder / "result.json"

    def replay(self, faults, *options, expect):
        process = subprocess.Popen(
            [PROGRAM, "replay", *options, "--faults", faults, "--json", self.json], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        output, message = process.communicate(timeout=60)
        self.pid = process.pid
        self.assertEqual(process.returncode, expect, message)
        self.assertEqual(output, "")
        return message

    def document(self):
        return json.loads(self.json.read_text())

    def assert_ended(self, message, *words):
        """A document that holds the frames before the end, with the same message."""
        self.assertRegex(message, r"block \d+, offset \d+: ")
        self.assertEqual(message.count("\n"), 1)
        document = self.document()
        self.assertFalse(document["summary"]["valid"])
        self.assertIn(document["error"], message)
        for word in words:
            self.assertIn(word, document["error"])
        self.assertLess(len(document["frames"]), 12)

    def test_wrong_bytes_are_read_again(self):
        for kind in ("flip", "short", "misdirect"):
            with self.subTest(kind):
                self.replay(f"read.{kind}~1/50", *VIRTUAL, expect=0)
                document = self.document()
                self.assertEqual(len(document["frames"]), 12)
                self.assertGreater(sum(frame["retries"] for frame in document["frames"]), 0)
                # True figures, but of a drive that was made to fail.
                self.assertFalse(document["summary"]["valid"])
                self.assertIn("faults were injected", " ".join(document["summary"]["notes"]))

    def test_wrong_bytes_for_good_end_the_run(self):
        for kind in ("flip", "short", "misdirect"):
            with self.subTest(kind):
                self.assert_ended(self.replay(f"read.{kind}@1500+", *VIRTUAL, expect=4),
                                  "do not match their checksum")

    def test_an_error_ends_the_run(self):
        self.assert_ended(self.replay("read.error@1500", *VIRTUAL, expect=4), "Input/output error")

    def test_a_late_answer_is_a_stall_and_no_error(self):
        self.replay("read.delay@1500=30000000000", *VIRTUAL, expect=0)
        self.assertGreater(max(frame["stall_ns"] for frame in self.document()["frames"]),
                           30000000000 - 1200000000)

    def test_a_lost_answer_ends_the_run_at_the_deadline(self):
        for plan in ("read.never@1500", "read.never@1500+", "verify.never@1500"):
            with self.subTest(plan):
                self.assert_ended(self.replay(plan, *VIRTUAL, expect=4), "not answered within 60 s")
        self.assert_ended(self.replay("read.never@1500", *VIRTUAL, "--read-deadline", "7",
                                      expect=4), "not answered within 7 s")

    def test_a_dead_drive_leaves_no_limit_behind(self):
        message = self.replay(
            "read.never@9+", "--trace", "b1_ws", "--frames", "12", "--warmup", "2", "--world",
            "model", "--scale", "1/256", "--bandwidth", "0.1GB/s", "--store", self.folder / "store",
            "--read-deadline", "1", expect=4)
        self.assert_ended(message, "not answered within 1 s")
        groups = glob.glob(f"/sys/fs/cgroup/**/worldpager-{self.pid}", recursive=True)
        self.assertEqual(groups, [])

    def test_plans_and_deadlines_are_checked(self):
        for plan in ("read.foo@1", "copy.flip@1", "read.flip@0", "read.flip~3/2"):
            with self.subTest(plan):
                self.assertIn("--faults: ", self.replay(plan, *VIRTUAL, expect=2))
        for deadline in ("0", "-1", "1s", "1e3", ""):
            with self.subTest(deadline):
                self.assertIn("--read-deadline", self.replay(
                    "read.flip@1", *VIRTUAL, "--read-deadline", deadline, expect=2))


if __name__ == "__main__":
    unittest.main()
