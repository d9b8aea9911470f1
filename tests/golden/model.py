#!/usr/bin/env python3
"""An independent model of a forced-nvme session, to compare `worldpager replay` against.

It shares nothing with the C code: motion, retrieval rule, hints and arms are written
here a second time, from the README's definitions, and the drive is a fluid. Only
payload bytes are timed: no latency, no small reads, no padding; copies and
verification cost nothing. Times are exact fractions of a nanosecond until printed.

    model.py --trace traces/b1_ws.jsonl --arm prefetch --bandwidth 0.25
    model.py --trajectory configs/trajectories/b1_ws.json --arm hedged --bandwidth 0.5 --k 3

Prints one line a frame and a summary, or with --json all of it as JSON.
"""
import argparse
import json
import math
import sys
from fractions import Fraction

ELEMENTS = 30 * 2 * 12 * 128 * 880 * 3  # of one Matrix-Game 2.0 block
CODEC_BITS = {"bf16": Fraction(16), "int4": Fraction(4) + Fraction(16, 64)}
COMPUTE_NS = 1_200_000_000
ALTERNATIVES = ["hold_last", "reverse", "still", "w", "s", "left", "right"]
# arm: hints it takes, staging capacity as a multiple of k, whether needed blocks go first
ARMS = {
    "on_demand": ("none", 2, False),
    "prefetch": ("hold_last", 2, False),
    "deadline": ("hold_last", 2, True),
    "hedged": ("alternatives", 8, True),
}


# Motion. A pose is (x, y, z, yaw, pitch); metres and degrees.


def rounded(pose):
    return tuple(round(value, 6) + 0.0 for value in pose)


def step(pose, keys, turn, walk):
    """One video frame of the actions held down."""
    x, y, z, yaw, pitch = pose
    turned = yaw + turn * (("right" in keys) - ("left" in keys))
    pitch = max(-85.0, min(85.0, pitch + turn * (("up" in keys) - ("down" in keys))))
    along = math.radians((yaw + turned) / 2)
    ahead, aside = ("w" in keys) - ("s" in keys), ("d" in keys) - ("a" in keys)
    length = math.hypot(ahead, aside)
    if length > 0:
        scale = walk / max(1.0, length)
        x += scale * (ahead * math.sin(along) + aside * math.cos(along))
        z += scale * (ahead * math.cos(along) - aside * math.sin(along))
    return (x, y, z, turned, pitch)


def mean(poses):
    return tuple(sum(values) / len(poses) for values in zip(*poses))


def make_trajectory(config):
    """Poses and ends of a configuration, as a trace file would hold them."""
    held = []
    for action in config["actions"]:
        keys = action["do"] if isinstance(action["do"], list) else [action["do"]]
        held += [keys] * action["video_frames"]
    turn, walk = config["camera_degrees_per_video_frame"], config["walk_metres_per_video_frame"]
    per_frame = config["video_frames_per_frame"]
    here, frames = (0.0,) * 5, []
    for c in range(config["frames"]):
        steps = []
        for i in range(c * per_frame, (c + 1) * per_frame):
            here = step(here, held[i % len(held)], turn, walk)
            steps.append(here)
        frames.append({"pose": rounded(mean(steps)), "end": rounded(here)})
    return {**config, "frame_list": frames}


def read_trace(path):
    with open(path, encoding="utf-8") as lines:
        header, *frames = [json.loads(line) for line in lines]
    for frame in frames:
        frame["pose"], frame["end"] = tuple(frame["pose"]), tuple(frame["end"])
    return {**header, "frame_list": frames}


# The rule: the k past blocks nearest in pose.


def quaternion(yaw, pitch):
    """Of Ry(yaw) Rx(pitch), as (w, x, y, z)."""
    cy, sy = math.cos(math.radians(yaw) / 2), math.sin(math.radians(yaw) / 2)
    cp, sp = math.cos(math.radians(pitch) / 2), math.sin(math.radians(pitch) / 2)
    return (cy * cp, cy * sp, sy * cp, -sy * sp)


def angle(a, b):
    """Between two camera directions, in degrees."""
    if a[4] == 0 and b[4] == 0:
        return abs((a[3] - b[3] + 180) % 360 - 180)
    w1, x1, y1, z1 = quaternion(a[3], a[4])
    w2, x2, y2, z2 = quaternion(b[3], b[4])
    w = w1 * w2 + x1 * x2 + y1 * y2 + z1 * z2
    x = w1 * x2 - x1 * w2 - y1 * z2 + z1 * y2
    y = w1 * y2 - y1 * w2 - z1 * x2 + x1 * z2
    z = w1 * z2 - z1 * w2 - x1 * y2 + y1 * x2
    return math.degrees(2 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w)))


def retrieve(frames, c, pose, k, exclude_recent):
    count = c - exclude_recent
    if count <= 0:
        return []
    poses = [frame["pose"] for frame in frames[:count]]
    shifts = [sum((p[i] - pose[i]) ** 2 for i in range(3)) for p in poses]
    angles = [angle(p, pose) for p in poses]
    shift_max, angle_max = max(shifts), max(angles)
    far = [
        0.5 * (s / shift_max if shift_max > 1e-12 else s)
        + 0.5 * (a / angle_max if angle_max > 1e-12 else a)
        for s, a in zip(shifts, angles)
    ]
    return sorted(range(count), key=lambda block: (round(far[block], 9), -block))[:k]


# Hints: the rule from guessed poses.


def guess(trace, c, name):
    """Where frame c is believed to be when frame c-1 starts to compute: a pose, rounded as all."""
    return rounded(guess_exactly(trace, c, name))


