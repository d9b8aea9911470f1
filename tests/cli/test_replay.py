#!/usr/bin/env python3
"""`worldpager replay` as a user meets it: bad input, signals, damaged stores, pure output.

Runs on real storage use blocks of 287 KiB under a bucket, so that a run takes about a second;
they are skipped where the temporary folder lies in memory. No figure of time is asserted.
Run it alone: tests/cli/test_replay.py (with WORLDPAGER=path for another program).
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
VERBS = ["doctor", "trace", "trace make", "trace info", "trace validate", "replay", "sweep",
         "plot", "plan", "threshold", "codec-report"]
MODEL = ["--trace", "b1_ws", "--world", "model", "--scale", "1/440", "--throttle", "bucket"]
SHORT = [*MODEL, "--bandwidth", "40MB/s", "--frames", "30"]


def run(*arguments, **keywords):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, **keywords)


def in_memory(path):
    done = subprocess.run(["stat", "-f", "-c", "%T", str(path)], stdout=subprocess.PIPE, text=True,
                          check=False)
    return done.stdout.strip() in ("tmpfs", "ramfs")


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out.json"

    def replay(self, *options, expect=0, **keywords):
        done = run("replay", *options, **keywords)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def refuse(self, expect, word, *options):
        """One line, the right status, and nothing left behind."""
        done = self.replay(*options, "--json", self.out, expect=expect)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
        self.assertIn(word, done.stderr)
        self.assertEqual(list(self.folder.glob("out.json*")), [])


class BadInput(Folder):
    def trace(self, name, change):
        """A copy of a committed trace with its lines (as objects, or text) changed."""
        lines = (ROOT / "traces/b1_ws.jsonl").read_text().splitlines()
        change(lines)
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path

    def frame(self, **keys):
        def change(lines):
            lines[31] = json.dumps({**json.loads(lines[31]), **keys})
        return self.trace("t.jsonl", change)

    def header(self, **keys):
        def change(lines):
            lines[0] = json.dumps({**json.loads(lines[0]), **keys})
        return self.trace("t.jsonl", change)

    def text(self, before, after):
        def change(lines):
            lines[31] = lines[31].replace(before, after, 1)
        return self.trace("t.jsonl", change)

    def test_files_of_another_kind(self):
        files = {"empty": b"", "picture": b"\x89PNG\r\n\x1a\n", "packed": b"\x1f\x8b\x08\0",
                 "object": b'{"a": 1}\n', "words": b"hello\n", "zeros": bytes(4096)}
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
            self.refuse(4, "not a worldpager trace", "--trace", self.folder / name)
        self.refuse(4, "a directory", "--trace", self.folder)
        self.refuse(4, "No such file", "--trace", self.folder / "none")
        self.refuse(4, 'no trace "none"', "--trace", "none")

    def test_traces_that_lie(self):
        where = "t.jsonl:32"
        for path, word in [
                (lambda: self.frame(retrieved=[30, 2]), "before it exists"),
                (lambda: self.frame(retrieved=[2**32, 2]), "out of range"),
                (lambda: self.frame(retrieved=[5, 5]), "twice"),
                (lambda: self.frame(retrieved=[1, 2, 3]), "more than k"),
                (lambda: self.frame(frame=29), "appears again"),
                (lambda: self.frame(frame=31), "frame"),
                (lambda: self.frame(colour=1), "unknown key"),
                (lambda: self.frame(compute_ns=-1), "out of range"),
                (lambda: self.text('"pose":[', '"pose":[NaN,'), "NaN"),
                (lambda: self.text('"pose":[', '"pose":[1e999,'), "overflow"),
                (lambda: self.text('{"frame":30', '{"frame":30,"frame":30'), "duplicate")]:
            trace = path()
            self.refuse(4, word, "--trace", trace)
            self.refuse(4, where, "--trace", trace)

    def test_headers_that_lie(self):
        for keys, word in [({"version": 999}, "version"), ({"frames": 161}, "ends after 160"),
                           ({"frames": 10**12}, "out of range"), ({"k": 0}, "out of range"),
                           ({"zzz": 1}, "unknown key")]:
            self.refuse(4, word, "--trace", self.header(**keys))

    def test_a_trace_cut_anywhere(self):
        whole = (ROOT / "traces/b1_ws.jsonl").read_bytes()
        for length in range(1, 3000, 97):
            (self.folder / "t.jsonl").write_bytes(whole[:length])
            self.refuse(4, "t.jsonl", "--trace", self.folder / "t.jsonl")

    def test_rates(self):
        for rate in ("nan", "inf", "-0.2GB/s", "0.2", "0GB/s", "0B/s", "1e9B/s", "0x10MB/s", "1M",
                     "0.2Gb/s", "0.2gb/s", "2GB", "18446744073709551616B/s", "0.3B/s", "", " "):
            self.refuse(2, "--bandwidth", "--trace", "a_yaw", "--bandwidth", rate)

    def test_options(self):
        for option, values in {
                "--arm": ["nosuch", ""], "--codec": ["int5"], "--world": ["mars"],
                "--scale": ["0", "-1", "2", "1/0", "nan"], "--frames": ["0", "-1", "1.5"],
                "--warmup": ["-1"], "--seed": ["x"], "--staging-blocks": ["-3", "99999999"],
                "--copy-rate": ["5", "0GB/s"], "--positions": ["q"], "--throttle": ["q"],
                "--residency": ["q"], "--read-size": ["100", "1GiB"], "--read-depth": ["0"],
        }.items():
            for value in values:
                self.refuse(2, option, "--trace", "a_yaw", option, value)
        for device in ("x", "8", "8:", ":0", "8:0:0", "0x8:0", "/dev/sda"):
            self.refuse(2, "MAJ:MIN", "--trace", "a_yaw", "--throttle-device", device)
        for profile in ("--model", "--machine", "--drive"):
            self.refuse(2, "nosuch", "--trace", "a_yaw", profile, "nosuch")
        self.refuse(2, "hints", "--trace", "a_yaw", "--hints", "zz")
        self.refuse(2, "--trace", "--arm", "prefetch")

    def test_the_most_that_can_be_staged(self):
        words = ["--trace", "a_yaw", "--frames", 10, "--dry-run", "--staging-blocks"]
        self.replay(*words, 1024)
        self.refuse(2, "out of range (0 to 1024)", *words, 1025)

    def test_no_place_for_the_result(self):
        self.out = self.folder / "no/such/folder/out.json"
        self.refuse(4, "cannot be written", "--trace", "a_yaw")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([PROGRAM, "replay", "--trace", "a_yaw", "--json", "-"],
                                  stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (4, 1), done.stderr)

    def test_rates_so_low_that_reads_wait_for_hours(self):
        short = ["--trace", "b1_ws", "--frames", 30]
        for rate in ("100B/s", "20kB/s"):
            document = json.loads(self.replay(*short, "--bandwidth", rate, "--json", "-").stdout)
            self.assertEqual((document["frames_done"], document["summary"]["valid"]), (30, True))
        self.refuse(2, "--bandwidth: at 1 B/s", *short, "--bandwidth", "1B/s")
        self.refuse(2, "--copy-rate: at 1 B/s", *short, "--copy-rate", "1B/s")
        self.refuse(2, "--read-deadline: one read alone takes", *short, "--bandwidth", "100B/s",
                    "--read-deadline", 60)
        self.refuse(2, "--read-deadline", *MODEL, "--store", self.folder / "store", "--bandwidth",
                    "1B/s")
        drive = json.loads((ROOT / "configs/drives/nvme-gen4.json").read_text())
        for key in ("read_bytes_per_s", "verify_bytes_per_s", "write_bytes_per_s"):
            for residency in ("forced-nvme", "tiered"):
                (self.folder / "drive.json").write_text(json.dumps({**drive, key: 1000}))
                self.replay(*short, "--residency", residency, "--drive",
                            self.folder / "drive.json", "--json", self.out)
                self.assertEqual(json.loads(self.out.read_text())["frames_done"], 30)
                self.out.unlink()
        for key in ("read_bytes_per_s", "verify_bytes_per_s"):
            (self.folder / "drive.json").write_text(json.dumps({**drive, key: 1}))
            self.refuse(2, f"{key} of the drive profile: at 1 B/s", *short, "--drive",
                        self.folder / "drive.json")

    def test_a_trace_of_another_model(self):
        for trace, model, told in ((self.header(model="nosuch"), "mg2", True),
                                   ("b1_ws", "lingbot-world-fast", True), ("b1_ws", "mg2", False)):
            done = self.replay("--trace", trace, "--model", model, "--json", "-")
            notes = " ".join(json.loads(done.stdout)["summary"]["notes"])
            self.assertEqual(f"and is played with profile {model}" in notes, told, notes)
            self.assertEqual("note: the trace was made for model" in done.stderr, told)

    def test_a_run_shorter_than_its_warmup(self):
        document = json.loads(self.replay("--trace", "a_yaw", "--frames", 10, "--json", "-").stdout)
        self.assertEqual(document["summary"]["stall_ns"]["n"], 0)
        self.assertIsNone(document["summary"]["stall_ns"]["max"])
        self.assertEqual(len(document["frames"]), 10)
        self.assertIn("warm-up", " ".join(document["summary"]["notes"]))

    def test_help(self):
        for verb in VERBS:
            done = run(*verb.split(), "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""), verb)
            self.assertIn("Usage", done.stdout)


class OwnHints(Folder):
    def test_a_slot_that_becomes_free_is_used_at_once(self):
        """A guess given up leaves its slot while the frame computes; the next one starts then."""
        trace = self.folder / "own.jsonl"
        frames = [{"frame": 0, "retrieved": []}, {"frame": 1, "retrieved": []},
                  {"frame": 2, "retrieved": [], "hints": [0]},
                  {"frame": 3, "retrieved": [1], "hints": [1]}]
        header = {"format": "worldpager-trace", "version": 1, "name": "own", "model": "mg2",
                  "origin": "synthetic", "made_by": "test", "frames": 4, "k": 1,
                  "exclude_recent": 0, "video_frames_per_frame": 12}
        trace.write_text("".join(json.dumps(line) + "\n" for line in (header, *frames)))
        stalls = []
        for arm in ("deadline", "prefetch"):
            for staging in ("1", "2"):
                self.replay("--trace", trace, "--arm", arm, "--hints", "trace", "--bandwidth",
                            "0.1GB/s", "--copy-rate", "unlimited", "--warmup", "0",
                            "--staging-blocks", staging, "--json", self.out)
                stalls.append(json.loads(self.out.read_text())["frames"][3]["stall_ns"])
        # What is left of the block, and a small read on its way when the guess was given up.
        block, read, compute = 129_254_400, 1 << 20, 1_200_000_000
        for stall in stalls:
            self.assertGreaterEqual(stall, block * 10 - compute)
            self.assertLessEqual(stall, (block + 2 * read) * 10 - compute)


class RealFolder(Folder):
    def setUp(self):
        super().setUp()
        if in_memory(self.folder):
            self.skipTest("the temporary folder lies in memory")
        self.store = self.folder / "store"


class RealStorage(RealFolder):
    def real(self, *options, expect=0, **keywords):
        done = self.replay(*SHORT, "--store", self.store, "--json", "-", *options, expect=expect,
                           **keywords)
        return json.loads(done.stdout), done.stderr

    def segment(self):
        return next(self.store.glob("*/segment-00000"))

    def test_store_is_reused_and_grows(self):
        self.real()
        written = self.segment().stat()
        self.real("--arm", "on_demand", "--frames", 20)
        again = self.segment().stat()
        self.assertEqual((written.st_ino, written.st_mtime_ns), (again.st_ino, again.st_mtime_ns))
        self.real("--frames", 35)
        self.assertGreater(self.segment().stat().st_size, written.st_size)

    def test_flipped_byte(self):
        document, _ = self.real()
        record, block = document["store"]["record_bytes"], 12
        with open(self.segment(), "r+b") as file:
            file.seek(block * record + 262144 + 77)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        for arm in ("on_demand", "prefetch", "deadline", "hedged"):
            document, text = self.real("--arm", arm, expect=4)
            self.assertIn("block 12, offset 262144", text)
            self.assertIn("block 12, offset 262144", document["error"])
            self.assertFalse(document["summary"]["valid"])
            self.assertEqual(len(document["frames"]), document["frames_done"])

    def test_stores_that_are_not_whole(self):
        self.real()
        whole = self.folder / "whole"
        self.store.rename(whole)
        for damage, word in [
                (["fallocate", "-p", "-o", "4194304", "-l", "1048576"], "hole"),
                (["fallocate", "-z", "-o", "4194304", "-l", "1048576"], "hole"),
                (["truncate", "-s", "-1M"], "long instead of")]:
            shutil.copytree(whole, self.store)
            if subprocess.run([*damage, self.segment()], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0:
                self.refuse(4, word, *SHORT, "--store", self.store)
            shutil.rmtree(self.store)
        shutil.copytree(whole, self.store)
        header = next(self.store.glob("*/header"))
        header.write_bytes(header.read_bytes()[:20] + b"x" + header.read_bytes()[21:])
        self.refuse(4, "header", *SHORT, "--store", self.store)

    def test_memory_is_no_drive(self):
        if not in_memory("/dev/shm") or not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm")
        store = Path(tempfile.mkdtemp(dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, store, ignore_errors=True)
        self.refuse(3, "tmpfs", *SHORT, "--store", store)
        self.assertEqual(list(store.glob("*/segment*")), [])

    def test_a_file_size_limit_is_a_full_disk(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        done = self.replay(*SHORT, "--store", self.store, expect=3, preexec_fn=limit)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(list(self.store.glob("*/*")), [])

    def test_signals(self):
        self.real("--frames", 160)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen(
                [PROGRAM, "replay", *MODEL, "--throttle", "auto", "--bandwidth", "20MB/s", "--store",
                 self.store, "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                # What nohup ignores stays ignored, as it should; not in this test.
                text=True, preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL))
            timer = threading.Timer(2.5, process.send_signal, [number])
            timer.start()
            text, told = process.communicate()
            timer.cancel()
            self.assertEqual(process.returncode, 130, told)
            if text:  # nothing, when it came before the first frame had ended
                document = json.loads(text)
                self.assertTrue(document["interrupted"])
                self.assertFalse(document["summary"]["valid"])
                self.assertEqual(len(document["frames"]), document["frames_done"])
            self.assertEqual(list(Path("/sys/fs/cgroup").glob(f"**/worldpager-{process.pid}")), [])


@unittest.skipUnless(shutil.which("strace"), "needs strace")
class Traced(RealFolder):
    """System calls that fail as they do in containers; standard output stays pure JSON."""

    def traced(self, faults, *words, path=None, expect=0):
        """Runs a verb; with `path`, only calls about it fail."""
        call = ["strace", "-f", "-o", "/dev/null"] + (["-P", str(path)] if path else [])
        names = ",".join(fault.split(":")[0] for fault in faults)
        call += ["-e", f"trace={names}"] + [word for fault in faults for word in
                                             ("-e", f"inject={fault}")]
        done = subprocess.run([*call, PROGRAM, *map(str, words)], capture_output=True, text=True,
                              check=False,
                              # The leak sanitizer cannot work in a traced process.
                              env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        if "ptrace" in done.stderr:
            self.skipTest("tracing is not allowed here")
        self.assertEqual(done.returncode, expect, done.stderr)
        return json.loads(done.stdout) if done.stdout else done.stderr


class RefusedByTheKernel(Traced):
    def injected(self, *faults, expect=0):
        return self.traced(faults, "replay", *SHORT, "--store", self.store, "--json", "-",
                           expect=expect)

    def test_no_io_uring(self):
        for error in ("EPERM", "ENOSYS", "ENOMEM"):
            document = self.injected(f"io_uring_setup:error={error}")
            self.assertEqual(document["store"]["backend"], "pread")
            self.assertIn(error, document["store"]["fallback"])
            self.assertIn(document["store"]["fallback"], document["summary"]["notes"])

    def test_no_registration(self):
        document = self.injected("io_uring_register:error=ENOMEM")
        self.assertEqual(document["store"]["backend"], "io_uring")
        self.assertFalse(document["store"]["registered_buffers"])
        self.assertIn("RLIMIT_MEMLOCK", document["store"]["fallback"])

    def test_no_fallocate(self):
        self.injected("fallocate:error=EOPNOTSUPP")

    def test_preparation_fails(self):
        for fault, status in (("fallocate:error=ENOSPC", 3), ("fdatasync:error=EIO", 4),
                              ("fsync:error=EIO", 4), ("pwrite64:error=ENOSPC", 3)):
            text = self.injected(fault, expect=status)
            self.assertEqual(text.count("\n"), 1, text)
            self.assertEqual(list(self.store.glob("*/*")), [], fault)


if __name__ == "__main__":
    unittest.main()
