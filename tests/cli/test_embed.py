#!/usr/bin/env python3
"""The example of a model's own process (pager/examples/embed.c): without a GPU, and over one that
is played on the host, where every element that comes back is compared with what was put.

Run it alone: tests/cli/test_embed.py (with WORLDPAGER=path for another program beside it).
"""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OBJECTS = Path(os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))).parent
EMBED = OBJECTS / "pager/examples/embed"
PLAYED = OBJECTS / "tests/gpu/embed_played"


@unittest.skipUnless(EMBED.exists() and PLAYED.exists(), f"no example beside {OBJECTS}")
class Embed(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_example(self, program, gpu="", expect=0):
        done = subprocess.run([program, self.folder / "blocks"], capture_output=True, text=True,
                              check=False, env={**os.environ, "PLAYED_GPU": gpu}, timeout=60)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def test_as_it_is(self):
        done = self.run_example(EMBED)
        self.assertRegex(done.stdout, r"48 blocks stored, [1-9]\d* read back")
        self.assertEqual(list((self.folder / "blocks").iterdir()), [])

    def test_over_a_gpu(self):
        done = self.run_example(PLAYED)
        self.assertIn("on played on the host", done.stdout)
        self.assertRegex(done.stdout, r"48 blocks stored, [1-9]\d* read back")

    def test_a_wrong_byte_is_noticed(self):
        self.assertIn("not what was put", self.run_example(PLAYED, "wrong@30", 4).stderr)

    def test_failures(self):
        self.assertEqual(self.run_example(PLAYED, "fail@40", 3).stderr.count("\n"), 1)
        self.assertIn("blocks", self.run_example(PLAYED, expect=3).stderr)
        done = subprocess.run([EMBED], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "usage: embed DIR\n"))


if __name__ == "__main__":
    unittest.main()
