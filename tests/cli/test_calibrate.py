#!/usr/bin/env python3
"""`worldpager calibrate`: a profile from fio's figures, and never one from anything else.

Most cases use a fio of our own that prints what the real one has been seen to print.
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

# Stands in for fio: answers by job, then lets CHANGE have its way with the document or text.
FAKE = '''#!/usr/bin/env python3
import json, os, sys, time
output = [word[9:] for word in sys.argv if word.startswith("--output=")][0]
job = os.path.basename(sys.argv[-1])[:-4]
def side(bytes, milliseconds):
    return {"io_bytes": bytes, "runtime": milliseconds, "bw": bytes // milliseconds,
            "bw_bytes": bytes * 1000 // milliseconds if milliseconds else 0,
            "bw_min": 290000, "bw_max": 310000, "bw_dev": 2000.5,
            "clat_ns": {"max": 900000, "mean": 80000.5,
                        "percentile": {"1.000000": 60000, "50.000000": 80000,
                                       "99.000000": 300000, "99.900000": 950000}}}
nothing = {"io_bytes": 0, "runtime": 0, "bw": 0, "bw_bytes": 0}
reads = job in ("latency", "read", "mixed")
writes = job in ("write", "flush", "mixed")
document = {"fio version": "fio-3.33", "timestamp": 1, "jobs": [{
    "jobname": job, "error": 0,
    "read": side(3000000000, 10000) if reads else nothing,
    "write": side(2000000000, 10000) if writes else nothing,
    "sync": {"lat_ns": {"max": 2000000, "percentile": {
        "50.000000": 700000, "99.000000": 1500000, "99.900000": 1900000}}}}]}
if job == "read":
    document["jobs"][0]["steadystate"] = {"attained": 1}
text, status = None, 0
CHANGE
if text is None:
    text = json.dumps(document, indent=2)
open(output, "w").write(text)
sys.exit(status)
'''


class Calibrate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        self.store = self.path / "a store:with, odd name"
        self.profile = self.path / "drive.json"

    def calibrate(self, change="pass", *more):
        fake = self.path / "fio"
        fake.write_text(FAKE.replace("CHANGE", change))
        fake.chmod(0o755)
        return self.run_with(fake, *more)

    def run_with(self, fio, *more):
        command = [PROGRAM, "calibrate", "--store", self.store, "--out", self.profile,
                   "--size", "256MiB", "--fio", fio, *more]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=False)

    def check_profile(self):
        profile = json.loads(self.profile.read_text())
        self.assertEqual(profile["read_bytes_per_s"], 300_000_000)
        self.assertEqual(profile["write_bytes_per_s"], 200_000_000)
        self.assertEqual(profile["read_latency_ns"], 80_000)
        self.assertEqual(profile["write_latency_ns"], 80_000)
        self.assertEqual(profile["flush_latency_ns"], 700_000)
        self.assertGreater(profile["verify_bytes_per_s"], 10_000_000)
        # fio's 99.9th percentile lay above its maximum.
        self.assertEqual(profile["measured"]["read"]["read"]["latency_ns"]["p99_9"], 900_000)
        self.assertIs(profile["measured"]["steady"], True)
        self.assertEqual(list(self.store.iterdir()), [])

    def test_a_profile_that_the_virtual_world_takes(self):
        done = self.calibrate()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_profile()
        done = subprocess.run([PROGRAM, "replay", "--trace", "a_yaw", "--arm", "on_demand",
                               "--drive", str(self.profile), "--copy-rate", "unlimited",
                               "--json", "-"], capture_output=True, text=True, check=True)
        result = json.loads(done.stdout)
        self.assertEqual(result["drive"], "measured")
        # Two blocks at 0.3 GB/s, and a latency.
        needs = 2 * 129_254_400 / 0.3
        self.assertTrue(needs <= result["summary"]["stall_ns"]["p50"] < needs * 1.05)

    def test_text_around_the_json(self):
        for change in (
            "text = 'fio: this platform is odd\\n{ not json\\n' + json.dumps(document, indent=2)",
            "text = json.dumps(document) + '\\nfio: clock warning\\n{'",
            "text = json.dumps({'jobs': 3}) + '\\n' + json.dumps(document)",
            "document['jobs'][0]['read']['bw_bytes'] += 0.4",
        ):
            with self.subTest(change):
                self.profile.unlink(missing_ok=True)
                done = self.calibrate(change)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.check_profile()

    def test_a_drive_so_fast_that_little_is_to_measure(self):
        """fio's durations are whole milliseconds."""
        for milliseconds, rate, trusted in ((99, 1_376_917_979, False), (100, 1_363_148_800, True),
                                            (2, 50_000_000_000, False), (1, 190_000_000_000, False)):
            with self.subTest(milliseconds):
                self.profile.unlink(missing_ok=True)
                done = self.calibrate(
                    "if job == 'write': document['jobs'][0]['write'] = dict("
                    f"side(136314880, {milliseconds}), bw_bytes={rate})")
                self.assertEqual(done.returncode, 0, done.stderr)
                profile = json.loads(self.profile.read_text())
                self.assertEqual(profile["write_bytes_per_s"], rate)
                measured = profile["measured"]["write"]["write"]
                self.assertEqual(measured["duration_ms"], milliseconds)
                self.assertEqual("cannot be trusted" not in done.stdout + done.stderr, trusted)

    def test_never_a_profile_from_these(self):
        jobs = "document['jobs']"
        for change, status, says in (
            ("text = ''", 4, "nothing in it"),
            ("text = 'noise\\nmore noise'", 4, "no whole JSON in it: noise"),
            ("text = json.dumps(document)[:-30]", 4, "no whole JSON"),
            ("sys.exit(0)", 4, "wrote no result"),
            ("text, status = 'fio: failed', 1\nprint('fio: no such engine', file=sys.stderr)", 3,
             "no such engine"),
            ("text, status = f'fio: pid=7, error={os.strerror(1)}\\n' + json.dumps(document), 1", 3,
             "fio: pid=7, error=Operation not permitted"),
            ("text, status = json.dumps(document) + '\\nfio: io_u error: busy', 1", 3, "io_u error"),
            (f"{jobs}[0]['error'] = 5; text = 'fio: odd\\nfio: error=bad cable\\n' + "
             "json.dumps(document)", 4, "Input/output error; fio: error=bad cable"),
            ("text = 'warning\\nfio: pid=7, error=bad cable\\n{'", 4,
             "no whole JSON in it: fio: pid=7, error=bad cable"),
            ("os.kill(os.getpid(), 9)", 3, "status 137"),
            (f"{jobs}[0]['error'] = 28", 4, "No space left"),
            (f"del {jobs}[0]['error']", 4, "whether it failed"),
            (f"{jobs}.append({jobs}[0])", 4, "not of one job"),
            (f"{jobs}[0]['jobname'] = 'other'", 4, '"other"'),
            ("document['jobs'] = []", 4, "not of one job"),
            ("document['fio version'] = 'fio-2.21'", 3, "too old"),
            ("del document['fio version']", 4, "version"),
            (f"{jobs}[0]['read']['bw_bytes'] = {jobs}[0]['read']['bw']", 4, "add up"),
            (f"{jobs}[0]['read']['runtime'] *= 1000", 4, "add up"),
            (f"{jobs}[0]['read']['runtime'] = 0; {jobs}[0]['read']['bw_bytes'] = 0", 4, "add up"),
            (f"{jobs}[0]['read'].update(io_bytes=3000000, runtime=10, bw_bytes=300000)", 4, "add up"),
            (f"{jobs}[0]['read'] = nothing; {jobs}[0]['write'] = nothing", 4, "moved no byte"),
            (f"{jobs}[0]['read'] = dict({jobs}[0]['write'])", 4, "lacks the figures"),
            (f"{jobs}[0]['read']['clat'] = {jobs}[0]['read'].pop('clat_ns', 0)", 4, "clat_ns"),
            (f"{jobs}[0]['read']['io_bytes'] = 'many'", 4, "lacks io_bytes"),
            (f"{jobs}[0]['read']['bw_bytes'] = -5", 4, "lacks io_bytes"),
            (f"{jobs}[0]['sync'] = {{}}", 4, "lacks the figures"),
        ):
            with self.subTest(change):
                if "'read']" in change and "nothing" not in change:
                    # Where there is something to break.
                    change = f"if job == 'read':\n    {change}" if "dict(" not in change else \
                        f"if job == 'read': {jobs}[0]['read'] = nothing; " \
                        f"{jobs}[0]['write'] = side(5, 1000)"
                done = self.calibrate(change)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(says, done.stderr)
                self.assertFalse(self.profile.exists())
                self.assertFalse(self.store.exists())  # made by the run, and empty

    def test_an_old_profile_outlives_a_failure(self):
        self.profile.write_text("old\n")
        self.assertNotEqual(self.calibrate("text = ''").returncode, 0)
        self.assertEqual(self.profile.read_text(), "old\n")

    def test_files_of_others_are_not_touched(self):
        """Of the names that fio uses: links that lead away, and a file of earlier."""
        self.store.mkdir()
        precious = self.path / "precious"
        precious.write_text("precious")
        (self.store / "worldpager-calibration").symlink_to(precious)
        (self.store / "worldpager-fio-output").write_text('{"jobs": []}')
        before = sorted(self.store.iterdir())
        done = self.calibrate("open('worldpager-calibration', 'w').write('x')")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.profile.unlink()
        self.assertEqual(self.calibrate("sys.exit(0)").returncode, 4)
        self.assertFalse(self.profile.exists())
        self.assertEqual(sorted(self.store.iterdir()), before)
        self.assertEqual(precious.read_text(), "precious")

    def test_options(self):
        self.assertEqual(self.run_with("/no/fio").returncode, 3)
        self.assertEqual(self.run_with("no-such-fio").returncode, 3)
        self.assertEqual(self.calibrate("pass", "--size", "100MB").returncode, 2)
        self.assertEqual(self.calibrate("pass", "--size", "999TiB").returncode, 3)
        self.assertEqual(self.calibrate("pass", "--name", "a/b").returncode, 2)
        self.assertEqual(self.calibrate("pass", "--seconds", "0").returncode, 2)
        done = self.calibrate("pass", "--dry-run")
        self.assertEqual(done.returncode, 0)
        self.assertFalse(self.profile.exists())

    def test_interrupted(self):
        fake = self.path / "fio"
        fake.write_text(FAKE.replace("CHANGE", "open('worldpager-calibration', 'w').write('x'); "
                                     "time.sleep(60)"))
        fake.chmod(0o755)
        process = subprocess.Popen([PROGRAM, "calibrate", "--store", str(self.store), "--out",
                                    str(self.profile), "--size", "256MiB", "--fio", str(fake)],
                                   stderr=subprocess.PIPE, text=True)
        while not list(self.store.glob("*/worldpager-calibration")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text)
        self.assertFalse(self.store.exists())
        self.assertFalse(self.profile.exists())

    @unittest.skipUnless(shutil.which("fio"), "fio is not installed")
    def test_the_real_one(self):
        done = self.run_with("fio", "--seconds", "1", "--size", "130MiB", "--engine", "psync")
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = json.loads(self.profile.read_text())
        self.assertGreater(profile["read_bytes_per_s"], 0)
        self.assertEqual(list(self.store.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
