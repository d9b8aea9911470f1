#!/usr/bin/env python3
"""scripts/gpu-check where there is no GPU: what it says, what it would judge, and a whole run
over the GPU that is played on the host (tests/gpu/played_gpu.c).

No figure of time is asserted; a played GPU's rates are nonsense.
Run it alone: tests/cli/test_gpu_check.py (with WORLDPAGER=path for another program).
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager")))
OBJECTS = PROGRAM.parent.resolve()
SCRIPT = ROOT / "scripts/gpu-check"


def load_script():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(SCRIPT))
    spec = importlib.util.spec_from_loader("gpu_check", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


gpu_check = load_script()


def states(rows):
    return [one["state"] for one in rows]


class Judging(unittest.TestCase):
    def test_kernels(self):
        def judged(share, took_ns=100000000):
            return states(gpu_check.judge_kernels(
                {"kernels": [{"name": "copy within the device", "rate_bytes_per_s": 1,
                              "of_copy_ratio": 1.0},
                             {"name": "int4 decode", "rate_bytes_per_s": 1,
                              "of_copy_ratio": share}],
                 "computes": [{"name": "x", "asked_ns": 100000000, "took_ns": took_ns}]}))
        self.assertEqual(judged(0.85), ["", "ok", "ok"])
        self.assertEqual(judged(0.849), ["", "off", "ok"])
        self.assertEqual(judged(1, 101100000), ["", "ok", "off"])
        self.assertEqual(judged(1, 98900000), ["", "ok", "off"])

    def test_copies(self):
        def copies(whole, pieces):
            return {"copies": [{"name": name, "direction": direction, "pinned": True,
                                "rate_bytes_per_s": rate}
                               for direction in ("to_device", "from_device")
                               for name, rate in (("pinned, whole", whole),
                                                  ("pinned, in pieces", pieces))]}
        self.assertEqual(states(gpu_check.judge_copies(copies(100, 95))), ["", "ok"] * 2)
        self.assertEqual(states(gpu_check.judge_copies(copies(100, 94))), ["", "off"] * 2)
        self.assertEqual(states(gpu_check.judge_copies(copies(90, 100))), ["", "ok"] * 2)

    def test_results_of_kernels(self):
        def judged(wrong, cases=9):
            return states(gpu_check.judge_checks({"checks": [
                {"name": "a", "cases": cases, "compared_bytes": 5, "wrong": 0, "first_wrong": None},
                {"name": "b", "cases": cases, "compared_bytes": 5, "wrong": wrong,
                 "first_wrong": "byte 1 is 02, not 03"}]}))
        self.assertEqual(judged(0), ["ok"])
        self.assertEqual(judged(1), ["off", "off"])
        self.assertEqual(judged(0, cases=0), ["off"])

    def test_overlap(self):
        def judged(buffers, gigabytes, p50):
            return states(gpu_check.judge_overlap({"points": [
                {"buffers": buffers, "transfer_full_scale_bytes": round(gigabytes * 1e9),
                 "stall_ns": {"p50": p50, "max": p50}}]}))
        self.assertEqual(judged(2, 1.459814400, 0), ["ok"])
        self.assertEqual(judged(2, 1.459814400, 1), ["off"])
        self.assertEqual(judged(2, 80, 1), [""])
        self.assertEqual(judged(1, 0.5, 1), ["ok"])
        self.assertEqual(judged(1, 0.5, 0), ["off"])

    def test_the_volume_that_stalls(self):
        for rate in (2e9, 12e9, 25e9, 55e9, 64e9):
            size = gpu_check.stalling_bytes(rate)
            self.assertEqual(size % gpu_check.BLOCK_BYTES, 0)
            self.assertGreater(size / rate, 1.2)
            self.assertGreater(size, gpu_check.P4_BYTES)


class Running(unittest.TestCase):
    def run_step(self, *words, limit_s=60.0):
        with contextlib.redirect_stderr(io.StringIO()):
            gpu_check.Runner(limit_s).run(words, "a step")

    def test_nothing_outlives_its_time(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pid"
            with self.assertRaisesRegex(gpu_check.NotMeasured, "no time left"):
                self.run_step("sh", "-c", f"sleep 1000 & echo $! >{path}; wait", limit_s=1.0)
            # Dead, or dying at this moment: 1000 seconds would never pass here.
            while self.is_alive(path.read_text().strip()):
                time.sleep(0.05)

    @staticmethod
    def is_alive(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
        except OSError:
            return False

    def test_states(self):
        for status, state in ((1, "off"), (4, "off"), (2, "none"), (3, "none"), (139, "none")):
            with self.assertRaisesRegex(gpu_check.NotMeasured, "why") as caught:
                self.run_step("sh", "-c", f"echo why >&2; exit {status}")
            self.assertEqual(caught.exception.state, state)
        with self.assertRaises(gpu_check.NotMeasured):
            self.run_step("/nonexistent")


class Bringing(unittest.TestCase):
    def test_what_to_bring_is_enough(self):
        """A compiler that sees nothing but what was packed and the C library finds it all."""
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    gpu_check.pack(folder)
                except gpu_check.NotMeasured as why:
                    self.skipTest(str(why))
            listed = subprocess.run([SCRIPT, "--files"], text=True, stdout=subprocess.PIPE,
                                    check=True).stdout
            packed = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*")
                            if path.is_file())
            self.assertEqual(sorted(line.split()[0] for line in listed.splitlines()[1:]), packed)
            for header in gpu_check.LIBRARIES.values():
                done = subprocess.run(["gcc", "-D_GNU_SOURCE", "-M", "-x", "c", "-isystem",
                                       f"{folder}/include", "-"], input=f"#include <{header}>\n",
                                      text=True, stdout=subprocess.PIPE, check=True)
                self.assertIn(f"{folder}/include/{header}", done.stdout)
                self.assertNotIn(f"/usr/include/{header[:-2]}", done.stdout)


@unittest.skipUnless((OBJECTS / "tests/gpu/measure_played").exists(), "no played GPU was built")
class Played(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "objects/tests/gpu").mkdir(parents=True)
        for name, program in (("worldpager", "worldpager_played"),
                              ("tests/gpu/measure_gpu", "measure_played")):
            (self.folder / "objects" / name).symlink_to(OBJECTS / "tests/gpu" / program)

    def check(self, gpu, *options):
        return subprocess.run(
            [SCRIPT, "--objects", self.folder / "objects", "--out", self.folder / "out",
             "--scale", "1/440", "--tokens", "1", "--rounds", "1", "--host-bytes", "4MiB",
             "--slots", "64MiB", "--frames", "24", *options], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False, env={**os.environ, "PLAYED_GPU": gpu})

    def test_a_whole_run(self):
        done = self.check("", "--seed", "5")
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        self.assertIn("seed 5", done.stdout)
        document = json.loads((self.folder / "out/gpu_check.json").read_text())
        measured = document["measure"]
        self.assertEqual([one["wrong"] for one in measured["checks"]], [0] * 6)
        elements = 2 * 30 * 3 * 12 * 128
        self.assertEqual(measured["elements"], elements)
        coded, plain = elements * 17 // 32, 2 * elements
        self.assertEqual([(one["read_bytes"], one["written_bytes"]) for one in measured["kernels"]],
                         [(plain, plain), (coded, plain), (coded, plain), (plain, plain),
                          (plain, coded)])
        for kernel in measured["kernels"]:
            moved = kernel["read_bytes"] + kernel["written_bytes"]
            self.assertAlmostEqual(kernel["rate_bytes_per_s"] * kernel["launch_ns"] / 1e9 / moved,
                                   1, places=2)
        self.assertEqual({one["direction"] for one in measured["copies"]},
                         {"to_device", "from_device", "both"})
        self.assertEqual({one["pinned"] for one in measured["copies"]}, {True, False})
        self.assertEqual([one["buffers"] for one in document["overlap"]["points"]],
                         [2, 2, 2, 2, 1, 1, 1, 1])
        if "replay" in document:
            self.assertEqual(document["replay"]["scale"]["text"], "1/440")

    def test_wrong_results_and_no_gpu(self):
        done = self.check("wrong@70", "--frames", "2")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^off +kernels: .*cases: .*byte \d+ is")
        done = self.check("absent")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("there is no GPU", done.stderr)
        done = self.check("fail@100")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("fallen off the bus", done.stderr)


if __name__ == "__main__":
    unittest.main()
