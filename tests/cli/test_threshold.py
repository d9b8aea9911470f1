#!/usr/bin/env python3
"""`worldpager threshold`: what it finds, what it writes, what it refuses.

With two Int4 blocks a frame and 1.2 s of compute, reads are hidden from
2 x 129,254,400 B / 1.2 s = 215,424,000 B/s on.
"""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
HIDDEN = 215_424_000
STEP = 100_000


def threshold(*arguments):
    return subprocess.run([PROGRAM, "threshold", *arguments], capture_output=True, text=True,
                          check=False)


class Threshold(unittest.TestCase):
    def find(self, trace, arm):
        done = threshold("--trace", trace, "--arm", arm, "--copy-rate", "unlimited", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        [row] = json.loads(done.stdout)["thresholds"]
        self.assertIn(arm, done.stderr)  # the table
        self.assertIsNone(row["p50"]["confirmed"])
        return row

    def test_prefetch(self):
        row = self.find("a_yaw", "prefetch")
        for figure in ("p50", "p99", "max"):
            self.assertEqual(row[figure]["state"], "found")
            self.assertTrue(HIDDEN <= row[figure]["zero_bytes_per_s"] < HIDDEN + STEP)
            self.assertTrue(HIDDEN - STEP <= row[figure]["stall_bytes_per_s"] < HIDDEN)
            self.assertGreater(row[figure]["stall_ns"], 0)
        row = self.find("b1_ws", "prefetch")
        self.assertEqual((row["p50"]["state"], row["max"]["state"]), ("found", "above"))

    def test_hedged(self):
        row = self.find("b1_ws", "hedged")
        self.assertEqual(row["max"]["state"], "found")
        self.assertLessEqual(row["max"]["zero_bytes_per_s"], 500_000_000)

    def test_on_demand(self):
        row = self.find("a_yaw", "on_demand")
        self.assertEqual({row[figure]["state"] for figure in ("p50", "p99", "max")}, {"above"})

    def test_confirmed_on_a_drive(self):
        # Beside the program, not in a memory file system.
        with tempfile.TemporaryDirectory(dir=Path(PROGRAM).resolve().parent) as store:
            done = threshold("--trace", "a_yaw", "--arm", "deadline", "--frames", "40", "--step",
                             "10MB/s", "--confirm", store, "--confirm-scale", "1/256", "--json", "-")
        if done.returncode == 3:
            self.assertIn("the limit is not proven", done.stderr)
            self.skipTest(done.stderr.strip())  # no fault of ours that the drive is busy
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["confirm_scale"], "1/256")
        found = document["thresholds"][0]["p50"]
        confirmed = found["confirmed"]
        self.assertEqual(confirmed["above_bytes_per_s"], found["zero_bytes_per_s"] * 21 // 20)
        self.assertEqual(confirmed["below_bytes_per_s"],
                         found["zero_bytes_per_s"] - found["zero_bytes_per_s"] // 20)
        # Below the need the reads cannot be hidden, whatever the machine does meanwhile.
        if confirmed["below_bytes_per_s"] < HIDDEN:
            self.assertGreater(confirmed["below_stall_full_scale_ns"], 0)
        self.assertIn("on this machine's drive", done.stderr)

    def test_refusals(self):
        for status, arguments in (
            (2, []),
            (2, ["--trace", "a_yaw", "--arm", "none_such"]),
            (2, ["--trace", "a_yaw", "--from", "2GB/s", "--to", "1GB/s"]),
            (2, ["--trace", "a_yaw", "--step", "5"]),
            (2, ["--trace", "a_yaw", "--warmup", "500"]),
            (4, ["--trace", "none_such"]),
        ):
            with self.subTest(arguments=arguments):
                done = threshold(*arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
