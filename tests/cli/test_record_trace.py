"""scripts/record_trace.py: what it writes is a trace, and what is no trace it refuses."""

import importlib.util
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("WORLDPAGER", os.path.join(ROOT, "build", "worldpager"))
SCRIPT = os.path.join(ROOT, "scripts", "record_trace.py")

SPEC = importlib.util.spec_from_file_location("record_trace", SCRIPT)
record_trace = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(record_trace)
TraceError = record_trace.TraceError

HEADER = {"name": "session", "model": "mg2", "k": 2, "exclude_recent": 2,
          "video_frames_per_frame": 12, "made_by": "test_record_trace"}
CRASHING = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("record_trace", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
trace = module.TraceRecorder(sys.argv[2], name="crash", model="mg2", k=2, exclude_recent=2,
                             video_frames_per_frame=12, made_by="a test")
while True:
    trace.frame(retrieved=[max(0, trace.frames - 3)] if trace.frames > 3 else [])
    os.write(1, b".")
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "session.jsonl")

    def recorder(self, **changes):
        return record_trace.TraceRecorder(self.path, **{**HEADER, **changes})

    def tool(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def assert_valid(self, frames):
        result = self.tool("trace", "validate", self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f", {frames} frame{'' if frames == 1 else 's'},", result.stderr)
        self.assertEqual(os.listdir(self.folder), ["session.jsonl"])

    def lines(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read().splitlines()


class Written(Case):
    def test_committed_traces_again(self):
        """Frames of a trace, recorded once more, are the same bytes."""
        for name in ("a_yaw", "mixed"):
            with open(os.path.join(ROOT, "traces", name + ".jsonl"), encoding="utf-8") as file:
                header, *frames = file.read().splitlines()
            with self.recorder(made_by=json.loads(header)["made_by"]) as trace:
                for line in frames:
                    frame = json.loads(line)
                    trace.frame(frame["retrieved"], pose=frame["pose"], end=frame["end"])
            self.assertEqual(self.lines()[1:], frames, name)
            self.assert_valid(len(frames))
            os.unlink(self.path)

    def test_poses_of_a_walk(self):
        """Poses of video frames become the pose and end that `trace make` gives."""
        with open(os.path.join(ROOT, "traces", "b1_ws.jsonl"), encoding="utf-8") as file:
            frames = [json.loads(line) for line in file.read().splitlines()[1:]]
        at = 0.0
        with self.recorder(camera_degrees_per_video_frame=1.5,
                           walk_metres_per_video_frame=0.1235) as trace:
            for number, frame in enumerate(frames):
                poses = []
                for _ in range(12):
                    at += 0.1235 if number // 5 % 2 == 0 else -0.1235
                    poses.append([0, 0, at, 0, 0])
                trace.frame(frame["retrieved"], poses=poses)
        made = [json.loads(line) for line in self.lines()[1:]]
        self.assertEqual(made, frames)
        self.assert_valid(160)
        info = json.loads(self.tool("trace", "info", self.path, "--json", "-").stdout)
        self.assertEqual((info["origin"], info["rule_frames_equal"]), ("recorded", 160))
        played = [json.loads(self.tool("replay", "--trace", path, "--arm", "prefetch",
                                       "--bandwidth", "0.25GB/s", "--json", "-").stdout)
                  for path in (self.path, "b1_ws")]
        self.assertEqual(played[0]["frames"], played[1]["frames"])
        self.assertEqual(played[0]["trace"]["origin"], "recorded")

    def test_all_keys(self):
        rule = {"name": "pose_distance", "translation_weight": 0.25, "tie": 1e-9}
        with self.recorder(rule=rule, made_by='quotes " \\ and ünïcödé') as trace:
            for i in range(6):
                self.assertEqual(trace.frames, i)
                trace.frame(range(max(0, i - 2), i), compute_ns=1200000000 + i,
                            hints=range(i), poses=iter([(0, 1, 2, 3.25, -4)] * 3)
                            if i == 0 else [[-1e-9, -0.0, 1e8, 370, 0]])
        self.assert_valid(6)
        header, *frames = map(json.loads, self.lines())
        self.assertEqual((header["origin"], header["frames"]), ("recorded", 6))
        self.assertEqual(header["rule"], rule)
        self.assertEqual(header["made_by"], 'quotes " \\ and ünïcödé')
        self.assertEqual(frames[5]["hints"], [0, 1, 2, 3, 4])
        self.assertEqual(frames[5]["compute_ns"], 1200000005)
        self.assertNotIn("-0.000000", self.lines()[2])

    def test_streamed(self):
        """Every frame is in the file when its call returns, and nothing is at the path before."""
        trace = self.recorder()
        for i in range(5):
            trace.frame([])
            with open(self.path + ".partial", encoding="utf-8") as file:
                self.assertEqual(len(file.read().splitlines()), i + 2)
            self.assertFalse(os.path.exists(self.path))
        trace.close()
        trace.close()
        self.assert_valid(5)
        with self.assertRaisesRegex(TraceError, "closed"):
            trace.frame([])

    def test_integers_of_other_libraries(self):
        class Integer:
            def __init__(self, value):
                self.value = value

            def __index__(self):
                return self.value

        with self.recorder(k=Integer(2)) as trace:
            trace.frame([])
            trace.frame((Integer(0),), compute_ns=Integer(5))
        self.assert_valid(2)


class Refused(Case):
    def test_headers(self):
        for changes, text in (
                ({"name": "a/b"}, "name: 'a/b' may hold"), ({"name": ".a"}, "name:"),
                ({"name": ""}, "name:"), ({"name": "x" * 64}, "name: 64 bytes, at most 63"),
                ({"model": "x" * 64}, "model:"), ({"model": 3}, "model:"),
                ({"made_by": "a\nb"}, "control characters"), ({"made_by": "\ud800"}, "Unicode"),
                ({"made_by": "ü" * 512}, "made_by: 1024 bytes"), ({"k": 0}, "k: 0 is out of"),
                ({"k": 65}, "k: 65"), ({"k": 2.0}, "k: 2.0 is not a whole"),
                ({"k": True}, "k: True"), ({"exclude_recent": -1}, "exclude_recent: -1"),
                ({"video_frames_per_frame": 0}, "video_frames_per_frame: 0"),
                ({"camera_degrees_per_video_frame": 1.5}, "both or neither"),
                ({"camera_degrees_per_video_frame": math.nan,
                  "walk_metres_per_video_frame": 1}, "camera_degrees_per_video_frame: nan"),
                ({"rule": {"name": "nearest"}}, "pose_distance"),
                ({"rule": {"name": "pose_distance", "weight": 1}}, "unknown key 'weight'"),
                ({"rule": {"name": "pose_distance", "tie": 0}}, "rule.tie: 0")):
            with self.assertRaises(TraceError, msg=changes) as caught:
                self.recorder(**changes)
            self.assertIn(text, str(caught.exception))
            self.assertEqual(os.listdir(self.folder), [], changes)

    def test_frames(self):
        pose = [0, 0, 0, 0, 0]
        trace = self.recorder()
        trace.frame([], pose=pose, end=pose)
        trace.frame([0], pose=pose, end=pose)
        trace.frame([1, 0], pose=pose, end=pose)
        for arguments, text in (
                (dict(retrieved=[3]), "block 3 is used in frame 3, before it exists"),
                (dict(retrieved=[-1]), "retrieved[0]: -1 is out of range"),
                (dict(retrieved=[0, 0]), "appears twice in [0, 0]"),
                (dict(retrieved=[0, 1, 2]), "retrieved: 3 blocks, at most 2"),
                (dict(retrieved=[1.0]), "retrieved[0]: 1.0 is not a whole number"),
                (dict(retrieved=[True]), "retrieved[0]: True"),
                (dict(retrieved={0, 1}), "is not a list of blocks"),
                (dict(retrieved="01"), "is not a list of blocks"),
                (dict(retrieved=None), "retrieved: None is not a list"),
                (dict(retrieved=[], hints=[3]), "hints: block 3"),
                (dict(retrieved=[], hints=[0, 0]), "hints: a block appears twice"),
                (dict(retrieved=[], compute_ns=0), "compute_ns: 0 is out of range"),
                (dict(retrieved=[], compute_ns=1.2e9), "compute_ns: 1200000000.0 is not a whole"),
                (dict(retrieved=[], compute_ns=10 ** 16), "compute_ns:"),
                (dict(retrieved=[], pose=None, end=pose), "both or neither"),
                (dict(retrieved=[], pose=[0] * 4), "pose: [0, 0, 0, 0] is not [x, y, z, yaw"),
                (dict(retrieved=[], pose=[0, 0, 0, 0, math.inf]), "pose[4]: inf"),
                (dict(retrieved=[], pose=[0, math.nan, 0, 0, 0]), "pose[1]: nan"),
                (dict(retrieved=[], pose=[0, 0, 2e8, 0, 0]), "pose[2]: 200000000.0"),
                (dict(retrieved=[], pose=["0", 0, 0, 0, 0]), "pose[0]: '0'"),
                (dict(retrieved=[], pose=7), "pose: 7 is not [x, y"),
                (dict(retrieved=[], poses=[]), "stands instead"),
                (dict(retrieved=[], pose=None, end=None, poses=[]), "not a list of [x, y"),
                (dict(retrieved=[], pose=None, end=None, poses=[[0, 0]]), "not a list of [x, y"),
                (dict(retrieved=[], pose=None, end=None, poses=4), "not a list of [x, y"),
                (dict(retrieved=[], pose=None, end=None), "has no pose, unlike the frames")):
            with self.assertRaises(TraceError, msg=arguments) as caught:
                trace.frame(**{"pose": pose, "end": pose, **arguments})
            self.assertIn(text, str(caught.exception))
            self.assertEqual(trace.frames, 3)
        trace.frame([2], pose=pose, end=pose)  # nothing of all that was written
        trace.close()
        self.assert_valid(4)

    def test_pose_from_the_second_frame_on(self):
        trace = self.recorder()
        trace.frame([])
        with self.assertRaisesRegex(TraceError, "frame 1: has a pose, unlike"):
            trace.frame([], pose=[0] * 5, end=[0] * 5)
        trace.abandon()
        trace.abandon()
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_frame(self):
        with self.assertRaisesRegex(TraceError, "no frame was recorded"):
            self.recorder().close()

    def test_never_over_something(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("old")
        with self.assertRaisesRegex(TraceError, "is there already"):
            self.recorder()
        os.unlink(self.path)
        first = self.recorder()
        with self.assertRaisesRegex(TraceError, "an earlier recording was not finished"):
            self.recorder()
        first.frame([])
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("new")
        with self.assertRaisesRegex(TraceError, "is there already; the recording is in"):
            first.close()
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "new")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["session.jsonl", "session.jsonl.partial"])

    def test_random_calls_agree_with_the_validator(self):
        """Whatever is accepted is a valid trace; half of the calls are wrong on purpose."""
        for seed in range(4):
            draw = random.Random(seed)
            odd = [-1, 2 ** 70, 0.5, None, "1", True, [], math.nan]
            poses = draw.random() < 0.5
            k = draw.randrange(1, 65)
            accepted = refused = 0
            with self.recorder(k=k) as trace:
                for _ in range(300):
                    past = draw.sample(range(trace.frames + draw.randrange(2)),
                                       min(trace.frames, draw.randrange(k + 2)))
                    arguments = {"retrieved": past}
                    if draw.random() < (0.98 if poses else 0.02):
                        arguments["poses"] = [[draw.uniform(-1e8, 1e8) for _ in range(5)]
                                              for _ in range(draw.randrange(1, 13))]
                    if draw.random() < 0.3:
                        arguments["compute_ns"] = draw.randrange(1, 10 ** 15)
                    if draw.random() < 0.2:
                        arguments[draw.choice(["retrieved", "compute_ns", "hints", "pose"])] = \
                            draw.choice([draw.choice(odd), [draw.choice(odd)]])
                    try:
                        trace.frame(**arguments)
                        accepted += 1
                    except TraceError:
                        refused += 1
            self.assertGreater(accepted, 20)
            self.assertGreater(refused, 20)
            self.assert_valid(accepted)
            os.unlink(self.path)


class Interrupted(Case):
    def finish(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, "finish", *arguments], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_exception_in_the_loop(self):
        with self.assertRaises(ZeroDivisionError):
            with self.recorder() as trace:
                trace.frame([])
                trace.frame([0])
                1 / 0  # pylint: disable=pointless-statement
        self.assertEqual(os.listdir(self.folder), ["session.jsonl.partial"])
        result = self.finish(self.path + ".partial")
        self.assertEqual((result.returncode, result.stderr), (0, f"{self.path}: 2 frames\n"))
        self.assert_valid(2)

    def test_killed(self):
        process = subprocess.Popen([sys.executable, "-c", CRASHING, SCRIPT, self.path],
                                   stdout=subprocess.PIPE)
        told = process.stdout.read(200)
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read()
        process.stdout.close()
        process.wait()
        result = self.finish(self.path + ".partial")
        self.assertEqual(result.returncode, 0, result.stderr)
        frames = len(self.lines()) - 1
        self.assertIn(frames, (len(told), len(told) + 1))
        self.assert_valid(frames)

    @unittest.mock.patch("os.fsync")  # hundreds of them would only wait for the disk
    def test_cut_at_every_byte(self, _):
        with self.assertRaises(KeyboardInterrupt):
            with self.recorder() as trace:
                for i in range(4):
                    trace.frame([0] if i else [])
                raise KeyboardInterrupt
        with open(self.path + ".partial", "rb") as file:
            whole = file.read()
        partial = os.path.join(self.folder, "cut.partial")
        for size in range(len(whole) + 1):
            with open(partial, "wb") as file:
                file.write(whole[:size])
            out = os.path.join(self.folder, "cut")
            frames = max(0, whole[:size].count(b"\n") - 1)
            if frames:
                record_trace._finish(partial, out)  # pylint: disable=protected-access
                with open(out, "rb") as file:
                    header, *lines = file.read().splitlines(keepends=True)
                self.assertEqual(json.loads(header)["frames"], frames)
                self.assertEqual(lines, whole.splitlines(keepends=True)[1:frames + 1])
                os.unlink(out)
            else:
                with self.assertRaises(TraceError):
                    record_trace._finish(partial, out)  # pylint: disable=protected-access
                self.assertTrue(os.path.exists(partial))
            self.assertFalse(os.path.exists(out + ".new"))

    def test_full_disk(self):
        """A line that could not be written whole ends the recording; the frames before it stay."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        trace = self.recorder()
        trace.frame([])
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = os.path.getsize(self.path + ".partial")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limit[1]))
        try:
            with self.assertRaises(OSError):
                trace.frame([0])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        with self.assertRaisesRegex(TraceError, "closed"):
            trace.frame([0])
        self.assertEqual(self.finish(self.path + ".partial").returncode, 0)
        self.assert_valid(1)

    def test_finish_refuses(self):
        other = os.path.join(self.folder, "other.partial")
        for text in ("", "{}\n", "[1]\n", "nonsense\n", '{"format":"worldpager-trace"}\n',
                     '{"format":"worldpager-trace","version":1}\n{"frame":1,"retrieved":[]}\n'):
            with open(other, "w", encoding="utf-8") as file:
                file.write(text)
            result = self.finish(other)
            self.assertEqual((result.returncode, result.stdout), (4, ""), text)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertEqual(os.listdir(self.folder), ["other.partial"])
        self.assertEqual(self.finish(os.path.join(self.folder, "missing.partial")).returncode, 4)
        self.assertEqual(self.finish(self.path).returncode, 2)
        self.assertEqual(self.finish("--help").returncode, 0)


class Size(Case):
    def test_a_long_session(self):
        """An hour of generating is less than a megabyte."""
        with self.recorder() as trace:
            for i in range(3000):
                trace.frame([i - 5, i - 9] if i >= 9 else [], compute_ns=1200000000,
                            poses=[[0.1 * i, 0, 1, 18.0 * i, 0]] * 12)
        self.assert_valid(3000)
        self.assertLess(os.path.getsize(self.path), 1 << 20)


if __name__ == "__main__":
    unittest.main()
