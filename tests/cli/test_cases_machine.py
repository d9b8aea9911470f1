#!/usr/bin/env python3
"""Odd machines, as public problem reports tell of them: tests/CASES.md says which.

Loop devices, mounts and control groups need root; what a machine lacks is skipped with its reason.
Mounts are this process's own and loop devices go with them, so that nothing stays behind however
a test ends. No figure of time is asserted.
Run it alone: tests/cli/test_cases_machine.py (with WORLDPAGER=path for another program).
"""
import ctypes
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import unittest
import zlib
from pathlib import Path

from test_replay import MODEL, PROGRAM, RealFolder, SHORT as LONGER, Traced, run

CLONE_NEWNS = 0x20000
BLKIO = Path("/sys/fs/cgroup/blkio")
MEMORY = Path("/sys/fs/cgroup/memory")
SHORT = [*LONGER, "--frames", "14", "--warmup", "2"]
LIMITED = [*MODEL[:-2], "--frames", "12", "--warmup", "2", "--throttle", "cgroup", "--bandwidth",
           "20MB/s"]


def setUpModule():
    """Mounts of this process alone: they end with it."""
    if os.geteuid() == 0 and ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=False)


class Machine(RealFolder):
    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f"needs {program}")

    def command(self, *words, check=True):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
        if check and done.returncode:
            self.skipTest(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout.strip()

    def loop(self, size="64M", *options):
        """A loop device over a new file; goes when its last mount does, or at the end."""
        if os.geteuid():
            self.skipTest("loop devices need root")
        self.need("losetup", "mkfs.ext4")
        image = self.folder / f"image{len(list(self.folder.glob('image*')))}"
        self.command("truncate", "-s", size, image)
        device = self.command("losetup", "-f", "--show", *options, image)
        self.addCleanup(self.command, "losetup", "-d", device, check=False)
        return device, image

    def mount(self, device, name="m"):
        point = self.folder / name
        point.mkdir()
        self.command("mkfs.ext4", "-q", "-F", "-b", "4096", device)
        self.addCleanup(self.command, "umount", point, check=False)
        self.command("mount", device, point)
        return point

    def document(self, *options, store=None, expect=0, before=(), **keywords):
        """Of one replay whose standard output is JSON and nothing else."""
        words = [*before, PROGRAM, "replay", *options, "--store", store or self.store, "--json", "-"]
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, **keywords)
        if done.returncode == 3 != expect and "other traffic" in done.stderr:
            self.skipTest(done.stderr.strip())  # no fault of ours that the drive is busy
        self.assertEqual(done.returncode, expect, done.stderr)
        self.stderr = done.stderr
        return json.loads(done.stdout) if done.stdout else None

    def during(self, act, *options, store=None):
        """A replay to which `act(process)` happens once a frame is over: status and what it says."""
        read, terminal = pty.openpty()
        self.addCleanup(os.close, read)
        process = subprocess.Popen(
            [PROGRAM, "replay", *options, "--store", store or self.store, "--json", self.out],
            stderr=terminal, stdin=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        os.close(terminal)
        told = b""
        acted = False
        while True:
            try:
                told += os.read(read, 4096)
            except OSError:  # its end: nobody has the terminal open
                break
            if not acted and re.search(rb"replay: \d+ %, .* left", told):
                act(process)
                acted = True
        return process.wait(timeout=60), told.decode().replace("\r\n", "\n")

    def assert_ended(self, status, told, words):
        """By an I/O error after a frame: a document of the frames before it, and the reason."""
        self.assertEqual(status, 4, told)
        document = json.loads(self.out.read_text())
        self.assertRegex(document["error"], words)
        self.assertIn(document["error"], told)
        self.assertFalse(document["summary"]["valid"])
        self.assertEqual(len(document["frames"]), document["frames_done"])
        self.assertLess(document["frames_done"], document["frames_asked"])

    def segment(self, store=None):
        return next((store or self.store).glob("*/segment-00000"))

    def group(self, top, name, **files):
        """A control group of our own, gone at the end."""
        if os.geteuid() or not (top / "cgroup.procs").exists():
            self.skipTest(f"no {top.name} controller of control groups v1, or not root")
        group = top / f"wp-test-{os.getpid()}"
        group.mkdir()
        self.addCleanup(group.rmdir)
        for file, text in files.items():
            (group / f"{name}.{file}").write_text(text)
        return ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$0" "$@"']


class Throttle(Machine):
    def limited(self, store):
        document = self.document(*LIMITED, store=store)
        self.assertTrue(document["summary"]["valid"])
        return document["throttle"]

    def test_a_partition_is_limited_as_its_disk(self):
        self.need("addpart")
        device, _ = self.loop("64M", "-P")
        # Without a table: not every kernel reads one.
        self.command("addpart", device, "1", "2048", str((64 << 11) - 2048))
        self.addCleanup(self.command, "delpart", device, "1", check=False)
        if not os.path.exists(f"{device}p1"):
            self.skipTest("partitions get no device nodes here")
        point = self.mount(f"{device}p1")
        self.assertNotEqual(os.major(point.stat().st_dev), 7)  # the kernel refuses its number
        self.assertEqual(self.limited(point / "store")["device"], f"7:{device[9:]}")

    def test_a_stack_is_limited_at_its_top(self):
        device, _ = self.loop()
        point = self.mount(device)
        throttle = self.limited(point / "store")
        self.assertEqual(throttle["device"], f"7:{device[9:]}")
        self.assertEqual(throttle["read_back_bytes_per_s"], 20_000_000)
        self.assertGreaterEqual(throttle["device_bytes"], throttle["expected_bytes"])

    def test_every_read_takes_time(self):
        if not (BLKIO / "blkio.throttle.read_bps_device").exists() or os.geteuid():
            self.skipTest("no blkio controller of control groups v1, or not root")
        document = self.document(*LIMITED)
        for frame in document["frames"]:
            self.assertEqual(frame["read_ns"] > 0, frame["blocks_nvme"] > 0, frame)
        self.assertEqual((document["throttle"]["cgroup"], document["throttle"]["method"]),
                         ("v1", "cgroup"))
        self.assertIn("free after an idle gap", " ".join(document["summary"]["notes"]))

    @unittest.skipUnless(os.geteuid() == 0 and BLKIO.exists(), "needs root and control groups v1")
    def test_no_throttle_files(self):
        hide = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none {BLKIO}; exec "$0" "$@"']
        document = self.document(*LIMITED, "--throttle", "auto", before=hide)
        self.assertEqual(document["throttle"]["method"], "bucket")
        self.assertIn("no kernel limit", " ".join(document["summary"]["notes"]))
        self.assertIn("no kernel limit", self.stderr)
        self.assertIsNone(self.document(*LIMITED, before=hide, expect=3))
        self.assertIn("no kernel limit", self.stderr)
        self.assertEqual(self.stderr.count("\n"), 1)

    def test_a_lower_limit_from_outside_is_not_taken_for_ours(self):
        disk = self.document(*SHORT)["machine_facts"]["disk"]
        if not disk:
            self.skipTest("no disk behind the folder")
        inside = self.group(BLKIO, "blkio.throttle", read_bps_device=f"{disk} 8000000")
        throttle = self.document(*SHORT, "--frames", "12", before=inside)["throttle"]
        self.assertTrue(throttle["device_limited"], throttle)
        self.assertLess(throttle["achieved_bytes_per_s"], 20_000_000)

    def test_a_disk_that_stops(self):
        if not (BLKIO / "blkio.throttle.read_bps_device").exists() or os.geteuid():
            self.skipTest("no blkio controller of control groups v1, or not root")
        disk = self.document(*LIMITED)["throttle"]["device"]
        groups = []

        def stop(process):
            groups.extend(BLKIO.glob(f"**/worldpager-{process.pid}"))
            for group in groups:
                (group / "blkio.throttle.read_bps_device").write_text(f"{disk} 1")
        self.assert_ended(*self.during(stop, *LIMITED, "--frames", "60", "--read-deadline", "1"),
                          r"block \d+, offset \d+: read not answered within 1 s")
        self.assertEqual([group.exists() for group in groups], [False])


class Drives(Machine):
    def test_large_sectors(self):
        device, _ = self.loop("64M", "--sector-size", "4096")
        point = self.mount(device)
        document = self.document(*SHORT, store=point / "store")
        self.assertEqual(document["store"]["alignment_bytes"], 4096)
        self.assertTrue(document["store"]["direct_io"])
        # A store goes from a drive with small sectors to one with large ones.
        self.document(*SHORT)
        shutil.copytree(self.store, point / "moved")
        moved = self.document(*SHORT, store=point / "moved")
        self.assertEqual(moved["store"]["record_bytes"], document["store"]["record_bytes"])

    def test_overlay(self):
        device, _ = self.loop()
        upper = self.mount(device)
        for name in ("l", "u", "w"):
            (upper / name).mkdir()
        point = self.folder / "overlay"
        point.mkdir()
        self.addCleanup(self.command, "umount", point, check=False)
        self.command("mount", "-t", "overlay", "overlay", "-o",
                     f"lowerdir={upper}/l,upperdir={upper}/u,workdir={upper}/w", point)
        document = self.document(*LIMITED, store=point / "store")
        self.assertEqual(document["throttle"]["device"], f"7:{device[9:]}")
        self.assertEqual(document["store"]["filesystem"], "overlayfs")

    def test_a_drive_that_loses_its_end(self):
        device, image = self.loop("48M")
        store = self.mount(device) / "store"
        self.document(*LONGER, store=store)
        self.command("sync", "-f", store)
        self.assert_ended(*self.during(lambda _: os.truncate(image, 4 << 20), *LONGER, store=store),
                          r"block \d+, offset \d+: read: Input/output error")
        # And before the first frame: no document.
        self.out.unlink()
        done = run("replay", *LONGER, "--store", store, "--json", self.out)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (4, 1), done.stderr)
        self.assertRegex(done.stderr, f"{store}.*: Input/output error")
        self.assertFalse(self.out.exists())

    def test_a_store_that_is_cut_during_a_run(self):
        self.document(*LONGER)
        self.assert_ended(
            *self.during(lambda _: os.truncate(self.segment(), (1 << 20) + 4096), *LONGER),
            r"block \d+, offset \d+: read: the store's file ends there: \d+ bytes wanted, \d+ got")

    def test_a_full_disk(self):
        device, _ = self.loop("16M")
        point = self.mount(device)
        before = os.statvfs(point).f_bfree
        self.document(*MODEL, "--bandwidth", "40MB/s", store=point / "store", expect=3)
        self.assertRegex(self.stderr, "needs .*(are free| has )")
        self.document(*MODEL, "--residency", "tiered", store=point / "store", expect=3)
        self.assertRegex(self.stderr, "needs .*(are free| has )")
        self.assertLessEqual(before - os.statvfs(point).f_bfree, 4)

    def test_the_page_cache_has_no_part(self):
        self.need("fincore")
        self.document(*SHORT)
        # Warm: direct reads go to the drive all the same, and are counted there.
        self.segment().read_bytes()
        throttle = self.document(*SHORT, "--arm", "on_demand")["throttle"]
        self.assertGreaterEqual(throttle["device_bytes"], throttle["expected_bytes"])
        with open(self.segment(), "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.document(*SHORT)
        pages = self.command("fincore", "--raw", "--noheadings", "--output", "PAGES", self.segment())
        self.assertEqual(int(pages), 0)

    def test_contents_do_not_compress_and_follow_the_seed(self):
        self.document(*SHORT, "--frames", "8")
        first = self.segment().read_bytes()
        self.document(*SHORT, "--frames", "8", store=self.folder / "again")
        self.document(*SHORT, "--frames", "8", "--seed", "2", store=self.folder / "other")
        self.assertEqual(self.segment(self.folder / "again").read_bytes(), first)
        self.assertNotEqual(self.segment(self.folder / "other").read_bytes(), first)
        self.assertGreater(len(zlib.compress(first)), 0.98 * len(first))


class Memory(Machine):
    def test_a_group_smaller_than_the_slots(self):
        inside = self.group(MEMORY, "memory", limit_in_bytes="67108864")
        self.document("--trace", "b1_ws", "--world", "model", "--scale", "1/16", "--frames", "4",
                      before=inside, expect=3)
        self.assertRegex(self.stderr, "need .* of memory, .* are available")
        self.assertFalse(self.store.exists())

    def test_one_processor(self):
        self.need("taskset")
        document = self.document(*SHORT, before=["taskset", "-c", "0"])
        self.assertTrue(document["summary"]["valid"])
        for frame in document["frames"]:
            for key in ("read_ns", "verify_ns", "copy_ns", "decode_ns"):
                self.assertEqual(frame[key] > 0, frame["blocks_nvme"] > 0, (key, frame))


class System(Traced, Machine):
    def test_memory_that_cannot_be_locked(self):
        faults = [f"{call}:error=ENOMEM" for call in ("mlock", "mlock2", "mlockall")]
        document = self.traced(faults, "replay", *SHORT, "--store", self.store, "--json", "-")
        self.assertTrue(document["summary"]["valid"])

    def test_no_direct_io(self):
        self.document(*SHORT)
        words = ["replay", *SHORT, "--store", self.store, "--json", "-"]
        refused = self.traced(["openat:error=EINVAL:when=1"], *words, path="segment-00000",
                              expect=3)
        self.assertIn("direct", refused)
        self.assertEqual(refused.count("\n"), 1)
        # Where it is allowed, cached reads still prove no limit, and the result does not count.
        document = self.traced(["openat:error=EINVAL:when=1+2"], *words, "--allow-unproven",
                               path="segment-00000", expect=3)
        self.assertFalse(document["store"]["direct_io"])
        self.assertFalse(document["summary"]["valid"])
        self.assertIn("cached", document["throttle"]["reason"])

    def test_doctor_says_why_io_uring_is_refused(self):
        self.traced(["io_uring_setup:error=EPERM"], "doctor", "--store", self.folder, "--json",
                    self.out)
        line = {line["name"]: line for line in json.loads(self.out.read_text())["lines"]}["io_uring"]
        self.assertIn("Operation not permitted", line["found"])
        self.assertIn("seccomp", line["remedy"])
        setting = Path("/proc/sys/kernel/io_uring_disabled")
        if setting.exists():
            self.assertIn(f"io_uring_disabled = {setting.read_text().strip()}", line["found"])

    def test_calibration_where_io_uring_is_refused(self):
        self.need("fio")
        told = self.traced(["io_uring_setup:error=EPERM"], "calibrate", "--store", self.store,
                           "--size", "130MiB", "--seconds", "1", "--out", self.out, expect=3)
        self.assertIn("error=Operation not permitted", told)
        self.assertFalse(self.out.exists())


class Documents(Machine):
    def test_twice_to_one_file(self):
        for arm in ("prefetch", "on_demand"):
            self.assertEqual(run("replay", "--trace", "a_yaw", "--arm", arm, "--json",
                                 self.out).returncode, 0)
            self.assertEqual(json.loads(self.out.read_text())["arm"], arm)

    def test_a_killed_run_leaves_the_old_document(self):
        self.document(*SHORT)
        self.out.write_text("old\n")
        status, _ = self.during(lambda process: process.send_signal(signal.SIGKILL), *SHORT)
        self.assertEqual((status, self.out.read_text()), (-signal.SIGKILL, "old\n"))
        self.assertEqual(sorted(self.folder.iterdir()), [self.out, self.store])

    def trace(self, *sets, **keys):
        path = self.folder / "t.jsonl"
        header = {"format": "worldpager-trace", "version": 1, "name": "t", "model": "mg2",
                  "origin": "synthetic", "made_by": "a test", "frames": len(sets), "k": 2,
                  "exclude_recent": 0, "video_frames_per_frame": 12}
        lines = [header] + [{"frame": frame, "retrieved": blocks, **keys}
                            for frame, blocks in enumerate(sets)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def test_traces_of_next_to_nothing(self):
        words = ["--warmup", "0", "--hints", "none", "--bandwidth", "0.25GB/s", "--json", "-"]
        done = run("replay", "--trace", self.trace(), *words)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        for sets in ([[]], [[], []], [[], [0]]):
            done = run("replay", "--trace", self.trace(*sets), *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotRegex(done.stdout.lower(), r"\b(nan|inf|infinity)\b")
            document = json.loads(done.stdout)
            self.assertEqual(document["summary"]["stall_ns"]["n"], len(sets))
            self.assertEqual(document["summary"]["stall_ns"]["max"] > 0, [0] in sets)

    def test_frames_without_reads_take_their_compute(self):
        trace = self.trace(*[[]] * 40, compute_ns=8_800_000_000)
        document = self.document("--trace", trace, *MODEL[2:], "--hints", "none", "--warmup", "0")
        totals = document["totals"]
        self.assertEqual(totals["stall_ns"], 0)
        self.assertGreaterEqual(totals["compute_ns"], 40 * 20_000_000)
        self.assertLessEqual(abs(totals["wall_ns"] - totals["compute_ns"]),
                             totals["wall_ns"] / 100)


if __name__ == "__main__":
    unittest.main()
