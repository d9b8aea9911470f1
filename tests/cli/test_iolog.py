#!/usr/bin/env python3
"""`worldpager replay --iolog`: the reads of a run as fio reads them.

Lines are checked against the trace and the result document, and fio itself replays a log on the
store it came from. No figure of time is asserted (scripts/iolog-check compares those).
Run it alone: tests/cli/test_iolog.py (with WORLDPAGER=path for another program).
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
CASES = ROOT / "tests" / "cases"
SEGMENT_BYTES = 4 << 30
CHUNK_BYTES = 256 << 10
SMALL_BLOCK_BYTES = 293760  # at 1/440: 2 tokens a latent
MODEL = ["--trace", "b1_ws", "--world", "model", "--scale", "1/440", "--throttle", "bucket",
         "--bandwidth", "60MB/s", "--frames", "12", "--warmup", "4"]


def run(*arguments, **keywords):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, **keywords)


def in_memory(path):
    done = subprocess.run(["stat", "-f", "-c", "%T", str(path)], stdout=subprocess.PIPE, text=True,
                          check=False)
    return done.stdout.strip() in ("tmpfs", "ramfs")


class Log:
    """A version 3 iolog by the letter of fio's description."""

    def __init__(self, path):
        lines = Path(path).read_text(encoding="ascii").splitlines()
        assert lines[0] == "fio version 3 iolog", lines[0]
        self.reads, known, latest = [], {}, 0
        for line in lines[1:]:
            words = line.split()
            time, name, action = int(words[0]), words[1], words[2]
            assert time >= latest, line
            latest = time
            if action == "read":
                assert known[name] == "open", line
                self.reads.append((time, name, int(words[3]), int(words[4])))
                continue
            assert len(words) == 3, line
            assert {"add": None, "open": "add", "close": "open"}[action] == known.get(name), line
            known[name] = action
        assert set(known.values()) == {"close"}, known