def guess_exactly(trace, c, name):
    frames, per_frame = trace["frame_list"], trace["video_frames_per_frame"]
    last, end = frames[c - 1]["pose"], frames[c - 1]["end"]
    before = frames[c - 2]["end"] if c >= 2 else (0.0,) * 5
    if name == "hold_last":
        turn = math.radians(end[3] - before[3])
        dx, dy, dz, dyaw, dpitch = (a - b for a, b in zip(last, before))
        return (
            end[0] + dx * math.cos(turn) + dz * math.sin(turn),
            end[1] + dy,
            end[2] - dx * math.sin(turn) + dz * math.cos(turn),
            end[3] + dyaw,
            end[4] + dpitch,
        )
    if name == "reverse":
        return tuple(p + (b - e) / per_frame for p, b, e in zip(last, before, end))
    if name == "still":
        return end
    steps = []
    for _ in range(per_frame):
        end = step(
            end,
            [name],
            trace["camera_degrees_per_video_frame"],
            trace["walk_metres_per_video_frame"],
        )
        steps.append(end)
    return mean(steps)


def hint_list(trace, sets, c, kind, k):
    if kind == "none" or c == 0:
        return []
    if kind == "known":
        return list(sets[c])
    listed = []
    for name in ALTERNATIVES if kind == "alternatives" else [kind]:
        found = retrieve(
            trace["frame_list"], c, guess(trace, c, name), k, trace["exclude_recent"]
        )
        listed += [block for block in found if block not in listed]
    return listed


# Arms: how long after the need the last block of the set has been read.


def stall_fifo(block_ns, window_ns, needed, hinted):
    """Guesses in list order from the window's start; at need, the missing blocks at the tail."""
    missing = [block for block in needed if block not in hinted]
    if missing:
        begin = max(len(hinted) * block_ns, window_ns)
        return begin + len(missing) * block_ns - window_ns
    last = max((hinted.index(block) + 1 for block in needed), default=0)
    return max(Fraction(0), last * block_ns - window_ns)


def stall_demand_first(block_ns, window_ns, needed, hinted):
    """Guesses only until the need; then whatever the set still lacks, nothing else."""
    lacking = Fraction(0)
    for block in needed:
        ahead = Fraction(0)
        if block in hinted:
            ahead = min(block_ns, max(Fraction(0), window_ns - hinted.index(block) * block_ns))
        lacking += block_ns - ahead
    return lacking


def compute_ns(trace, c):
    return trace["frame_list"][c].get("compute_ns", COMPUTE_NS)


def replay(trace, arm, rate, k=None, codec="int4", frames=None, staging=None):
    """One dict a frame. `rate` in bytes per second. Another k re-runs the rule."""
    hints, multiple, demand_first = ARMS[arm]
    frame_list = trace["frame_list"]
    same_k = k is None or k == trace["k"]
    k = trace["k"] if k is None else k
    staging = multiple * k if staging is None else staging
    count = len(frame_list) if frames is None else min(frames, len(frame_list))
    block_ns = ELEMENTS * CODEC_BITS[codec] / 8 * 1_000_000_000 / Fraction(rate)
    sets, result = [], []
    for c in range(count):
        if same_k and "retrieved" in frame_list[c]:
            sets.append(frame_list[c]["retrieved"])
        else:
            pose, exclude = frame_list[c]["pose"], trace["exclude_recent"]
            sets.append(retrieve(frame_list, c, pose, k, exclude))
        listed = hint_list(trace, sets, c, hints, k)[:staging]
        stall = (stall_demand_first if demand_first else stall_fifo)(
            block_ns, compute_ns(trace, c - 1) if c else 0, sets[c], listed
        )
        result.append(
            {
                "frame": c,
                "retrieved": sets[c],
                "hints": listed,
                "missed": sum(block not in listed for block in sets[c]),
                "stall_ns": stall,
            }
        )
    return result


def summary(result, warmup=20):
    stalls = sorted(frame["stall_ns"] for frame in result[warmup:])
    if not stalls:
        return {"n": 0}

    def rank(percent):
        return stalls[max(1, math.ceil(Fraction(percent) * len(stalls) / 100)) - 1]

    return {
        "n": len(stalls),
        "mean": sum(stalls) / Fraction(len(stalls)),
        "min": stalls[0],
        "p50": rank(50),
        "p90": rank(90),
        "p95": rank(95),
        "p99": rank(99),
        "p99_9": rank("99.9"),
        "max": stalls[-1],
        "sum": sum(stalls),
    }


def printable(value):
    """Exact times as whole nanoseconds, rounded up."""
    if isinstance(value, Fraction):
        return math.ceil(value)
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [printable(item) for item in value]
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--trace", help="a trace file (JSON Lines)")
    source.add_argument("--trajectory", help="a trajectory configuration")
    parser.add_argument("--arm", choices=ARMS, default="prefetch")
    parser.add_argument("--bandwidth", default="0.25", help="GB/s")
    parser.add_argument("--codec", choices=CODEC_BITS, default="int4")
    parser.add_argument("--k", type=int, help="default: the trace's")
    parser.add_argument("--frames", type=int)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--staging-blocks", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.trace:
        trace = read_trace(options.trace)
    else:
        with open(options.trajectory, encoding="utf-8") as file:
            trace = make_trajectory(json.load(file))
    rate = Fraction(options.bandwidth) * 1_000_000_000
    result = replay(
        trace,
        options.arm,
        rate,
        options.k,
        options.codec,
        options.frames,
        options.staging_blocks,
    )
    document = printable({"frames": result, "summary": summary(result, options.warmup)})
    if options.json:
        json.dump(document, sys.stdout)
        print()
        return
    for frame in document["frames"]:
        print(*(f"{key} {value}" for key, value in frame.items()), sep="  ")
    print(*(f"{key} {value}" for key, value in document["summary"].items()), sep="  ")


if __name__ == "__main__":
    main()
