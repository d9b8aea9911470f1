#!/usr/bin/env python3
"""Records which past blocks a world model retrieves, as a worldpager trace.

Needs nothing but Python 3.8; copy this file next to the model. One call a frame:

    with TraceRecorder("kitchen.jsonl", name="kitchen", model="mg2", k=2,
                       exclude_recent=2, video_frames_per_frame=12,
                       made_by="MG2 with WorldKV, seed 7") as trace:
        for ...:
            trace.frame(retrieved=ids, poses=poses, compute_ns=elapsed)

Frames are written as they come, into PATH.partial; leaving the block makes them
a trace at PATH. What an interrupted session left is finished by

    python3 record_trace.py finish kitchen.jsonl.partial

traces/README.md describes the format, traces/recording.md where to call this.
"""

import argparse
import json
import math
import operator
import os
import re
import sys

FORMAT, VERSION = "worldpager-trace", 1
K_MAX = 64
HINTS_MAX = 1024
FRAMES_MAX = 1 << 24
COMPUTE_NS_MAX = 10 ** 15
POSE_MAX = 1e8
LINE_BYTES_MAX = 1 << 20
PARTIAL = ".partial"


class TraceError(ValueError):
    """What was handed over is no part of a valid trace. Nothing of it was written."""


def _whole(what, value, least, most):
    """Python's, numpy's and torch's integers; no bool, no float."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TraceError(f"{what}: {value!r} is not a whole number")
    if not least <= number <= most:
        raise TraceError(f"{what}: {number} is out of range ({least} to {most})")
    return number


def _real(what, value, least, most):
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, (bool, str, bytes)) or not least <= number <= most:
        raise TraceError(f"{what}: {value!r} is not a number from {least:g} to {most:g}")
    return number


def _text(what, value, most):
    if not isinstance(value, str) or not value:
        raise TraceError(f"{what}: {value!r} is not a text")
    if any(ord(letter) < 0x20 or ord(letter) == 0x7f for letter in value):
        raise TraceError(f"{what}: {value!r} has control characters")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise TraceError(f"{what}: {value!r} is not valid Unicode") from None
    if size > most:
        raise TraceError(f"{what}: {size} bytes, at most {most}")
    return value


def _name(value):
    _text("name", value, 63)
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", value):
        raise TraceError(f"name: {value!r} may hold letters, digits, _ - and . (not first)")
    return value


def _pose(what, value):
    """[x, y, z, yaw, pitch] as text: six decimals, no -0."""
    try:
        numbers = list(value)
    except TypeError:
        numbers = []
    if isinstance(value, (str, bytes)) or len(numbers) != 5:
        raise TraceError(f"{what}: {value!r} is not [x, y, z, yaw, pitch]")
    numbers = [_real(f"{what}[{i}]", number, -POSE_MAX, POSE_MAX)
               for i, number in enumerate(numbers)]
    texts = [f"{number:.6f}" for number in numbers]
    return "[" + ",".join("0.000000" if text == "-0.000000" else text for text in texts) + "]"


def _poses(poses):
    """A list of lists of five, whatever kind of sequences they came as."""
    try:
        listed = [list(pose) for pose in poses]
    except TypeError:
        listed = []
    if not listed or any(len(pose) != 5 for pose in listed):
        raise TraceError("poses: not a list of [x, y, z, yaw, pitch]")
    return listed


def mean_pose(poses):
    """A frame's pose: the mean of the poses after each of its video frames, part by part."""
    listed = _poses(poses)
    means = []
    for i in range(5):
        total = 0.0  # added up in order; sum() does more than that since Python 3.12
        for pose in listed:
            total += _real(f"poses[][{i}]", pose[i], -POSE_MAX, POSE_MAX)
        means.append(total / len(listed))
    return means


