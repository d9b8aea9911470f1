#!/usr/bin/env python3
"""The five frames that results/README.md works through by hand, played by the program."""

import json
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("WORLDPAGER", os.path.join(ROOT, "build", "worldpager"))
TRACE = os.path.join(ROOT, "tests", "golden", "five_frames.jsonl")
RATE = 200_000_000
BLOCK_BYTES = 129_254_400
# A block is read in small pieces; a guess gives way between two of them.
SMALL_READ_NS_MAX = 4 * 1024 * 1024 * 1_000_000_000 // RATE


def replay(arm):
    result = subprocess.run(
        [PROGRAM, "replay", "--trace", TRACE, "--arm", arm, "--bandwidth", "0.2GB/s",
         "--hints", "none" if arm == "on_demand" else "trace", "--copy-rate", "unlimited",
         "--warmup", "0", "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)
    if result.returncode:
        raise AssertionError(f"exit status {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)


class FiveFrames(unittest.TestCase):
    def stalls(self, arm):
        return [frame["stall_ns"] for frame in replay(arm)["frames"]]

    def test_block_takes_what_the_page_says(self):
        self.assertEqual(BLOCK_BYTES * 1_000_000_000 // RATE, 646_272_000)

    def test_on_demand(self):
        self.assertEqual(self.stalls("on_demand"), [0, 0, 646_272_000, 1_292_544_000, 1_292_544_000])

    def test_prefetch(self):
        document = replay("prefetch")
        frames = document["frames"]
        self.assertEqual([f["stall_ns"] for f in frames], [0, 0, 0, 92_544_000, 738_816_000])
        self.assertEqual([f["needed_ns"] for f in frames],
                         [0, 1_200_000_000, 2_400_000_000, 3_600_000_000, 4_892_544_000])
        self.assertEqual([f["hit"] for f in frames], [0, 0, 1, 2, 1])
        self.assertEqual([f["missed"] for f in frames], [0, 0, 0, 0, 1])
        self.assertEqual(sum(f["wasted"] for f in frames), 1)
        self.assertEqual(document["summary"]["stall_ns"]["sum"], 831_360_000)

    def test_deadline(self):
        stalls = self.stalls("deadline")
        self.assertEqual(stalls[:4], [0, 0, 0, 92_544_000])
        self.assertGreaterEqual(stalls[4], 646_272_000)
        self.assertLessEqual(stalls[4], 646_272_000 + SMALL_READ_NS_MAX)


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        print(f"no program at {PROGRAM}: run `make`")
        sys.exit(77)
    unittest.main(verbosity=2)
