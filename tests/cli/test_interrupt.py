#!/usr/bin/env python3
"""Signals at any moment, once or twice, for every verb: exit status 130, nothing left behind.

When a signal comes is drawn by SEED, which is printed; TRIES=n (1) says how often for each verb.
A verb that was over before its signal came may end as it would have. No figure of time is
asserted.
Run it alone: tests/cli/test_interrupt.py (with WORLDPAGER=path for another program).
"""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
TRIES = int(os.environ.get("TRIES", "1"))
SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
MODEL = ["--world", "model", "--bandwidth", "20MB/s"]
SESSION = ["--residency", "tiered", "--scale", "1/256", "--host-budget", "1GB", "--gpu-budget",
           "1GB"]


def default_signals():
    # What nohup or a script's background ignores stays ignored, as it should; not here.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


class Interrupt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"interrupts: SEED={SEED} TRIES={TRIES}", flush=True)
        cls.chance = random.Random(SEED)
        # Beside the program, not in a memory file system.
        cls.folder = Path(tempfile.mkdtemp(dir=Path(PROGRAM).resolve().parent))
        cls.results = cls.folder / "results"
        subprocess.run([PROGRAM, "sweep", "smoke", "--frames", "40", "--no-figures", "--out",
                        cls.results], check=False, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def setUp(self):
        self.out = self.folder / "out"

    def start(self, *words):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        return subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                start_new_session=True, preexec_fn=default_signals)

    def end(self, process, number, twice, over):
        process.send_signal(number)
        if twice:
            time.sleep(self.chance.choice([0, 0.001, 0.02]))
            if process.poll() is None:
                process.send_signal(number)
        _, text = process.communicate(timeout=60)
        # Killed by the signal itself: it had not even begun.
        began = process.returncode != -number or any(self.out.iterdir())
        self.assertTrue(process.returncode in over or not began, (process.returncode, text))
        self.check_nothing_left(process.pid)
        return process.returncode

    def check_nothing_left(self, pid):
        for path in self.out.rglob("*"):
            self.assertFalse(path.name.startswith((".worldpager", ".new")), path)
            self.assertFalse(path.name.startswith("worldpager-calibration"), path)
            if path.suffix == ".json":
                json.loads(path.read_text())
            if path.suffix == ".png":
                self.assertTrue(path.read_bytes().endswith(b"IEND\xaeB`\x82"), path)
        self.assertEqual(list(Path("/sys/fs/cgroup").glob(f"**/worldpager-{pid}")), [])
        rest = subprocess.run(["ps", "-o", "stat=,args=", "-s", str(pid)], capture_output=True,
                              text=True, check=False).stdout.splitlines()
        self.assertEqual([line for line in rest if not line.startswith("Z")], [])

    def try_often(self, *words, over=(0, 130), longest_s=0.3):
        for _ in range(TRIES):
            delay_s = self.chance.uniform(0, longest_s)
            number = self.chance.choice(SIGNALS)
            twice = self.chance.random() < 0.5
            with self.subTest(words=words, delay_s=delay_s, number=number, twice=twice):
                process = self.start(*words)
                time.sleep(delay_s)
                self.end(process, number, twice, over)

    def test_verbs_that_only_write_files(self):
        out = self.out
        for words in (
            ["trace", "make", "--trajectory", "explore_return", "--out", out / "t.jsonl"],
            ["trace", "info", "explore_return", "--json", out / "i.json"],
            ["plan", "--json", out / "p.json"],
            ["doctor", "--store", self.folder, "--json", out / "d.json"],
            ["compare", self.results, self.results, "--junit", out / "j.xml", "--markdown",
             out / "m.md"],
            ["codec-report", "--out", out / "codec"],
            ["threshold", "--trace", "b1_ws", "--json", out / "t.json"],
            ["overlap", "--out", out / "overlap"],
            ["walls", "--out", out / "walls"],
        ):
            self.try_often(*words)

    def test_replays(self):
        out = self.out
        for words in (
            ["--trace", "explore_return", "--bandwidth", "0.2GB/s"],
            ["--trace", "explore_return", "--bandwidth", "0.2GB/s", "--residency", "tiered"],
            # Their stores are being written when the signal comes, or the limit proven.
            ["--trace", "b1_ws", *MODEL, "--scale", "1/440", "--store", out / "store"],
            ["--trace", "b1_ws", *MODEL, *SESSION, "--store", out / "store"],
        ):
            self.try_often("replay", *words, "--json", out / "r.json")
            for header in out.glob("store/*/header.partial"):
                self.fail(header)

    def test_sweep(self):
        self.try_often("sweep", "smoke", "--out", self.out / "sweep", longest_s=1)

    def test_calibrate(self):
        fio = self.folder / "fio"
        fio.write_text("#!/bin/sh\ntouch worldpager-calibration worldpager-fio-output\nsleep 9\n")
        fio.chmod(0o755)
        self.try_often("calibrate", "--store", self.out / "store", "--size", "130MiB", "--fio", fio,
                       "--out", self.out / "drive.json", over=(130,))

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_while_drawing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                process = self.start("plot", self.results, "--out", self.out / "plot")
                while process.poll() is None and not list(self.out.rglob("*.png")):
                    time.sleep(0.005)
                self.assertEqual(self.end(process, number, True, (130,)), 130)
                self.assertEqual(list(self.out.rglob("*.png")), [])

    def test_what_nohup_asks_for(self):
        process = subprocess.Popen(
            [PROGRAM, "sweep", "smoke", "--frames", "30", "--no-figures", "--out",
             self.folder / "nohup"], stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        time.sleep(0.05)
        process.send_signal(signal.SIGHUP)
        _, text = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 1), text)


if __name__ == "__main__":
    unittest.main()