class TraceRecorder:
    """One session, frame by frame; see the head of this file.

    path      where the trace goes; must not exist, nor PATH.partial
    name      of the trace: letters, digits, _ - .
    model     what was run, as in configs/models
    k         most blocks a frame retrieves, 1 to 64
    exclude_recent          most recent blocks that the model's rule leaves out
    video_frames_per_frame  video frames that one frame makes (MG2: 12)
    made_by   how it was made, in words
    camera_degrees_per_video_frame, walk_metres_per_video_frame
              how far one action moves, both or neither; needed by hints that try actions
    rule      {"name": "pose_distance", ...} if the model's rule is the one of traces/README.md

    A call that is refused (TraceError) leaves the recording as it was before.
    """

    def __init__(self, path, *, name, model, k, exclude_recent, video_frames_per_frame, made_by,
                 camera_degrees_per_video_frame=None, walk_metres_per_video_frame=None,
                 rule=None):
        self._header = {
            "format": FORMAT, "version": VERSION, "name": _name(name),
            "model": _text("model", model, 63), "origin": "recorded",
            "made_by": _text("made_by", made_by, 1023), "frames": 0,
            "k": _whole("k", k, 1, K_MAX),
            "exclude_recent": _whole("exclude_recent", exclude_recent, 0, FRAMES_MAX),
        }
        if rule is not None:
            self._header["rule"] = _rule(rule)
        self._header["video_frames_per_frame"] = _whole(
            "video_frames_per_frame", video_frames_per_frame, 1, 1000)
        if (camera_degrees_per_video_frame is None) != (walk_metres_per_video_frame is None):
            raise TraceError("camera_degrees_per_video_frame and walk_metres_per_video_frame: "
                             "both or neither")
        if camera_degrees_per_video_frame is not None:
            self._header["camera_degrees_per_video_frame"] = _real(
                "camera_degrees_per_video_frame", camera_degrees_per_video_frame, 0, 180)
            self._header["walk_metres_per_video_frame"] = _real(
                "walk_metres_per_video_frame", walk_metres_per_video_frame, 0, 1000)
        self._header["units"] = {"position": "m", "angle": "degrees", "time": "ns"}
        self.path = os.fspath(path)
        self._frames, self._has_poses, self._file = 0, None, None
        if os.path.lexists(self.path):
            raise TraceError(f"{self.path}: is there already")
        try:
            self._file = open(self.path + PARTIAL, "x", encoding="utf-8", newline="\n")
        except FileExistsError:
            raise TraceError(f"{self.path + PARTIAL}: an earlier recording was not finished "
                             "(record_trace.py finish, or remove it)") from None
        self._write(_dumps(self._header))

    @property
    def frames(self):
        """Frames recorded so far: the number of the next one."""
        return self._frames

    def frame(self, retrieved, *, pose=None, end=None, poses=None, compute_ns=None, hints=None):
        """The next frame.

        retrieved   past blocks, most relevant first; block n is what frame n left behind
        pose, end   mean over the frame's video frames, and the last: [x, y, z, yaw, pitch] in
                    metres and degrees; yaw counts on over full turns. All frames or none.
        poses       instead of both: the poses after each of the frame's video frames
        compute_ns  how long the frame computed, without waiting for blocks
        hints       blocks that a predictor had named for this frame, best first
        """
        if self._file is None:
            raise TraceError("the recording is closed")
        if self._frames == FRAMES_MAX:
            raise TraceError(f"more than {FRAMES_MAX} frames")
        if poses is not None:
            if pose is not None or end is not None:
                raise TraceError("poses: stands instead of pose and end")
            poses = _poses(poses)
            pose, end = mean_pose(poses), poses[-1]
        if (pose is None) != (end is None):
            raise TraceError("pose and end: both or neither")
        if self._has_poses is not None and self._has_poses != (pose is not None):
            raise TraceError(f"frame {self._frames}: has {'a' if pose is not None else 'no'} "
                             "pose, unlike the frames before it")
        line = f'{{"frame":{self._frames}'
        if pose is not None:
            line += f',"pose":{_pose("pose", pose)},"end":{_pose("end", end)}'
        line += f',"retrieved":{self._blocks("retrieved", retrieved, self._header["k"])}'
        if compute_ns is not None:
            line += f',"compute_ns":{_whole("compute_ns", compute_ns, 1, COMPUTE_NS_MAX)}'
        if hints is not None:
            line += f',"hints":{self._blocks("hints", hints, HINTS_MAX)}'
        self._write(line + "}")
        self._has_poses = pose is not None
        self._frames += 1

    def close(self):
        """Makes the trace visible, whole and flushed to the disk. Again: does nothing."""
        if self._file is None:
            return
        file, self._file = self._file, None
        file.close()
        _finish(self.path + PARTIAL, self.path)

    def abandon(self):
        """Removes what was recorded."""
        if self._file is None:
            return
        self._drop_file()
        os.unlink(self.path + PARTIAL)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        """After an exception the frames so far stay in PATH.partial."""
        if kind is None:
            self.close()
        elif self._file is not None:
            self._drop_file()

    def _write(self, line):
        """To the operating system at once: what was recorded survives the process."""
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except OSError:
            # Part of the line may be there: nothing may follow it.
            self._drop_file()
            raise

    def _drop_file(self):
        file, self._file = self._file, None
        try:
            file.close()
        except OSError:
            pass

    def _blocks(self, what, blocks, most):
        try:
            listed = list(blocks)
        except TypeError:
            listed = None
        if listed is None or isinstance(blocks, (set, frozenset, dict, str, bytes)):
            raise TraceError(f"{what}: {blocks!r} is not a list of blocks")
        if len(listed) > most:
            raise TraceError(f"{what}: {len(listed)} blocks, at most {most}")
        numbers = [_whole(f"{what}[{i}]", block, 0, FRAMES_MAX) for i, block in enumerate(listed)]
        for block in numbers:
            if block >= self._frames:
                raise TraceError(f"{what}: block {block} is used in frame {self._frames}, before "
                                 "it exists")
        if len(set(numbers)) < len(numbers):
            raise TraceError(f"{what}: a block appears twice in {numbers}")
        return "[" + ",".join(map(str, numbers)) + "]"


