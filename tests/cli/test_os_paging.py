#!/usr/bin/env python3
"""`worldpager replay --arm os_paging`: the page cache as pager.

Where neither memory nor reads may be limited the run has to say so, and the rest is skipped.
Run it alone: tests/cli/test_os_paging.py (with WORLDPAGER=path for another program).
"""
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
SMALL = ["--world", "model", "--scale", "1/128", "--frames", "25", "--warmup", "5"]


class OsPaging(unittest.TestCase):
    def setUp(self):
        # Beside the program, not in a memory file system.
        self.folder = Path(tempfile.mkdtemp(dir=Path(PROGRAM).resolve().parent))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def replay(self, *options, while_it_runs=lambda child: None):
        child = subprocess.Popen(
            [PROGRAM, "replay", "--trace", "b1_ws", "--arm", "os_paging", *map(str, options),
             "--json", self.folder / "result.json"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL)
        self.addCleanup(child.kill)
        while_it_runs(child)
        _, message = child.communicate(timeout=120)
        left = list(Path("/sys/fs/cgroup").glob(f"**/worldpager-{child.pid}"))
        self.assertEqual(left, [], "a control group was left")
        return child.returncode, message

    def test_what_it_cannot_do(self):
        store = ["--store", self.folder]
        for options, word in (
                ([], "--world model"),
                ([*SMALL, *store, "--residency", "tiered"], "forced-nvme"),
                ([*SMALL, *store, "--faults", "read.flip@1"], "--faults"),
                ([*SMALL, *store, "--bandwidth", "0.1GB/s", "--throttle", "bucket"], "bucket")):
            code, message = self.replay(*options)
            self.assertEqual(code, 2, message)
            self.assertIn(word, message)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_plays_the_same_frames(self):
        code, message = self.replay(*SMALL, "--store", self.folder, "--bandwidth", "0.1GB/s")
        if code == 3 and "limit" in message:
            self.skipTest(message.strip())
        self.assertEqual(code, 0, message)
        document = json.loads((self.folder / "result.json").read_text())
        self.assertEqual(document["frames_done"], 25)
        self.assertEqual(document["throttle"]["method"], "cgroup")
        self.assertEqual(document["store"]["backend"], "mmap")
        self.assertFalse(document["store"]["direct_io"])
        self.assertTrue(any("memory limit" in note for note in document["summary"]["notes"]))
        retrieved = 0
        for frame in document["frames"]:
            count = min(document["k"], max(0, frame["frame"] - 2))
            retrieved += count
            self.assertEqual(frame["blocks_nvme"], count)
            self.assertEqual(frame["hit"] + frame["missed"], count)
            self.assertEqual(frame["stall_ns"] > 0, count > 0)  # memcpy takes its time
        # Nothing is reused, and the page cache reads whole pages and ahead.
        self.assertGreaterEqual(document["throttle"]["device_bytes"],
                                retrieved * document["block_bytes"])
        wall = sum(frame["stall_ns"] + frame["compute_ns"] for frame in document["frames"])
        self.assertEqual(document["totals"]["wall_ns"], wall)

    def test_a_store_that_is_cut_short_under_it(self):
        def cut(child):
            """Once the store is mapped, it has been found whole."""
            while child.poll() is None:
                maps = Path(f"/proc/{child.pid}/maps").read_text()
                if "segment-00000" in maps:
                    os.truncate(next(self.folder.glob("*/segment-00000")), 1 << 20)
                    return
                time.sleep(0.01)

        code, message = self.replay(*SMALL, "--store", self.folder, "--bandwidth", "0.1GB/s",
                                    while_it_runs=cut)
        if code == 3 and "limit" in message:
            self.skipTest(message.strip())
        self.assertEqual(code, 4, message)
        self.assertRegex(message, r"block \d+, offset \d+: paging: the store's file ends there")
        document = json.loads((self.folder / "result.json").read_text())
        self.assertFalse(document["summary"]["valid"])
        self.assertEqual(len(document["frames"]), document["frames_done"])


if __name__ == "__main__":
    unittest.main()
