#!/usr/bin/env python3
"""`--world real`: refused in one line where there is no GPU, and played through where one is.

The second half runs tests/gpu/worldpager_played, the program over a GPU that is played on the
host (tests/gpu/played_gpu.c): storage, io_uring, pager, device port and results are the shipped
ones. No figure of time is asserted.
Run it alone: tests/cli/test_real.py (with WORLDPAGER=path for another program).
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager")))
PLAYED = PROGRAM.parent / "tests/gpu/worldpager_played"
SMALL = ["--trace", "b1_ws", "--world", "real", "--scale", "1/440"]
SHORT = [*SMALL, "--throttle", "bucket", "--bandwidth", "60MB/s", "--frames", "14", "--warmup", "4"]


def in_memory(path):
    done = subprocess.run(["stat", "-f", "-c", "%T", str(path)], stdout=subprocess.PIPE, text=True,
                          check=False)
    return done.stdout.strip() in ("tmpfs", "ramfs")


class Real(unittest.TestCase):
    program = PROGRAM

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out.json"
        self.store = self.folder / "store"

    def run_verb(self, verb, *options, gpu="", expect=0):
        done = subprocess.run([self.program, verb, *map(str, options)], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, check=False, timeout=60,
                              env={**os.environ, "PLAYED_GPU": gpu})
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def replay(self, *options, **keywords):
        done = self.run_verb("replay", *options, "--store", self.store, "--json", self.out,
                             **keywords)
        document = json.loads(self.out.read_text()) if self.out.exists() else None
        return document, done.stderr

    def refuse(self, expect, word, verb, *options, gpu=""):
        """One line, the right status, and nothing written."""
        done = self.run_verb(verb, *options, gpu=gpu, expect=expect)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
        self.assertIn(word, done.stderr)
        self.assertEqual([path for path in self.folder.iterdir() if path.suffix != ".json"], [])

    def model(self, positions=(), **changes):
        model = json.loads((ROOT / "configs/models/mg2.json").read_text())
        model["positions"].update(positions)
        path = self.folder / "model.json"
        path.write_text(json.dumps({**model, **changes}))
        return path


class Refused(Real):
    def test_no_gpu(self):
        probe = self.run_verb("doctor")
        if any(line.startswith("ok") and " gpu " in line for line in probe.stderr.splitlines()):
            self.skipTest("there is a GPU")
        experiment = self.folder / "real.json"
        experiment.write_text(json.dumps(
            {"name": "real", "world": "real", "traces": ["b1_ws"], "arms": ["prefetch"],
             "bandwidths": ["1GB/s"], "scale": "1/440"}))
        self.refuse(3, "--world real: ", "replay", *SMALL, "--store", self.store, "--json",
                    self.out)
        self.refuse(3, "--world real: ", "replay", *SMALL, "--store", self.store,
                    "--residency", "tiered")
        self.refuse(3, "--world real: ", "overlap", "--world", "real", "--out", self.store)
        self.refuse(3, "--world real: ", "sweep", experiment, "--out", self.store)

    def test_options(self):
        store = ["--store", self.store]
        self.refuse(2, "--copy-rate", "replay", *SMALL, *store, "--copy-rate", "1GB/s")
        self.refuse(2, "--copy-rate", "replay", *SMALL, *store, "--copy-rate", "unlimited")
        self.refuse(2, "--copy-rate", "overlap", "--world", "real", "--copy-rate", "1GB/s")
        self.refuse(2, "--store", "replay", *SMALL)
        self.refuse(2, "walls", "walls", "--world", "real", *store)
        self.refuse(2, "256 KiB", "replay", *SMALL[:-1], "1/880", *store)
        self.refuse(2, "multiples of 8", "replay", *SMALL, *store, "--model",
                    self.model(head_dim=124))
        self.refuse(2, "up to 512", "replay", *SMALL, *store, "--model", self.model(head_dim=520))
        self.refuse(2, "multiples of 64", "replay", *SMALL, *store, "--model",
                    self.model(head_dim=8, heads=1, layers=1000, tokens_per_latent=4840,
                               positions={"rope_dims": 4}))
        self.run_verb("replay", *SMALL, *store, "--dry-run")
        self.assertFalse(self.store.exists())

    def test_experiment(self):
        experiment = self.folder / "real.json"
        experiment.write_text('{"name": "real", "world": "real", "traces": ["b1_ws"],\n'
                              '"arms": ["prefetch"], "bandwidths": ["1GB/s"],\n'
                              '"copy_rate": "1GB/s"}')
        self.refuse(2, "real.json", "sweep", experiment, "--out", self.store)
        self.refuse(2, "copy_rate", "sweep", experiment, "--out", self.store)


@unittest.skipUnless(PLAYED.exists(), f"no {PLAYED.name} beside {PROGRAM}")
@unittest.skipIf(in_memory(tempfile.gettempdir()), "the temporary folder lies in memory")
class Played(Real):
    program = PLAYED

    def check(self, document):
        self.assertEqual((document["world"], document["error"]), ("real", None))
        self.assertTrue(document["summary"]["valid"], document["summary"]["notes"])
        self.assertEqual(document["machine_facts"]["gpu"], "played on the host")
        self.assertTrue(document["store"]["direct_io"])
        self.assertEqual((document["copy_bytes_per_s"], document["decode_bytes_per_s"]),
                         (None, None))
        for frame in document["frames"]:
            self.assertEqual(frame["stall_ns"], max(0, frame["ready_ns"] - frame["needed_ns"]))
            self.assertGreaterEqual(frame["compute_ns"], document["compute_target_ns"])
            self.assertLessEqual(frame["decode_ns"], frame["compute_ns"])

    def test_arms_codecs_positions(self):
        for options in ([], ["--arm", "hedged", "--codec", "bf16"],
                        ["--arm", "deadline", "--positions", "native"]):
            document, _ = self.replay(*SHORT, *options)
            self.check(document)
            self.assertEqual(document["frames_done"], 14)
            self.assertEqual(document["totals"]["blocks_nvme"], 21)

    def test_a_session_and_its_resumption(self):
        tiered = [*SMALL, "--residency", "tiered", "--gpu-budget", "520MB", "--host-budget",
                  "1GB", "--frames", 40]
        document, text = self.replay(*tiered, gpu="fail@300", expect=4)
        self.assertIn("fallen off the bus", text)
        self.assertIn(document["frames_done"], range(10, 39))
        document, _ = self.replay(*tiered, "--resume")
        self.check(document)
        first = document["session"]["first_frame"]
        self.assertIn(first, range(8, 39))
        self.assertEqual((document["frames_done"], document["session"]["blocks_stored"]),
                         (40 - first, 40))
        document, _ = self.replay(*tiered, "--replace-session", gpu="large")
        self.check(document)
        self.assertGreater(document["totals"]["blocks_gpu"], 0)
        self.assertGreater(document["totals"]["blocks_nvme"], 0)

    def test_a_wrong_byte_on_the_device(self):
        document, text = self.replay(*SHORT, gpu="wrong@20", expect=4)
        self.assertRegex(text, r"block \d+, offset \d+: wrong bytes on the device")
        self.assertFalse(document["summary"]["valid"])

    def test_a_gpu_that_fails(self):
        self.replay(*SHORT)
        self.out.unlink()
        for at in (1, 3, 12, 28, 60):
            document, text = self.replay(*SHORT, gpu=f"fail@{at}", expect=4)
            self.assertIn("fallen off the bus", text)
            self.assertEqual(text.count("\n"), 1, text)
            if document:
                self.assertFalse(document["summary"]["valid"])
                self.assertIn("fallen off the bus", document["error"])
                self.assertLess(document["frames_done"], 14)
            self.out.unlink(missing_ok=True)

    def test_too_little_memory(self):
        self.refuse(3, "of GPU memory", "replay", "--trace", "b1_ws", "--world", "real", "--store",
                    self.store, "--json", self.out, gpu="small")
        self.refuse(3, "there is no GPU", "replay", *SMALL, "--store", self.store, gpu="absent")

    def test_an_interrupt(self):
        process = subprocess.Popen([self.program, "replay", *SMALL, "--bandwidth", "1MB/s",
                                    "--throttle", "bucket", "--store", self.store, "--json",
                                    self.out, "--frames", "30"], stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not list(self.store.glob("*/index")):
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text)

    def test_overlap(self):
        self.run_verb("overlap", "--world", "real", "--scale", "1/440", "--frames", 2, "--volume",
                      "500MB", "--memory", "64MiB", "--json", self.out)
        document = json.loads(self.out.read_text())
        self.assertEqual((document["world"], document["gpu"]), ("real", "played on the host"))
        self.assertEqual([point["buffers"] for point in document["points"]], [2, 1])
        self.run_verb("overlap", "--world", "real", "--scale", "1/440", "--frames", 1, "--volume",
                      "500MB", "--memory", "64MiB", gpu="wrong@3", expect=4)
        self.refuse(3, "there is no GPU", "overlap", "--world", "real", gpu="absent")

    def test_sweep_and_doctor(self):
        experiment = self.folder / "real.json"
        experiment.write_text(json.dumps(
            {"name": "real", "world": "real", "traces": ["b1_ws"], "arms": ["prefetch"],
             "bandwidths": ["60MB/s"], "scale": "1/440", "throttle": "bucket", "frames": 25}))
        done = self.run_verb("sweep", experiment, "--out", self.folder / "out", "--no-figures")
        self.assertIn("summary.md", done.stderr)
        document, = (self.folder / "out/replays").glob("*.json")
        self.check(json.loads(document.read_text()))
        self.assertRegex(self.run_verb("doctor").stderr, r"(?m)^ok +gpu +played on the host")


if __name__ == "__main__":
    unittest.main()