def _rule(rule):
    ranges = {"translation_weight": (0, 1000), "rotation_weight": (0, 1000), "flat": (0, 1),
              "tie": (1e-12, 1)}
    if not isinstance(rule, dict) or rule.get("name") != "pose_distance":
        raise TraceError("rule: its name must be pose_distance; leave out any other rule")
    for key in rule:
        if key != "name" and key not in ranges:
            raise TraceError(f"rule: unknown key {key!r}")
    return {key: value if key == "name" else _real(f"rule.{key}", value, *ranges[key])
            for key, value in rule.items()}


def _dumps(header):
    return json.dumps(header, ensure_ascii=False, separators=(",", ":"))


def _read_lines(path):
    """Whole lines of a recording; one that a crash cut off is left out."""
    with open(path, "rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield line


def _move(source, path):
    """Never over something that is there, where the file system has links."""
    try:
        os.link(source, path)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        os.rename(source, path)


def _finish(partial, path):
    """The trace of a recording: its header learns the number of frames."""
    lines = _read_lines(partial)
    try:
        header = json.loads(next(lines, b""))
        known = header["format"] == FORMAT and header["version"] == VERSION
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise TraceError(f"{partial}: not a recording of {FORMAT}")
    header["frames"] = 0
    for line in lines:
        if not line.startswith(b'{"frame":%d,' % header["frames"]):
            raise TraceError(f"{partial}:{header['frames'] + 2}: not frame {header['frames']}")
        header["frames"] += 1
    if header["frames"] == 0:
        raise TraceError(f"{partial}: no frame was recorded")
    temporary = path + ".new"
    try:
        with open(temporary, "wb") as file:
            file.write(_dumps(header).encode("utf-8") + b"\n")
            lines = _read_lines(partial)
            next(lines)
            for line in lines:
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        _move(temporary, path)
    except FileExistsError:
        raise TraceError(f"{path}: is there already; the recording is in {partial}") from None
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)
    os.unlink(partial)
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return header["frames"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    finish = actions.add_parser("finish", help="make a trace of an interrupted recording")
    finish.add_argument("partial", help="PATH.partial")
    finish.add_argument("--out", help="the trace (PATH)")
    options = parser.parse_args()
    if not options.out and not options.partial.endswith(PARTIAL):
        parser.error(f"{options.partial} does not end in {PARTIAL}: --out is needed")
    try:
        out = options.out or options.partial[:-len(PARTIAL)]
        print(f"{out}: {_finish(options.partial, out)} frames", file=sys.stderr)
    except (TraceError, OSError) as error:
        print(f"record_trace: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
