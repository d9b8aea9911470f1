#!/usr/bin/env python3
"""Odd surroundings: closed streams, full devices, names, locales, planted links, low limits.

Runs on real storage use blocks of 287 KiB under a bucket. No figure of time is asserted.
Run it alone: tests/cli/test_environment.py (with WORLDPAGER=path for another program).
"""
import json
import os
import pty
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
SOMEBODY = 65534
NAMES = [b"it's \"two\" words", b"c:d,e;f|g&h", b"x^2{$(id)`id`%s%n", b"two\nlines", b"-dash",
         b"\xff\xfe\x80", b"back\\slash *?[a]#<b>"]


class Folder(unittest.TestCase):
    def setUp(self):
        # Beside the program, not in a memory file system.
        self.folder = Path(tempfile.mkdtemp(dir=Path(PROGRAM).resolve().parent))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out.json"

    def run_verb(self, *words, expect=0, before=(), **keywords):
        keywords.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([*before, PROGRAM, *words], stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, check=False, **keywords)
        self.assertEqual(done.returncode, expect, (words, done.stderr))
        return done

    def real(self, *options, **keywords):
        return self.run_verb("replay", "--trace", "b1_ws", "--world", "model", "--scale", "1/440",
                             "--frames", "12", "--warmup", "2", "--throttle", "bucket",
                             "--bandwidth", "80MB/s", "--store", self.folder / "store", *options,
                             **keywords)


class Streams(Folder):
    def closed(self, *numbers):
        """To be run in the child: these streams are closed."""
        def close():
            for number in numbers:
                os.close(number)
        return close

    def test_closed_output_is_an_error_and_lands_nowhere_else(self):
        self.real("--json", self.out)
        segment = next((self.folder / "store").glob("*/segment-00000"))
        before = segment.read_bytes()
        done = self.real("--json", "-", expect=4, stdout=None, preexec_fn=self.closed(0, 1))
        self.assertIn(b"standard output", done.stderr)
        self.assertEqual(segment.read_bytes(), before)
        self.real("--json", self.out, stdout=None, preexec_fn=self.closed(0, 1, 2))
        self.assertTrue(json.loads(self.out.read_text())["summary"]["valid"])

    def test_a_full_device(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            for words in (["--help"], ["--version"], ["threshold", "--trace", "a_yaw", "--frames",
                                                      "30", "--arm", "prefetch"],
                          ["overlap"], ["plan", "--json", "-"], ["doctor", "--json", "-"],
                          ["trace", "info", "a_yaw", "--json", "-"],
                          ["trace", "make", "--trajectory", "a_yaw", "--out", "-"],
                          ["replay", "--trace", "a_yaw", "--frames", "30", "--json", "-"]):
                done = self.run_verb(*words, expect=4, stdout=full)
                self.assertIn(b"No space left", done.stderr, words)

    def test_a_reader_that_goes_away(self):
        read, write = os.pipe()
        os.close(read)
        done = self.real("--json", "-", expect=4, stdout=write)
        os.close(write)
        self.assertIn(b"Broken pipe", done.stderr)


    def test_a_terminal_is_told_when_nothing_moves(self):
        read, terminal = pty.openpty()
        process = subprocess.Popen(
            [PROGRAM, "replay", "--trace", "b1_ws", "--world", "model", "--scale", "1/440",
             "--frames", "12", "--store", self.folder / "store", "--faults",
             "read.delay@1+=60000000000", "--json", self.out], stderr=terminal)
        os.close(terminal)
        text = b""
        while b"nothing more for" not in text:
            text += os.read(read, 4096)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 130)
        os.close(read)


class Places(Folder):
    def refused(self, path, word):
        for words in (["replay", "--trace", "a_yaw", "--frames", "30", "--json", path],
                      ["replay", "--trace", "a_yaw", "--frames", "30", "--residency", "tiered",
                       "--ack-log", path],
                      ["threshold", "--trace", "a_yaw", "--json", path],
                      ["calibrate", "--store", self.folder / "drive", "--out", path]):
            done = self.run_verb(*words, expect=4)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(word, done.stderr)
            # Before anything was measured.
            self.assertFalse((self.folder / "drive").exists())

    def test_where_nothing_can_be_written(self):
        self.refused(self.folder, b"Is a directory")
        self.refused(self.folder / "no" / "x.json", b"No such file")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_folder_of_stores_without_the_right_to_make_it(self):
        def become_somebody():
            os.setgid(SOMEBODY)
            os.setuid(SOMEBODY)

        if subprocess.run(["test", "-x", PROGRAM], preexec_fn=become_somebody,
                          check=False).returncode:
            self.skipTest("the program lies where only its owner gets to")
        for options in ([], ["--residency", "tiered"]):
            done = subprocess.run(
                [PROGRAM, "replay", "--trace", ROOT / "traces/b1_ws.jsonl", "--model",
                 ROOT / "configs/models/mg2.json", "--world", "model", "--scale", "1/440",
                 "--frames", "12", *options, "--store", "/usr/worldpager-store"],
                capture_output=True, text=True, check=False, preexec_fn=become_somebody)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("/usr/worldpager-store: making the directory: EACCES", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_block_devices(self):
        device = self.folder / "disk"
        # The number of no drive: only its kind may matter.
        os.mknod(device, 0o600 | stat.S_IFBLK, os.makedev(7, 4095))
        self.refused(device, b"block device")
        (self.folder / "link").symlink_to(device)
        self.refused(self.folder / "link", b"block device")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_links_that_others_have_left(self):
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        precious = self.folder / "precious"
        precious.write_text("precious")
        link, pipe = shared / "out.json", shared / "pipe"
        link.symlink_to(precious)
        os.mkfifo(pipe)
        for path in (link, pipe):
            os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
            self.refused(path, b"somebody else's")
        self.assertEqual(precious.read_text(), "precious")
        os.chown(link, 0, 0, follow_symlinks=False)
        self.run_verb("replay", "--trace", "a_yaw", "--frames", "30", "--json", link)
        self.assertTrue(link.is_symlink())
        json.loads(precious.read_text())

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_link_under_the_name_of_a_store(self):
        shared, victim = self.folder / "store", self.folder / "victim"
        for path in (shared, victim):
            path.mkdir()
        shared.chmod(0o1777)
        link = shared / "mg2-int4-2t-seed1"
        link.symlink_to(victim)
        os.chown(link, SOMEBODY, SOMEBODY, follow_symlinks=False)
        self.assertIn(b"somebody else's", self.real(expect=3).stderr)
        self.assertEqual(list(victim.iterdir()), [])
        # One's own leads wherever one wants.
        os.chown(link, 0, 0, follow_symlinks=False)
        self.real()
        self.assertEqual(len(list(victim.iterdir())), 3)

    def test_modes(self):
        os.umask(0o022)
        self.real("--json", self.out)
        self.assertEqual(self.out.stat().st_mode & 0o777, 0o644)
        store = next((self.folder / "store").iterdir())
        for path in (store.parent, store, *store.iterdir()):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)


