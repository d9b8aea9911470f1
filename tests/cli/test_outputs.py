#!/usr/bin/env python3
"""No output replaces what the same command reads, or another output, by whatever name.

All in the virtual world; nothing depends on how fast the machine is.
Run it alone: tests/cli/test_outputs.py (with WORLDPAGER=path for another program).
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
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
REPLAY = ["replay", "--trace", "b1_ws", "--bandwidth", "0.2GB/s", "--frames", "30"]
MOONCAKE = "".join(json.dumps({"timestamp": i * 1000, "input_length": 1024, "output_length": 1,
                               "hash_ids": list(range(i + 2))}) + "\n" for i in range(40))


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def run_here(self, *words, **keywords):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.path, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, check=False, **keywords)

    def well(self, *words):
        done = self.run_here(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def files(self):
        return {path: path.read_bytes() for path in self.path.rglob("*") if path.is_file()}

    def refused(self, name, *words):
        """Exit 2, one line that names the file last, and no byte of any file changed."""
        before = self.files()
        done = self.run_here(*words)
        self.assertEqual(done.returncode, 2, (words, done.stderr))
        self.assertRegex(done.stderr.splitlines()[-1],
                         "^worldpager: .*(is not written to|as an input and as an output)")
        self.assertIn(name, done.stderr.splitlines()[-1])
        self.assertEqual(self.files(), before, words)

    def names(self, name):
        """Other names of a file: spelled otherwise, a symbolic link, a hard link."""
        (self.path / "symbolic").unlink(missing_ok=True)
        (self.path / "symbolic").symlink_to(name)
        (self.path / "hard").unlink(missing_ok=True)
        os.link(self.path / name, self.path / "hard")
        return [name, f"./{name}", self.path / name, f"../{self.path.name}/{name}", "symbolic",
                "hard"]

    def test_compare(self):
        self.well(*REPLAY, "--json", "base.json")
        self.well(*REPLAY, "--json", "same.json")
        for place in self.names("base.json"):
            for option in ("--junit", "--markdown"):
                self.refused("base.json", "compare", "base.json", "same.json", option, place)
                self.refused("base.json", "compare", "same.json", "base.json", option, place)

    def test_compare_writes_two_files_or_none(self):
        self.well(*REPLAY, "--json", "base.json")
        for names in (("both", "both"), ("both", "./both"), ("-", "-")):
            done = self.run_here("compare", "base.json", "base.json", "--junit", names[0],
                                 "--markdown", names[1])
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("another output goes there", done.stderr)
            # Nothing green is left to be collected.
            text = done.stdout if names[0] == "-" else (self.path / "both").read_text()
            self.assertIn("<error", text)
        self.well("compare", "base.json", "base.json", "--junit", "/dev/null", "--markdown",
                  "/dev/null")

    def test_profiles_of_a_replay(self):
        for kind, folder, name in (("model", "models", "mg2"), ("machine", "machines", "rtx4090"),
                                   ("drive", "drives", "ideal")):
            shutil.copy(ROOT / f"configs/{folder}/{name}.json", self.path / "profile.json")
            for place in self.names("profile.json"):
                self.refused(str(place), *REPLAY, f"--{kind}", "./profile.json", "--json", place)
                self.refused(str(place), *REPLAY, f"--{kind}", "./profile.json", "--iolog", place)
                self.refused("profile.json", "threshold", "--trace", "b1_ws", "--arm", "hedged",
                             f"--{kind}", "./profile.json", "--json", place)
                if kind != "drive":
                    self.refused("profile.json", "plan", f"--{kind}", "./profile.json", "--json",
                                 place)
                    self.refused(str(place), "overlap", f"--{kind}", "./profile.json", "--json",
                                 place)

    def test_traces(self):
        shutil.copy(ROOT / "configs/trajectories/b1_ws.json", self.path / "path.json")
        for place in self.names("path.json"):
            self.refused("path.json", "trace", "make", "--trajectory", "./path.json", "--out",
                         place)
        self.well("trace", "make", "--trajectory", "./path.json", "--out", "trace.jsonl")
        for place in self.names("trace.jsonl"):
            self.refused("trace.jsonl", "trace", "info", "./trace.jsonl", "--json", place)
            self.refused(str(place), "replay", "--trace", "./trace.jsonl", "--json", place)
        (self.path / "requests.jsonl").write_text(MOONCAKE)
        for place in self.names("requests.jsonl"):
            self.refused("requests.jsonl", "trace", "import", "--format", "mooncake", "--out",
                         place, "requests.jsonl")

    def test_two_outputs_of_a_replay(self):
        for names in (("x", "./x"), ("./x", "x"), (self.path / "x", "x"), ("x", "x"), ("-", "-")):
            before = self.files()
            done = self.run_here(*REPLAY, "--json", names[0], "--iolog", names[1])
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertEqual(self.files(), before)
        self.well(*REPLAY, "--json", "/dev/null", "--iolog", "/dev/./null")

    def test_two_outputs_of_overlap(self):
        words = ["overlap", "--frames", "1", "--no-figures", "--out", "out", "--json"]
        self.well(*words, "other.json")
        self.refused("overlap_virtual.json", *words, "./out/../out/overlap_virtual.json")

    def test_the_page_of_a_folder(self):
        self.well("sweep", "smoke", "--no-figures", "--out", "out", "--frames", "30")
        document = next((self.path / "out/replays").iterdir())
        for place in ("out/index.json", "./out/index.json", document):
            self.refused("json", "report", "out", "--out", place)

    def test_the_same_command_again_is_fine(self):
        for _ in range(2):
            self.well(*REPLAY, "--json", "out.json", "--iolog", "reads")
            self.well("sweep", "smoke", "--no-figures", "--out", "out", "--frames", "30")
            self.well("sweep", "smoke", "--no-figures", "--out", "out", "--frames", "30",
                      "--resume")
            self.well("report", "out")
            self.well("plot", "out")
            self.well("report", "out")
            self.well("overlap", "--frames", "1", "--out", "out")
            self.well("compare", "out.json", "out.json", "--junit", "out.xml")
        # A link keeps pointing where it points.
        (self.path / "link").symlink_to("out.json")
        self.well(*REPLAY, "--json", "link")
        self.assertTrue((self.path / "link").is_symlink())

    def test_a_full_disk_is_named(self):
        self.well("sweep", "smoke", "--no-figures", "--out", "out", "--frames", "30")
        self.well(*REPLAY, "--json", "out.json")
        for words in (("report", "out", "--out"), ("compare", "out.json", "out.json", "--junit"),
                      (*REPLAY, "--json"), (*REPLAY, "--iolog"), ("trace", "info", "b1_ws", "--json"),
                      ("trace", "make", "--trajectory", "b1_ws", "--out"), ("plan", "--json")):
            done = self.run_here(*words, "/dev/full")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("No space left on device", done.stderr)
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([PROGRAM, "report", self.path / "out", "--out", "-"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("No space left on device", done.stderr)

    def test_a_failure_leaves_no_empty_folder(self):
        (self.path / "bad").mkdir()
        self.assertEqual(self.run_here("plot", "bad", "--out", "new/folder").returncode, 4)
        self.assertFalse((self.path / "new").exists())
        (self.path / "old").mkdir()
        self.assertEqual(self.run_here("plot", "bad", "--out", "old/folder").returncode, 4)
        self.assertEqual(list((self.path / "old").iterdir()), [])

    def test_an_interrupted_replay_says_so(self):
        process = subprocess.Popen(
            [PROGRAM, "replay", "--trace", "b1_ws", "--world", "model", "--scale", "1/256",
             "--bandwidth", "5MB/s", "--allow-unproven", "--throttle", "bucket", "--store",
             "store", "--json", "out.json"], cwd=self.path, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not (self.path / "store").exists():
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text)
        self.assertIn("interrupted", text)


if __name__ == "__main__":
    unittest.main()
