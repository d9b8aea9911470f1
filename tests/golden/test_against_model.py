#!/usr/bin/env python3
"""`worldpager replay` in the virtual world against the independent model.

Every frame's stall and the sums are compared, on the committed trajectories and on
drawn ones, for every arm, several rates, k = 1, 2 and 3 and both codecs. Trajectories
are walked by `trace make`, and its poses and sets are compared too.

The seed of the drawn trajectories is printed; `test_against_model.py --seed N` repeats it.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import golden  # noqa: E402
import model  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
SEED = 1
RATES = [100_000_000, 215_000_000, 250_000_000, 700_000_000]
KEYS = ["w", "s", "a", "d", "left", "right", "up", "down"]


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def has_verb(verb):
    try:
        done = subprocess.run([PROGRAM, verb, "--help"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def config(name, k, actions, frames=160):
    return {
        "name": name,
        "origin": "reconstructed",
        "frames": frames,
        "video_frames_per_frame": 12,
        "camera_degrees_per_video_frame": 1.5,
        "walk_metres_per_video_frame": 0.1235,
        "k": k,
        "exclude_recent": 2,
        "actions": actions,
    }


def drawn(seed, k):
    """A script with diagonals, turns while walking, pitch and odd lengths."""
    draw = random.Random(seed)
    actions = [
        {
            "do": draw.sample(KEYS, draw.randint(1, 3)) if draw.random() < 0.9 else "hold",
            "video_frames": draw.choice([5, 12, 30, 60]),
        }
        for _ in range(draw.randint(2, 8))
    ]
    return config(f"drawn_{seed}", k, actions, frames=90)


def trajectories():
    known = golden.ACTIONS
    yield config("a_yaw", 2, known["a_yaw"])
    yield config("b1_ws", 2, known["b1_ws"])
    yield config("a_yaw_k1", 1, known["a_yaw"])
    yield config("b1_ws_k1", 1, known["b1_ws"])
    yield config("b1_ws_k3", 3, known["b1_ws"])
    for i in range(3):
        yield drawn(SEED + i, k=1 + i)


@unittest.skipUnless(has_verb("trace") and has_verb("replay"), "the program has no replay")
class AgainstModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.traces = {}
        for number, wanted in enumerate(trajectories()):
            script = Path(cls.folder.name) / f"{number}.json"
            trace = script.with_suffix(".jsonl")
            script.write_text(json.dumps(wanted), encoding="utf-8")
            run("trace", "make", "--trajectory", str(script), "--out", str(trace))
            cls.traces[wanted["name"]] = (wanted, trace)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_traces(self):
        for name, (wanted, path) in self.traces.items():
            made, walked = model.read_trace(path), model.make_trajectory(wanted)
            self.assertEqual(len(made["frame_list"]), wanted["frames"])
            for c, (ours, theirs) in enumerate(zip(walked["frame_list"], made["frame_list"])):
                with self.subTest(trajectory=name, frame=c):
                    for part in ("pose", "end"):
                        for a, b in zip(ours[part], theirs[part]):
                            self.assertLessEqual(abs(a - b), 1.5e-6)
                    pose, exclude = theirs["pose"], wanted["exclude_recent"]
                    chosen = model.retrieve(made["frame_list"], c, pose, wanted["k"], exclude)
                    self.assertEqual(theirs["retrieved"], chosen)

    def compare(self, path, arm, rate, codec):
        replayed = json.loads(
            run("replay", "--trace", str(path), "--arm", arm, "--bandwidth", f"{rate}B/s",
                "--world", "virtual", "--copy-rate", "unlimited", "--codec", codec,
                "--warmup", "20", "--json", "-")
        )
        trace = model.read_trace(path)
        expected = model.replay(trace, arm, rate, codec=codec)
        alone = model.replay(trace, "on_demand", rate, codec=codec)
        read_ns = replayed["read_bytes"] * 1e9 / rate if model.ARMS[arm][2] else 0.0
        self.assertEqual(len(replayed["frames"]), len(expected))
        for ours, most, theirs in zip(expected, alone, replayed["frames"]):
            slack_ns = 0.001 * float(most["stall_ns"]) + read_ns
            self.assertLessEqual(abs(theirs["stall_ns"] - float(ours["stall_ns"])), slack_ns,
                                 f"frame {ours}: {theirs}")
            self.assertEqual(theirs["missed"], ours["missed"], f"frame {ours}: {theirs}")
        stalled = sum(frame["stall_ns"] > 0 or frame["missed"] > 0 for frame in expected[20:])
        slack_ns = 0.001 * float(model.summary(alone)["sum"]) + read_ns * stalled
        found_ns = replayed["summary"]["stall_ns"]["sum"]
        self.assertLessEqual(abs(found_ns - float(model.summary(expected)["sum"])), slack_ns)

        self.compare_bounds(replayed, expected)

    def compare_bounds(self, replayed, expected):
        """Both bounds, worked out here from sets and hints; no run is below either."""
        block_ns = replayed["block_bytes"] * 1e9 / replayed["throttle"]["asked_bytes_per_s"]
        most, least = replayed["staging_blocks"], {"told": [], "hinted": []}
        for frame in expected[20:]:
            n = len(frame["retrieved"])
            for case, known in (("told", n), ("hinted", n - frame["missed"])):
                late = n - min(known, most)
                least[case].append(max(late * block_ns, n * block_ns - model.COMPUTE_NS, 0.0))
        for case, stalls in least.items():
            bound, stall = replayed["summary"]["lower_bound"][case], replayed["summary"]["stall_ns"]
            self.assertLessEqual(abs(bound["sum_ns"] - sum(stalls)), len(stalls))
            self.assertLessEqual(abs(bound["max_ns"] - max(stalls)), 1)
            self.assertGreaterEqual(stall["sum"], bound["sum_ns"])
            self.assertGreaterEqual(stall["max"], bound["max_ns"])

    def test_replays(self):
        for name, (_, path) in self.traces.items():
            for arm in model.ARMS:
                for rate in RATES:
                    with self.subTest(trajectory=name, arm=arm, rate=rate):
                        self.compare(path, arm, rate, "int4")

    def test_bf16(self):
        for name in ("a_yaw", "b1_ws"):
            for arm in model.ARMS:
                for rate in (700_000_000, 1_000_000_000):
                    with self.subTest(trajectory=name, arm=arm, rate=rate):
                        self.compare(self.traces[name][1], arm, rate, "bf16")

    def test_golden_table(self):
        """The table itself, from the program: what the model stands for."""
        for row in golden.TABLE:
            for expectation in golden.expectations(row):
                name, arm = expectation["trace"], expectation["arm"]
                with self.subTest(rate=row.rate, **expectation):
                    self.check_golden(row, name, arm, expectation)

    def check_golden(self, row, name, arm, expectation):
        document = json.loads(
            run("replay", "--trace", str(self.traces[name][1]), "--arm", arm,
                "--bandwidth", f"{row.rate}B/s", "--world", "virtual",
                "--copy-rate", "unlimited", "--json", "-")
        )
        read_ms = document["read_bytes"] * 1e3 / row.rate if model.ARMS[arm][2] else 0.0
        missed = sum(frame["missed"] > 0 for frame in document["frames"][20:])
        for key in ("p50", "max", "sum"):
            if key not in expectation:
                continue
            slack_ms = golden.slack_ms(row, key) + read_ms * (missed if key == "sum" else 1)
            found_ms = document["summary"]["stall_ns"][key] / 1e6
            self.assertLessEqual(abs(found_ms - expectation[key]), slack_ms, key)


if __name__ == "__main__":
    if "--seed" in sys.argv:
        at = sys.argv.index("--seed")
        SEED = int(sys.argv[at + 1])
        del sys.argv[at : at + 2]
    print(f"seed {SEED}", flush=True)
    unittest.main()
