#!/usr/bin/env python3
"""`worldpager qualify`: a plan, a verdict that follows from its figures, three pages that agree.

The drive's figures come from the stand-in for fio of test_calibrate.py, the replays read real
storage. Run it alone: tests/cli/test_qualify.py (with WORLDPAGER=path for another program).
"""
import html.parser
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from test_calibrate import FAKE  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))


class Text(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.text, self.open, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


class Qualify(unittest.TestCase):
    def setUp(self):
        # Beside the program, not in a memory file system.
        self.folder = Path(tempfile.mkdtemp(dir=Path(PROGRAM).resolve().parent))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out"

    def qualify(self, *options, bytes_per_s=2_000_000_000):
        fio = self.folder / "fio"
        fio.write_text(FAKE.replace("3000000000, 10000", f"{bytes_per_s * 10}, 10000")
                       .replace("CHANGE", "pass"))
        fio.chmod(0o755)
        return subprocess.run(
            [PROGRAM, "qualify", "--store", self.folder / "store", "--out", self.out, "--fio", fio,
             "--scale", "1/256", *options],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=300)

    def test_the_plan_touches_nothing(self):
        done = self.qualify("--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("written", "compute", "calibrate"):
            self.assertIn(word, done.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["fio"])

    def test_bad_options(self):
        for options, word in ((["--arm", "psychic"], "--arm"), (["--arm", "os_paging"], "--arm"),
                              (["--codec", "zip"], "--codec"), (["--seconds", "0"], "--seconds"),
                              (["--scale", "2"], "--scale"), (["--model", "nobody"], "nobody"),
                              (["--scale", "1/900"], "256 KiB")):
            done = self.qualify(*options)
            self.assertEqual(done.returncode, 2, (options, done.stderr))
            self.assertIn(word, done.stderr)
            self.assertFalse(self.out.exists())
        self.assertEqual(self.qualify("--fio", "/no/fio").returncode, 3)

    def test_what_comes_to_nothing_leaves_no_folders(self):
        self.assertEqual(self.qualify("--fio", "/no/fio").returncode, 3)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["fio"])
        # Folders of somebody else stay.
        (self.folder / "store").mkdir()
        self.out.mkdir()
        self.assertEqual(self.qualify("--fio", "/no/fio").returncode, 3)
        self.assertTrue(self.out.exists() and (self.folder / "store").exists())

    def test_an_interrupt_leaves_no_folders(self):
        fio = self.folder / "fio"
        fio.write_text(FAKE.replace("CHANGE", "open('begun', 'w'); time.sleep(60)"))
        fio.chmod(0o755)
        out = self.folder / "new" / "out"
        process = subprocess.Popen(
            [PROGRAM, "qualify", "--store", self.folder / "store", "--out", out, "--fio", fio,
             "--scale", "1/256"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not list(self.folder.glob("store/*/begun")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["fio"])

    def test_what_cannot_end_well_is_found_before_fio_runs(self):
        for more in ([], ["--dry-run"]):
            done = self.qualify("--store", "/dev/shm/worldpager-qualify", *more)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("lies in memory", done.stderr)
            done = self.qualify("--out", self.folder / "fio" / "out", *more)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("nothing can be made there", done.stderr)
        self.assertFalse(self.out.exists() or (self.folder / "store").exists())

    def test_its_inputs_are_no_outputs(self):
        self.out.mkdir()
        machine = (ROOT / "configs/machines/rtx4090.json").read_text()
        for name in ("verdict.json", "session.json", "drive.json"):
            (self.out / name).write_text(machine)
            done = self.qualify("--machine", self.out / name)
            self.assertEqual(done.returncode, 2, (name, done.stderr))
            self.assertIn(name, done.stderr)
            self.assertEqual([path.name for path in self.out.iterdir()], [name])
            self.assertEqual((self.out / name).read_text(), machine)
            (self.out / name).unlink()

    def test_a_program_that_is_not_fio(self):
        done = self.qualify("--fio", "/bin/true")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("/bin/true wrote no result for job write", done.stderr)

    def verdict(self, done):
        document = json.loads((self.out / "verdict.json").read_text())
        self.assertEqual(done.returncode, 0 if document["verdict"] == "holds" else 1, done.stderr)
        return document

    def test_a_drive_that_is_too_slow_does_not_hold(self):
        document = self.verdict(self.qualify(bytes_per_s=100_000_000))
        self.assertEqual(document["verdict"], "does not hold")
        traces = document["runs"][:2]
        for run in traces:
            self.assertEqual(run["verdict"], "does not hold")
            self.assertIsNone(run["thresholds"]["max"]["headroom"])

    def test_a_verdict_follows_from_its_figures(self):
        done = self.qualify("--rated-writes", "600TB")
        document = self.verdict(done)
        tolerance = document["tolerance_ns"]
        self.assertEqual(tolerance, 12_000_000)
        self.assertEqual(document["endurance_hours"], 600 * 10**12 // 387_763_200_000)
        self.assertEqual([run["name"] for run in document["runs"]], ["a_yaw", "b1_ws", "session"])
        order = ["holds", "holds at the median only", "does not hold"]
        for run in document["runs"]:
            median = run["stall_full_scale_p50_ns"] <= tolerance
            tail = run["stall_full_scale_p99_ns"] <= tolerance
            if run["name"] == "session":
                median = median and run["write_stall_ns"] * 100 <= run["wall_ns"]
                self.assertGreater(run["blocks_nvme"], 0)
            else:  # the drive's profile is the stand-in's: what it allows is exact
                self.assertAlmostEqual(run["thresholds"]["p50"]["headroom"], 9.27, delta=0.05)
            median = median and run["valid"]
            self.assertEqual(run["verdict"], order[0 if median and tail else 1 if median else 2])
            replay = json.loads((self.out / f"{run['name']}.json").read_text())
            self.assertEqual(replay["summary"]["stall_full_scale_ns"]["p99"],
                             run["stall_full_scale_p99_ns"])
        self.assertEqual(document["verdict"],
                         max((run["verdict"] for run in document["runs"]), key=order.index))
        self.assertFalse(list((self.folder / "store").glob("*-session")))
        self.check_pages(done.stdout, document)

    def check_pages(self, text, document):
        self.assertEqual((self.out / "verdict.txt").read_text(), text)
        page = Text()
        page.feed((self.out / "verdict.html").read_text())
        self.assertEqual(page.open, [])
        self.assertEqual(page.links, [])
        shown = " ".join("".join(page.text).split())
        for line in text.splitlines():
            for part in line.split("  "):
                self.assertIn(" ".join(part.split()), shown)
        self.assertIn(f"This drive {document['verdict']} for mg2", shown)


if __name__ == "__main__":
    unittest.main()
