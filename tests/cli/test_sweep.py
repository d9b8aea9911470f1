#!/usr/bin/env python3
"""`worldpager sweep` and `plot`: folders, verdicts, figures, interrupts, hostile names.

All in the virtual world; nothing depends on how fast the machine is.
Run it alone: tests/cli/test_sweep.py (with WORLDPAGER=path for another program).
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
HOSTILE = ["x^2{", "it's \"q\"", "%d", "a_yaw`id`", "$(id)\\n", "b<&>|c"]


def run(*arguments, **keywords):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, **keywords)


class Sweep(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out"

    def experiment(self, **changes):
        content = {"name": "try", "world": "virtual", "traces": ["a_yaw"],
                   "arms": ["on_demand", "prefetch"], "bandwidths": ["0.2GB/s", "0.25GB/s"]}
        content.update(changes)
        path = self.folder / "try.json"
        path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))
        return path

    def sweep(self, *options, expect=0, **changes):
        done = run("sweep", self.experiment(**changes), "--out", self.out, *options)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.assertEqual(done.stdout, "")
        return done

    def index(self):
        return json.loads((self.out / "index.json").read_text())

    def test_folder_has_everything(self):
        self.sweep(traces=["a_yaw", "b1_ws"])
        points = self.index()["points"]
        self.assertEqual(len(points), 8)
        for point in points:
            self.assertEqual((point["state"], point["exit_code"], point["error"]),
                             ("done", 0, None))
            document = json.loads((self.out / point["document"]).read_text())
            self.assertEqual(document["arm"], point["arm"])
            self.assertNotIn(str(self.folder), json.dumps(document))
        summary = (self.out / "summary.md").read_text()
        self.assertEqual(summary.count("simulated: agrees"), 3, summary)
        names = sorted(path.name for path in (self.out / "figures").iterdir())
        self.assertEqual(names, sorted(f"{figure}_{trace}.{kind}"
                                       for figure in ("stall", "timeline")
                                       for trace in ("a_yaw", "b1_ws")
                                       for kind in ("dat", "gp", "png", "svg")))
        self.assertEqual((self.out / "figures/stall_a_yaw.png").read_bytes()[:4], b"\x89PNG")
        self.assertIn("a_yaw", (self.out / "figures/stall_a_yaw.svg").read_text())

    def test_a_verdict_needs_points_that_decide_it(self):
        for rates, missing in ((["5GB/s", "50GB/s"], True), (["1GB/s", "2GB/s"], True),
                               (["0.25GB/s"], False)):
            shutil.rmtree(self.out, ignore_errors=True)
            self.sweep("--no-figures", traces=["a_yaw", "b1_ws"], bandwidths=rates)
            rows = {line[2:4]: line for line in (self.out / "summary.md").read_text().splitlines()
                    if line.startswith("| P")}
            self.assertEqual("simulated: not covered" in rows["P1"], missing, rows["P1"])
            self.assertEqual("not tried: a\\_yaw at 0.25 GB/s" in rows["P1"], missing, rows["P1"])
            self.assertIn("simulated: agrees", rows["P2"])
            self.assertIn("not tried: b1\\_ws below 0.215424 GB/s", rows["P3"])

    def test_figures_can_be_drawn_again(self):
        self.sweep()
        shutil.rmtree(self.out / "figures")
        (self.out / "summary.md").unlink()
        self.assertEqual(run("plot", self.out).returncode, 0)
        picture = self.out / "figures/stall_a_yaw.png"
        self.assertTrue(picture.stat().st_size)
        picture.unlink()
        subprocess.run(["gnuplot", "stall_a_yaw.gp"], cwd=picture.parent, check=True)
        self.assertTrue(picture.stat().st_size)

    def test_stalls_of_nothing_but_zero_are_drawn(self):
        self.sweep(arms=["prefetch"], bandwidths=["1GB/s", "2GB/s"])
        self.assertTrue((self.out / "figures/stall_a_yaw.png").stat().st_size)

    def test_arms_beyond_the_paper_have_a_figure_of_their_own(self):
        self.sweep(traces=["b1_ws"], arms=["on_demand", "prefetch", "hedged"],
                   bandwidths=["0.2GB/s", "0.5GB/s"])
        worst = self.curves("worst_b1_ws")
        self.assertEqual(len(worst), 4)  # three arms and the bound
        self.assertAlmostEqual(worst["hedged"]["0.2"], 1292.5, delta=6)
        self.assertEqual(worst["hedged"]["0.5"], 0)
        self.assertAlmostEqual(worst["prefetch"]["0.5"], 517, delta=3)
        for arm, points in worst.items():
            for rate, stall in points.items():
                self.assertGreaterEqual(stall, worst["lower bound of the longest stall"][rate], arm)
        self.assertAlmostEqual(worst["lower bound of the longest stall"]["0.2"], 92.5, delta=0.1)
        # The paper's figure stays the paper's.
        self.assertEqual(set(self.curves("stall_b1_ws")),
                         {"on_demand", "prefetch", "lower bound of the longest stall"})
        self.assertIn("sum / least", (self.out / "summary.md").read_text())

    def curves(self, figure):
        """{curve: {rate: last column}} of a figure's data."""
        found = {}
        for line in (self.out / f"figures/{figure}.dat").read_text().splitlines():
            if line.startswith("# index"):
                points = found.setdefault(line.split(": ", 1)[1].split(",")[0], {})
            elif line and not line.startswith("#"):
                points[line.split()[0]] = float(line.split()[-1])
        return found

    def test_two_runs_are_the_same(self):
        digests = []
        for _ in range(2):
            self.sweep("--no-figures")
            digests.append({point["document"]: json.loads(
                (self.out / point["document"]).read_text())["summary"]["digest"]
                for point in self.index()["points"]})
        self.assertEqual(digests[0], digests[1])
        self.assertGreater(len(set(digests[0].values())), 1)

    def test_every_k_and_codec_gets_a_trace_and_a_figure(self):
        self.sweep(codecs=["bf16", "int4"], k=[1, 2, 3], bandwidths=["0.35GB/s"])
        self.assertEqual(len(self.index()["points"]), 12)
        self.assertEqual(sorted(path.name for path in (self.out / "traces").iterdir()),
                         ["a_yaw-k1.jsonl", "a_yaw-k3.jsonl"])
        self.assertEqual(len(list((self.out / "figures").glob("stall_*.png"))), 6)
        sets = {json.loads(path.read_text())["k"] for path in (self.out / "replays").iterdir()}
        self.assertEqual(sets, {1, 2, 3})

    def test_a_folder_of_somebody_else_is_refused(self):
        self.out.mkdir()
        (self.out / "thesis.txt").write_text("mine")
        self.sweep(expect=2)
        self.assertEqual([path.name for path in self.out.iterdir()], ["thesis.txt"])

    def test_overwriting_leaves_nothing_of_the_old_sweep(self):
        self.sweep("--no-figures")
        old = set((self.out / "replays").iterdir())
        self.sweep("--no-figures", repeats=2, bandwidths=["0.2GB/s", "0.25GB/s", "1GB/s"])
        new = set((self.out / "replays").iterdir())
        self.assertEqual(len(new), 12)
        self.assertFalse(old & new)

    def test_another_experiment_is_not_replaced(self):
        self.sweep("--no-figures")
        before = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}
        for word, changes in (("another experiment, \"try\"", {"name": "other"}),
                              ("in the virtual world", {"world": "model"}),
                              ("a_yaw with prefetch at 0.2GB/s", {"arms": ["on_demand"]}),
                              ("at 0.25GB/s", {"bandwidths": ["0.2GB/s", "1GB/s"]}),
                              ("4 replays", {"traces": ["b1_ws"]}),
                              ("4 replays", {"codecs": ["bf16"]}), ("4 replays", {"k": [1]})):
            for more in ([], ["--resume"]):
                with self.subTest(**changes):
                    done = self.sweep("--no-figures", *more, expect=2, **changes)
                    text = done.stderr.splitlines()[-1]
                    self.assertIn(word, text)
                    self.assertIn(str(self.out), text)
                    self.assertIn("name a new folder", text)
                    self.assertEqual(before, {path: path.read_bytes()
                                              for path in self.out.rglob("*") if path.is_file()})
        self.sweep("--no-figures", repeats=2)
        self.sweep("--no-figures", "--repeats", "1", repeats=2, expect=2)

    def test_a_copy_of_a_folder_is_still_another_experiments(self):
        self.sweep("--no-figures")
        copy = self.folder / "copy"
        shutil.copytree(self.out, copy)
        done = run("sweep", "smoke", "--no-figures", "--out", copy)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(list((copy / "replays").iterdir())), 4)

    def test_resume_keeps_what_fits_and_only_that(self):
        self.sweep("--no-figures")
        documents = sorted((self.out / "replays").iterdir())
        documents[0].unlink()
        documents[1].write_text(documents[1].read_text().replace('"stall_ns": 0', '"stall_ns": 1'))
        before = {path: path.stat().st_ino for path in documents[1:]}
        self.sweep("--no-figures", "--resume")
        self.assertTrue(documents[0].exists())
        self.assertNotEqual(documents[1].stat().st_ino, before[documents[1]])
        for path in documents[2:]:
            self.assertEqual(path.stat().st_ino, before[path])
        self.sweep("--no-figures", "--resume", "--frames", "40")
        for path in documents[2:]:
            self.assertNotEqual(path.stat().st_ino, before[path])

    def test_dry_run_touches_nothing(self):
        done = self.sweep("--dry-run")
        self.assertIn("4 replays", done.stderr)
        self.assertFalse(self.out.exists())

    def test_bad_experiments(self):
        for changes, word in [({"arms": []}, "arms"), ({"bandwidths": ["0.25"]}, "bandwidth"),
                              ({"bandwidths": ["0GB/s"]}, "bandwidth"), ({"color": 1}, "color"),
                              ({"bandwidths": ["1GB/s", "1000MB/s"]}, "same"), ({"k": [0]}, "k"),
                              ({"arms": ["prefetch", "prefetch"]}, "twice"),
                              ({"world": "dream"}, "world"), ({"codecs": ["zip"]}, "zip"),
                              ({"traces": None}, "traces"), ({"repeats": 0}, "repeats")]:
            with self.subTest(**changes):
                done = self.sweep(expect=2, **changes)
                self.assertIn(word, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertFalse(self.out.exists())

    def test_what_a_replay_would_refuse_is_refused_before_the_first(self):
        for word, changes in (
                ("arms: 'psychic' is none of", {"arms": ["prefetch", "psychic"]}),
                ("codecs: 'zip' is none of", {"codecs": ["int4", "zip"]}),
                ("residency: 'q'", {"residency": "q"}), ("positions: 'q'", {"positions": "q"}),
                ("hints", {"hints": "zz"}), ("scale: ", {"scale": "2"}),
                ("copy_rate: ", {"copy_rate": "5"}), ("throttle: 'q'", {"throttle": "q"}),
                ("MAJ:MIN", {"throttle_device": "x"}), ("nosuch", {"model": "nosuch"}),
                ("nosuch", {"machine": "nosuch"}), ("nosuch", {"drive": "nosuch"}),
                ("frames: ", {"frames": 0}), ("staging_blocks: ", {"staging_blocks": 5000}),
                ("bandwidths: at 1 B/s", {"bandwidths": ["1GB/s", "1B/s"]}),
                ("throttle: --throttle needs", {"throttle": "bucket"}),
                ("positions: --positions needs", {"positions": "native"}),
                ("drive: --drive needs", {"world": "model", "drive": "ideal"})):
            for more in ([], ["--dry-run"]):
                with self.subTest(word, more=more):
                    done = self.sweep("--no-figures", *more, expect=2, **changes)
                    self.assertIn(f"{self.folder}/try.json: ", done.stderr)
                    self.assertIn(word, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertFalse(self.out.exists())
        # What the user gave is the option's fault, not the file's.
        for words, word in ((["--throttle", "foo"], "worldpager: --throttle: 'foo'"),
                            (["--throttle-device", "x"], "worldpager: --throttle-device"),
                            (["--scale", "2"], "worldpager: --scale"),
                            (["--throttle", "bucket"], "worldpager: --throttle needs"),
                            (["--store", self.folder], "worldpager: --store needs")):
            with self.subTest(words):
                self.assertIn(word, self.sweep("--no-figures", *words, expect=2).stderr)
                self.assertFalse(self.out.exists())

    def test_a_place_that_cannot_be_made(self):
        for out, options in ((Path("/proc/worldpager/out"), ["--no-figures"]),
                             (self.experiment() / "out", ["--dry-run"])):
            self.out = out
            done = self.sweep(*options, expect=4)
            (line,) = [line for line in done.stderr.splitlines() if line.startswith("worldpager")]
            self.assertIn(str(out.parent), line)

    def test_a_missing_trace(self):
        self.sweep(expect=4, traces=["nowhere"])

    def test_without_gnuplot(self):
        environment = dict(os.environ, PATH=str(self.folder))
        done = run("sweep", self.experiment(), "--out", self.out, env=environment)
        self.assertEqual(done.returncode, 3)
        self.assertIn("gnuplot-nox", done.stderr)
        self.sweep("--no-figures")
        done = run("plot", self.out, env=environment)
        self.assertEqual(done.returncode, 3)
        self.assertFalse((self.out / "figures").exists())

    def test_a_gnuplot_that_fails_leaves_the_old_figures(self):
        self.sweep()
        fake = self.folder / "gnuplot"
        fake.write_text("#!/bin/sh\necho no terminal >&2; exit 1\n")
        fake.chmod(0o755)
        before = {path: path.read_bytes() for path in (self.out / "figures").iterdir()}
        done = run("plot", self.out, env=dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"))
        self.assertEqual(done.returncode, 4)
        self.assertIn("no terminal", done.stderr)
        self.assertEqual(before, {path: path.read_bytes()
                                  for path in (self.out / "figures").iterdir()})

    def test_hostile_names_are_only_text(self):
        original = (ROOT / "traces" / "a_yaw.jsonl").read_text().split("\n", 1)
        self.assertIn('"a_yaw"', original[0])
        for name in HOSTILE:
            with self.subTest(name=name):
                shutil.rmtree(self.out, ignore_errors=True)
                self.sweep("--no-figures")
                self.rename_trace(name)
                done = run("plot", self.out)
                self.assertIn(done.returncode, (0,), done.stderr)
                pictures = list((self.out / "figures").glob("stall_*.png"))
                self.assertEqual(len(pictures), 1)
                self.assertTrue(pictures[0].stat().st_size)

    def rename_trace(self, name):
        # The name is no figure: the digest does not cover it.
        for path in (self.out / "replays").iterdir():
            document = json.loads(path.read_text())
            document["trace"]["name"] = name
            path.write_text(json.dumps(document))

    def test_results_that_lie_are_refused(self):
        self.sweep("--no-figures")
        path = next((self.out / "replays").iterdir())
        good = path.read_text()
        for change, word in [(lambda d: d.pop("scale"), "scale"),
                             (lambda d: d["summary"]["stall_ns"].update(p50=0), "digest"),
                             (lambda d: d["frames"].pop(), "frames")]:
            document = json.loads(good)
            document["summary"]["stall_ns"]["p50"] += 0
            change(document)
            if word == "digest":
                document["summary"]["stall_ns"]["min"] = 0
            path.write_text(json.dumps(document))
            done = run("plot", self.out)
            self.assertEqual(done.returncode, 4)
            self.assertIn(word, done.stderr)
        path.write_text("{")
        self.assertEqual(run("plot", self.out).returncode, 4)
        self.assertEqual(run("plot", self.folder / "nothing").returncode, 4)

    def test_an_index_leads_nowhere_else(self):
        self.sweep("--no-figures")
        index = self.index()
        index["points"][0]["document"] = "replays/../../try.json"
        (self.out / "index.json").write_text(json.dumps(index))
        self.assertEqual(run("plot", self.out).returncode, 4)

    def test_folders_are_laid_over_each_other(self):
        both = self.folder / "both"
        for part, bandwidths in [("one", ["0.2GB/s"]), ("two", ["0.25GB/s"])]:
            self.out = both / part
            self.sweep("--no-figures", bandwidths=bandwidths)
        self.assertEqual(run("plot", both).returncode, 0)
        data = (both / "figures/stall_a_yaw.dat").read_text()
        self.assertIn("0.2 1292.5", data)
        self.assertIn("0.25 1034.0", data)

    def test_runs_that_differ_say_by_how_much(self):
        ideal = json.loads((ROOT / "configs/drives/ideal.json").read_text())
        drive = self.folder / "drive.json"
        for latency_ns, unsteady in ((2_000_000, False), (80_000_000, True)):
            both = self.folder / f"both-{latency_ns}"
            both.mkdir()
            for part, read_latency_ns in (("a", 0), ("b", latency_ns)):
                drive.write_text(json.dumps({**ideal, "read_latency_ns": read_latency_ns}))
                self.out = both / part
                # So late at times that a claim does not hold.
                self.sweep("--no-figures", "--frames", "30", drive=str(drive), repeats=2,
                           expect=int(read_latency_ns > 10_000_000))
            run("plot", both)
            row = next(line for line in (both / "summary.md").read_text().splitlines()
                       if line.startswith("| 0.25 ") and "on\\_demand" in line)
            # The same twice, and later twice: as far from the mean each.
            told = re.search(r"4 runs: p50 (\S+) to (\S+), CV (\S+) %", row)
            least, most, cv = map(float, told.groups())
            self.assertAlmostEqual(least, 1034.0, delta=0.1)
            self.assertGreater(most, least)
            spread = (most - least) / 2 * (4 / 3) ** 0.5
            self.assertAlmostEqual(cv, 100 * spread / ((most + least) / 2), delta=0.1)
            self.assertEqual("unsteady" in row, unsteady, row)

    def test_a_signal_leaves_a_true_folder(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            shutil.rmtree(self.out, ignore_errors=True)
            experiment = self.experiment(repeats=200)
            process = subprocess.Popen([PROGRAM, "sweep", experiment, "--out", self.out],
                                       stderr=subprocess.PIPE, text=True)
            while process.poll() is None and not any((self.out / "replays").glob("*.json")):
                time.sleep(0.01)
            process.send_signal(number)
            _, text = process.communicate()
            self.assertEqual(process.returncode, 130, text)
            index = self.index()
            self.assertTrue(index["interrupted"])
            kept = {point["document"] for point in index["points"] if point["document"]}
            there = {f"replays/{path.name}" for path in (self.out / "replays").iterdir()}
            self.assertEqual(kept, there)
            self.assertEqual(run("plot", self.out).returncode, 0)
            self.assertIn("Not complete", (self.out / "summary.md").read_text())

    def test_help(self):
        for verb in ("sweep", "plot"):
            self.assertEqual(run(verb, "--help").returncode, 0)
            self.assertEqual(run(verb, "--no-such-option").returncode, 2)
            self.assertEqual(run(verb).returncode, 2)


if __name__ == "__main__":
    unittest.main()
