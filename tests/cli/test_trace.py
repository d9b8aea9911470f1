"""worldpager trace: regeneration byte for byte, descriptions, messages and exit codes."""

import gzip
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("WORLDPAGER", os.path.join(ROOT, "build", "worldpager"))
NAMES = ["a_yaw", "b1_ws", "explore_return", "mixed"]
# The sources that a trace's bytes come from, for a second compiler.
MAKERS = ["trace/motion", "trace/retrieval", "trace/trajectory", "trace/trace",
          "trace/trace_write", "trace/trace_keys", "files/json_file", "files/input_file",
          "files/used_files", "system/interrupt", "progress", "tool", "units", "error"]
MAIN = """
#include "harness/trace/trajectory.h"
int main(int argc, char **argv)
{
	struct wp_trajectory trajectory;
	struct wp_trace trace;
	struct wp_error error;

	if (argc != 2 || wp_trajectory_load(&trajectory, argv[1], &error) < 0 ||
	    wp_trajectory_walk(&trajectory, &trace) < 0)
		return 1;
	wp_trace_write(stdout, &trace);
	return 0;
}
"""


def read(*parts):
    with open(os.path.join(ROOT, *parts), "rb") as file:
        return file.read()


class TraceCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_tool(self, *arguments, cwd=ROOT):
        return subprocess.run([PROGRAM, "trace", *arguments], cwd=cwd, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

    def assert_refused(self, status, text, *arguments):
        result = self.run_tool(*arguments)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, status, message)
        self.assertIn(text, message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertEqual(result.stdout, b"")


class Make(TraceCase):
    def test_committed_traces_are_made_again(self):
        for name in NAMES:
            out = self.path(name + ".jsonl")
            result = self.run_tool("make", "--trajectory", name, "--out", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, b"")
            with open(out, "rb") as file:
                self.assertEqual(file.read(), read("traces", name + ".jsonl"), name)

    def test_manifest(self):
        lines = read("traces", "MANIFEST").decode().splitlines()
        listed = dict(reversed(line.split("  ")) for line in lines)
        on_disk = sorted(n for n in os.listdir(os.path.join(ROOT, "traces"))
                         if n.endswith(".jsonl"))
        self.assertEqual(sorted(listed), on_disk)
        for name, digest in listed.items():
            self.assertEqual(hashlib.sha256(read("traces", name)).hexdigest(), digest, name)
            self.assertLess(len(read("traces", name)), 2 << 20)

    def test_other_compilers_and_levels(self):
        main = self.path("main.c")
        with open(main, "w", encoding="utf-8") as file:
            file.write(MAIN)
        sources = [os.path.join(ROOT, "harness", name + ".c") for name in MAKERS]
        tried = 0
        for compiler in ("gcc", "clang"):
            if not shutil.which(compiler):
                continue
            for level in ("-O0", "-O3"):
                binary = self.path("make-" + compiler + level)
                subprocess.run(
                    [compiler, "-std=c11", "-D_GNU_SOURCE", "-I" + ROOT, level,
                     "-ffp-contract=off", '-DWP_VERSION=""', '-DWP_COMMIT=""',
                     '-DWP_DATADIR="/nonexistent"', main, *sources, "-o", binary,
                     "-ljansson", "-lxxhash", "-lm"], check=True)
                tried += 1
                for name in NAMES:
                    config = os.path.join(ROOT, "configs", "trajectories", name + ".json")
                    made = subprocess.run([binary, config], stdout=subprocess.PIPE, check=True)
                    self.assertEqual(made.stdout, read("traces", name + ".jsonl"),
                                     f"{compiler} {level} {name}")
        if not tried:
            self.skipTest("no compiler")

    def test_overrides(self):
        result = self.run_tool("make", "--trajectory", "b1_ws", "--out", "-", "--k", "3",
                               "--frames", "40", "--exclude-recent", "1", "--name", "short")
        self.assertEqual(result.returncode, 0, result.stderr)
        header, *frames = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual((header["name"], header["k"], header["frames"]), ("short", 3, 40))
        self.assertEqual(len(frames), 40)
        self.assertEqual(frames[2]["retrieved"], [0])
        self.assertEqual(len(frames[39]["retrieved"]), 3)

    def test_current_folder_does_not_matter(self):
        os.makedirs(self.path("traces"))
        os.makedirs(self.path("configs/trajectories"))
        for name in ("traces/a_yaw.jsonl", "configs/trajectories/a_yaw.json", "a_yaw"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("not this one\n")
        result = self.run_tool("make", "--trajectory", "a_yaw", "--out", "-", cwd=self.folder)
        self.assertEqual(result.stdout, read("traces", "a_yaw.jsonl"))
        self.assertEqual(self.run_tool("validate", "a_yaw", cwd=self.folder).returncode, 0)

    def test_nothing_half_written(self):
        out = self.path("old.jsonl")
        with open(out, "w", encoding="utf-8") as file:
            file.write("old")
        self.assert_refused(2, "--k: 0 is out of range", "make", "--trajectory", "a_yaw",
                            "--out", out, "--k", "0")
        self.assert_refused(2, "no trajectory \"nonsuch\" (known: a_yaw,", "make",
                            "--trajectory", "nonsuch", "--out", out)
        self.assert_refused(2, "--name: \"a/b\" is not a name", "make", "--trajectory", "a_yaw",
                            "--out", out, "--name", "a/b")
        self.assert_refused(4, "cannot be written", "make", "--trajectory", "a_yaw", "--out",
                            self.path("missing/x.jsonl"))
        self.assertEqual(os.listdir(self.folder), ["old.jsonl"])
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")


    def test_a_long_walk_is_shown_and_can_be_stopped(self):
        out = self.path("old.jsonl")
        with open(out, "w", encoding="utf-8") as file:
            file.write("old")
        for number in (signal.SIGINT, signal.SIGTERM):
            read, terminal = pty.openpty()
            process = subprocess.Popen(
                [PROGRAM, "trace", "make", "--trajectory", "a_yaw", "--frames", "16777216",
                 "--out", out], stdin=subprocess.DEVNULL, stderr=terminal)
            os.close(terminal)
            told = b""
            while not re.search(rb"trace make: \d+ %, .* left", told):
                told += os.read(read, 4096)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=60), 130)
            told += os.read(read, 4096)
            os.close(read)
            self.assertTrue(told.endswith(b"\r\x1b[Kworldpager: interrupted\r\n"), told[-200:])
            self.assertEqual(os.listdir(self.folder), ["old.jsonl"])
            with open(out, encoding="utf-8") as file:
                self.assertEqual(file.read(), "old")

    def test_numbers_out_of_range_are_shown(self):
        with open(os.path.join(ROOT, "configs", "trajectories", "a_yaw.json"), "rb") as file:
            config = json.load(file)
        for key, value, told in (
                ("rule", {"name": "pose_distance", "translation_weight": 1000.5},
                 "rule.translation_weight: 1000.5 is out of range (0 to 1000)"),
                ("rule", {"name": "pose_distance", "tie": 0},
                 "rule.tie: 0 is out of range (1e-12 to 1)"),
                ("walk_metres_per_video_frame", -1e-9,
                 "walk_metres_per_video_frame: -1e-09 is out of range (0 to 1000)")):
            with open(self.path("t.json"), "w", encoding="utf-8") as file:
                json.dump({**config, key: value}, file)
            self.assert_refused(2, "t.json: " + told, "make", "--trajectory",
                                self.path("t.json"), "--out", self.path("t.jsonl"))