class Iolog(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out, self.log = self.folder / "out.json", self.folder / "reads.iolog"

    def replay(self, *options, expect=0):
        done = run("replay", *options, "--json", self.out, "--iolog", self.log)
        self.assertEqual(done.returncode, expect, done.stderr)
        return json.loads(self.out.read_text()), Log(self.log)

    def refuse(self, expect, word, *options):
        done = run("replay", *options)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (expect, "", 1),
                         done.stderr)
        self.assertIn(word, done.stderr)

    def sets_of(self, trace):
        lines = Path(trace).read_text(encoding="utf-8").splitlines()[1:]
        return [json.loads(line)["retrieved"] for line in lines]

    def assert_reads(self, log, sets, block_bytes):
        """Exactly the records of the blocks, in order, each from end to end."""
        record = -(-block_bytes // 4096) * 4096
        full = SEGMENT_BYTES // record
        reads = iter(log.reads)
        for block in (block for blocks in sets for block in blocks):
            at, begin = 0, block % full * record
            while at < record:
                _, name, offset, length = next(reads)
                self.assertEqual((name, offset), (f"segment-{block // full:05d}", begin + at))
                self.assertLessEqual(length, 4 << 20)
                self.assertTrue(length % CHUNK_BYTES == 0 or at + length == record)
                self.assertEqual(length % 4096, 0)
                at += length
            self.assertEqual(at, record)
        self.assertIsNone(next(reads, None))


class Virtual(Iolog):
    def test_golden(self):
        self.replay("--trace", ROOT / "tests/golden/five_frames.jsonl", "--arm", "on_demand",
                    "--scale", "1/440", "--bandwidth", "0.2GB/s", "--copy-rate", "unlimited",
                    "--warmup", "0")
        self.assertEqual(self.log.read_text(), (CASES / "iolog/five_frames.iolog").read_text())

    def test_blocks_of_the_trace(self):
        """At full size: several segments; without a limit all is asked for when it is needed."""
        document, log = self.replay("--trace", "b1_ws", "--arm", "on_demand")
        self.assert_reads(log, self.sets_of(ROOT / "traces/b1_ws.jsonl"), 129254400)
        needed = {frame["needed_ns"] // 1000 for frame in document["frames"]
                  if frame["blocks_nvme"]}
        self.assertEqual({time for time, *_ in log.reads}, needed)

    def test_times_lie_within_the_frames(self):
        document, log = self.replay("--trace", "a_yaw", "--arm", "on_demand", "--bandwidth",
                                    "0.3GB/s", "--frames", "40")
        spans = [(frame["needed_ns"] // 1000, frame["ready_ns"] // 1000)
                 for frame in document["frames"]]
        for time, *_ in log.reads:
            self.assertTrue(any(first <= time <= last for first, last in spans), time)

    def test_guesses_are_reads_too(self):
        document, log = self.replay("--trace", "b1_ws", "--arm", "prefetch", "--frames", "40",
                                    "--bandwidth", "0.5GB/s", "--scale", "1/16")
        self.assertGreater(sum(frame["wasted"] for frame in document["frames"]), 0)
        block, record = 8078400, 8081408
        whole = sum(frame["bytes_nvme"] for frame in document["frames"])
        logged = sum(length for *_, length in log.reads)
        self.assertGreaterEqual(logged, whole)
        self.assertLessEqual(logged, -(-whole // block) * record)

    def test_the_log_changes_nothing(self):
        options = ["replay", "--trace", "b1_ws", "--arm", "hedged", "--bandwidth", "0.3GB/s",
                   "--frames", "40", "--json", "-"]
        plain = json.loads(run(*options).stdout)
        logged = json.loads(run(*options, "--iolog", self.log).stdout)
        self.assertEqual(plain["frames"], logged["frames"])
        self.assertEqual(plain["summary"]["digest"], logged["summary"]["digest"])

    def test_imported_traces(self):
        """Import, validate, replay, export."""
        trace = self.folder / "moon.jsonl"
        run("trace", "import", "--format", "mooncake", CASES / "imports/good/mooncake.jsonl",
            "--out", trace)
        self.assertEqual(run("trace", "validate", trace).returncode, 0)
        document, log = self.replay("--trace", trace, "--arm", "on_demand", "--scale", "1/440",
                                    "--bandwidth", "0.25GB/s", "--warmup", "0")
        self.assertEqual(document["trace"]["origin"], "imported")
        self.assert_reads(log, self.sets_of(trace), SMALL_BLOCK_BYTES)


class Model(Iolog):
    def setUp(self):
        super().setUp()
        if in_memory(self.folder):
            self.skipTest("the temporary folder lies in memory")
        self.store = self.folder / "store"

    def test_fio_replays_it(self):
        document, log = self.replay(*MODEL, "--arm", "on_demand", "--store", self.store)
        self.assert_reads(log, self.sets_of(ROOT / "traces/b1_ws.jsonl")[:12],
                          SMALL_BLOCK_BYTES)
        self.assertTrue(document["summary"]["valid"])
        if not shutil.which("fio"):
            self.skipTest("fio is not installed")
        [store] = self.store.iterdir()
        before = {path.name: path.stat().st_mtime_ns for path in store.iterdir()}
        done = subprocess.run(["fio", "--name=iolog", "--readonly", f"--read_iolog={self.log}",
                               "--ioengine=psync", "--direct=1", "--output-format=json"],
                              cwd=store, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
        self.assertEqual((job["error"], job["read"]["total_ios"]), (0, len(log.reads)))
        self.assertEqual(job["read"]["io_bytes"], sum(length for *_, length in log.reads))
        after = {path.name: path.stat().st_mtime_ns for path in store.iterdir()}
        self.assertEqual(before, after)


class Refused(Iolog):
    def test_options(self):
        self.refuse(2, "--iolog: for --residency forced-nvme", "--trace", "b1_ws", "--residency",
                    "tiered", "--iolog", self.log)
        for place in ("-", self.out):
            self.refuse(2, "cannot both go to the same place", "--trace", "b1_ws", "--json",
                        place, "--iolog", place)
        self.refuse(4, "cannot be written", "--trace", "b1_ws", "--json", self.out, "--iolog",
                    self.folder / "missing" / "x")
        self.refuse(4, "cannot be written", "--trace", "b1_ws", "--json", self.out, "--iolog",
                    self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_nothing_half_written(self):
        self.log.write_text("old")
        self.refuse(4, "making the directory", *MODEL, "--store", "/proc/worldpager", "--iolog", self.log)
        self.assertEqual(self.log.read_text(), "old")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["reads.iolog"])

    def test_standard_output(self):
        done = run("replay", "--trace", "b1_ws", "--arm", "on_demand", "--frames", "10",
                   "--json", self.out, "--iolog", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.log.write_text(done.stdout)
        self.assertGreater(len(Log(self.log).reads), 0)


if __name__ == "__main__":
    unittest.main()