class Names(Folder):
    def locale(self):
        """A locale with a decimal comma, made in this folder; None where it cannot be."""
        places = self.folder / "locale"
        places.mkdir()
        made = shutil.which("localedef") and subprocess.run(
            ["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8", places / "de_DE.UTF-8"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode in (0, 1)
        return {"LOCPATH": str(places), "LC_ALL": "de_DE.UTF-8"} if made else {}

    def test_every_verb_takes_any_name_in_any_locale(self):
        environment = {**os.environ, **self.locale(), "TMPDIR": "/no such folder"}
        for name in NAMES:
            place = os.path.join(os.fsencode(self.folder), name)
            os.mkdir(place)
            trace, result = (os.path.join(place, name + tail) for tail in (b".jsonl", b".json"))
            sweep = os.path.join(place, b"sweep")
            for words in (
                ["trace", "make", "--trajectory", "b1_ws", "--frames", "30", "--out", trace],
                ["trace", "info", trace], ["trace", "validate", trace],
                ["trace", "info", "./" + os.fsdecode(name) + ".jsonl"],
                ["replay", "--trace", trace, "--bandwidth", "0.25GB/s", "--json", result],
                ["compare", result, result, "--junit", os.path.join(place, b"j.xml"), "--markdown",
                 os.path.join(place, b"m.md")],
                ["threshold", "--trace", trace, "--arm", "prefetch", "--json", place + b"/t.json"],
                ["doctor", "--store", place, "--json", os.path.join(place, b"d.json")],
                ["sweep", "smoke", "--frames", "22", "--no-figures", "--out", sweep],
            ):
                self.run_verb(*words, cwd=place, env=environment)
            xml.parse(os.path.join(place, b"j.xml"))
            self.check_documents(place)
        if shutil.which("gnuplot"):
            self.run_verb("plot", sweep, cwd=place, env=environment)
            self.assertTrue(os.path.getsize(os.path.join(sweep, b"figures/stall_a_yaw.png")))

    def check_documents(self, place):
        for folder, _, files in os.walk(place):
            for name in files:
                if name.endswith(b".json"):
                    with open(os.path.join(folder, name), "rb") as file:
                        json.load(file)

    def test_a_store_with_any_name(self):
        for name in NAMES:
            store = os.path.join(os.fsencode(self.folder), name)
            self.run_verb("replay", "--trace", "b1_ws", "--world", "model", "--scale", "1/440",
                          "--frames", "5", "--throttle", "bucket", "--bandwidth", "80MB/s",
                          "--store", store, "--json", self.out)
            json.loads(self.out.read_text())


class Limits(Folder):
    def test_few_files(self):
        def limit(count):
            return ["sh", "-c", f'ulimit -n {count}; exec "$0" "$@"']
        self.real("--json", self.out, before=limit(32))
        self.out.unlink()
        for count in (4, 7, 9):
            done = self.real("--json", self.out, before=limit(count), expect=3)
            self.assertIn(b"Too many open files", done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertFalse(self.out.exists())

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_little_locked_memory_as_an_ordinary_user(self):
        self.real()
        for path in [self.folder, *self.folder.rglob("*")]:
            os.chown(path, SOMEBODY, SOMEBODY)
        parents = [path for path in self.folder.parents if not path.stat().st_mode & 0o001]
        if parents:
            self.skipTest(f"others may not enter {parents[0]}")

        def become(locked_bytes):
            def change():
                resource.setrlimit(resource.RLIMIT_MEMLOCK, (locked_bytes, locked_bytes))
                os.setgroups([])
                os.setgid(SOMEBODY)
                os.setuid(SOMEBODY)
            return change
        most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
        for locked_bytes, registered in ((64 << 10, False), (most, True)):
            done = self.real("--throttle", "auto", "--json", self.out,
                             preexec_fn=become(locked_bytes))
            document = json.loads(self.out.read_text())
            self.assertEqual(document["store"]["registered_buffers"], registered)
            self.assertEqual(document["throttle"]["method"], "bucket")
            # What was done without is told at once, and why.
            self.assertIn(b"note: bucket alone: no kernel limit", done.stderr)
            if not registered:
                self.assertIn(b"RLIMIT_MEMLOCK soft 65536", done.stderr)
        self.assertIn(b"no kernel limit", self.real("--throttle", "cgroup", expect=3,
                                                    preexec_fn=become(most)).stderr)


if __name__ == "__main__":
    unittest.main()