class Check(TraceCase):
    def test_a_pose_out_of_range_is_shown(self):
        header, *frames = read("traces", "a_yaw.jsonl").splitlines()
        frame = {**json.loads(frames[0]), "pose": [0, 0, -100000001, 0, 0]}
        with open(self.path("x.jsonl"), "wb") as file:
            file.write(b"\n".join([header, json.dumps(frame).encode(), *frames[1:]]) + b"\n")
        self.assert_refused(4, "x.jsonl:2: pose[2]: -100000001 is out of range (-1e+08 to 1e+08)",
                            "validate", self.path("x.jsonl"))

    def test_info(self):
        result = self.run_tool("info", "b1_ws", "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        info = json.loads(result.stdout)
        self.assertEqual(info["frames"], 160)
        self.assertEqual(info["rule_frames_equal"], 160)
        self.assertEqual(info["hints"]["hold_last"]["frames_missed"], 28)
        self.assertEqual(info["hints"]["alternatives"],
                         {"frames": 140, "frames_missed": 0, "blocks_missed": 0,
                          "list_blocks_max": 6})
        text = self.run_tool("info", "b1_ws")
        self.assertEqual((text.returncode, text.stdout), (0, b""))
        self.assertIn(b"reconstructed", text.stderr)

    def test_info_without_poses(self):
        result = self.run_tool("info", "tests/cases/traces/good/plain.jsonl", "--json", "-")
        info = json.loads(result.stdout)
        self.assertEqual((info["has_poses"], info["rule_frames_equal"]), (False, None))
        self.assertIsNone(info["hints"]["hold_last"])

    def test_validate_looks_at_every_file(self):
        result = self.run_tool("validate", "a_yaw", "tests/cases/traces/bad/frame_twice.jsonl",
                               "mixed")
        self.assertEqual(result.returncode, 4)
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("frame_twice.jsonl:4: frame 1 appears again", lines[1])

    def test_other_kinds_of_files(self):
        with gzip.open(self.path("x.jsonl"), "wb") as file:
            file.write(read("traces", "a_yaw.jsonl"))
        os.mkfifo(self.path("pipe.jsonl"))
        for path, kind in ((self.path("x.jsonl"), "gzip-compressed data"),
                           (self.path("pipe.jsonl"), "a pipe"), (self.folder, "a directory"),
                           ("/dev/null", "a character device"),
                           (PROGRAM, "a program")):
            self.assert_refused(4, f"not a worldpager trace (found {kind})", "validate", path)
        self.assert_refused(4, "cannot open: No such file", "info", self.path("missing.jsonl"))
        self.assert_refused(4, "no trace \"c\"", "info", "c")

    def test_unreadable(self):
        path = self.path("x.jsonl")
        with open(path, "wb") as file:
            file.write(read("traces", "a_yaw.jsonl"))
        os.chmod(path, 0)
        if os.geteuid() == 0:
            self.skipTest("root reads everything")
        self.assert_refused(4, "Permission denied", "info", path)

    def test_usage(self):
        for arguments in ([], ["nonsuch"], ["info"], ["info", "a", "b"], ["make"],
                          ["make", "--out", "x"], ["info", "--nonsuch", "a_yaw"]):
            result = self.run_tool(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, b""), arguments)
            self.assertTrue(result.stderr)
        for arguments in (["--help"], ["make", "--help"], ["info", "--help"],
                          ["validate", "--help"]):
            result = self.run_tool(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, b""), arguments)
            self.assertIn(b"Usage: worldpager trace", result.stdout)

    def test_what_is_walked_was_not_recorded(self):
        with open(os.path.join(ROOT, "configs/trajectories/b1_ws.json"), encoding="utf-8") as file:
            config = json.load(file)
        for origin, expect in (("recorded", 2), ("imported", 2), ("synthetic", 0)):
            config["origin"] = origin
            with open(self.path("walk.json"), "w", encoding="utf-8") as file:
                json.dump(config, file)
            result = self.run_tool("make", "--trajectory", self.path("walk.json"), "--out", "-")
            self.assertEqual(result.returncode, expect, result.stderr)

    def test_many_frames(self):
        """100,000 frames with long lists: memory and time stay in proportion."""
        path = self.path("long.jsonl")
        count = 100000
        header = {"format": "worldpager-trace", "version": 1, "name": "long", "model": "mg2",
                  "origin": "synthetic", "made_by": "test", "frames": count, "k": 4,
                  "exclude_recent": 0, "video_frames_per_frame": 12}
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(header) + "\n")
            for i in range(count):
                past = list(range(max(0, i - 4), i))
                file.write('{"frame":%d,"retrieved":%s}\n' % (i, past))
        result = self.run_tool("validate", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"100000 frames", result.stderr)


if __name__ == "__main__":
    unittest.main()
