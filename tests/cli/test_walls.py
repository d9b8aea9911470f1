#!/usr/bin/env python3
"""`worldpager walls`: what ends lesser systems, the document, the figure, the claims.

Run it alone: tests/cli/test_walls.py (with WORLDPAGER=path for another program).
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))


class Walls(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(dir=Path(PROGRAM).resolve().parent))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_verb(self, verb, *options, expect=0):
        done = subprocess.run([PROGRAM, verb, *map(str, options)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=120)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def walls(self, *options, expect=0, told=False):
        done = self.run_verb("walls", "--out", self.folder, "--no-figures", *options,
                             expect=expect)
        document = json.loads((self.folder / "walls_virtual.json").read_text())
        sessions = {session["name"]: session for session in document["sessions"]}
        return (sessions, done.stdout) if told else sessions

    def test_the_papers_walls(self):
        sessions = self.walls()
        ends = {name: (session["blocks"], session["wall"]) for name, session in sessions.items()}
        self.assertEqual(ends, {
            "bf16, host only": (60, "host budget"), "int4, host only": (225, "host budget"),
            "native positions": (341, "positions"), "full system": (3000, None)})
        for session in sessions.values():
            self.assertEqual(len(session["dram_bytes"]), session["blocks"])
            self.assertEqual(session["video_s"], session["blocks"] * 0.75)
            self.assertLessEqual(max(session["dram_bytes"]), 0.85 * (32 << 30))

    def test_another_machine_is_not_the_papers(self):
        profile = json.loads((ROOT / "configs/machines/rtx4090.json").read_text())
        profile["host_bytes"] //= 2
        (self.folder / "half.json").write_text(json.dumps(profile))
        sessions, told = self.walls("--machine", self.folder / "half.json", told=True)
        self.assertEqual(sessions["bf16, host only"]["blocks"], 30)
        self.assertIn("not covered (bf16, host only: 22.50 s, 30 blocks", told)
        self.assertIn("not tried: 32.0 GiB of host memory, but 16.0", told)

    def test_a_machine_that_holds_less_differs(self):
        profile = json.loads((ROOT / "configs/machines/rtx4090.json").read_text())
        profile["host_block_percent"] = 42
        (self.folder / "half.json").write_text(json.dumps(profile))
        self.walls("--machine", self.folder / "half.json", expect=1)

    def test_a_trace_that_ends_before_the_walls(self):
        trace = self.folder / "short.jsonl"
        self.run_verb("trace", "make", "--trajectory", "explore_return", "--frames", "100",
                      "--out", trace)
        _, told = self.walls("--trace", trace, told=True)
        self.assertIn("int4, host only: 75.00 s, 100 blocks, ended by the trace", told)
        self.assertIn("not tried: 3000 frames", told)
        self.assertNotIn("differs", told)

    def test_claims_and_figure_of_a_folder(self):
        self.walls()
        self.run_verb("sweep", "smoke", "--out", self.folder / "virtual", "--no-figures")
        self.run_verb("plot", self.folder)
        for kind in ("gp", "dat", "png", "svg"):
            self.assertGreater((self.folder / "figures" / f"walls.{kind}").stat().st_size, 500)
        summary = (self.folder / "summary.md").read_text()
        for claim in ("P5", "P6", "P9"):
            row = next(line for line in summary.splitlines() if line.startswith(f"| {claim} "))
            self.assertIn("simulated: agrees", row)

    def test_a_damaged_document_is_refused(self):
        self.walls()
        self.run_verb("sweep", "smoke", "--out", self.folder / "virtual", "--no-figures")
        path = self.folder / "walls_virtual.json"
        whole = path.read_text()
        document = json.loads(whole)
        document["sessions"][0]["blocks"] += 1
        for text in (whole[:500], json.dumps(document), "{}"):
            path.write_text(text)
            self.assertIn("walls_virtual.json", self.run_verb("plot", self.folder, expect=4).stderr)


if __name__ == "__main__":
    unittest.main()
