#!/usr/bin/env python3
"""`worldpager replay --residency tiered`: walls, long sessions, budgets, restarts.

Times are simulated, or nothing depends on them. KILLS=n sets how often the
writing session is killed (3), SEED=n when; the seed is printed.
Run it alone: tests/cli/test_session.py (with WORLDPAGER=path for another program).
"""
import json
import os
import random
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
KILLS = int(os.environ.get("KILLS", "3"))
SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
# 3 tokens a latent: blocks of half a megabyte, what real storage is measured with at least.
SMALL = ["--world", "model", "--scale", "1/256"]


class Sessions(unittest.TestCase):
    def setUp(self):
        # Beside the program, not in a memory file system.
        self.folder = Path(tempfile.mkdtemp(dir=Path(PROGRAM).resolve().parent))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.lenient = False  # about how many blocks a frame finds

    def command(self, *options):
        return [PROGRAM, "replay", "--residency", "tiered", *map(str, options)]

    def replay(self, *options, expect=0):
        done = subprocess.run(
            [*self.command(*options), "--json", self.folder / "result.json"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=300)
        self.assertEqual(done.returncode, expect, done.stderr)
        if expect not in (0, 3):
            return done.stderr
        document = json.loads((self.folder / "result.json").read_text())
        for frame in document["frames"]:
            found = frame["blocks_gpu"] + frame["blocks_dram"] + frame["blocks_nvme"]
            if document["trace"]["name"] != "all" and not self.lenient:
                self.assertEqual(found, min(document["k"], max(0, frame["frame"] - 2)), frame)
        return document

    def virtual(self, trace, *options, **more):
        return self.replay("--trace", trace, "--bandwidth", "0.25GB/s", *options, **more)

    # --- walls

    def wall(self, blocks, wall, *options):
        session = self.virtual("explore_return", *options)["session"]
        self.assertEqual((session["blocks_made"], session["wall"]), (blocks, wall))
        self.assertAlmostEqual(session["video_s"], blocks * 0.75)
        return session

    def test_walls_at_full_scale(self):
        self.wall(60, "host budget", "--codec", "bf16", "--tiers", "gpu+dram")
        self.wall(225, "host budget", "--codec", "int4", "--tiers", "gpu+dram")
        self.wall(341, "positions", "--positions", "native")

    def test_walls_at_other_scales(self):
        for scale in ("1/4", "1/16", "1/100"):
            for codec, blocks in (("bf16", 60), ("int4", 225)):
                document = self.virtual("explore_return", "--codec", codec, "--tiers", "gpu+dram",
                                        "--scale", scale)
                made = document["session"]["blocks_made"]
                self.assertLessEqual(abs(made - blocks), 1, (scale, codec))

    def test_the_full_system_passes_all_walls(self):
        document = self.virtual("explore_return")
        session = document["session"]
        self.assertIsNone(session["wall"])
        self.assertEqual(session["blocks_made"], 3000)
        self.assertEqual(session["video_s"], 2250)
        self.assertTrue(document["summary"]["valid"])
        self.assertGreater(document["totals"]["blocks_nvme"], 2000)
        self.assertEqual(session["blocks_stored"], 3000)
        self.assertEqual(session["bytes_written"], 3000 * document["block_bytes"])
        self.assertLess(session["generated_fps"], session["playback_fps"])
        for frame in session["frames"]:
            self.assertLessEqual(frame["bytes_dram"], session["host_budget_bytes"])
            self.assertLessEqual(frame["bytes_gpu"], session["gpu_budget_bytes"])
            self.assertLessEqual(session["host_budget_bytes"], 32 << 30)

    def test_other_trajectories_as_long(self):
        for name in ("a_yaw", "b1_ws"):
            config = json.loads((ROOT / f"configs/trajectories/{name}.json").read_text())
            config["frames"] = 3000
            (self.folder / "long.json").write_text(json.dumps(config))
            trace = self.folder / "long.jsonl"
            subprocess.run([PROGRAM, "trace", "make", "--trajectory", self.folder / "long.json",
                            "--out", trace], check=True, capture_output=True)
            session = self.virtual(trace)["session"]
            self.assertEqual((session["blocks_made"], session["wall"]), (3000, None))

    # --- against forced-nvme

    def test_never_stalls_longer_than_forced_nvme(self):
        for trace in ("a_yaw", "b1_ws"):
            for arm in ("on_demand", "prefetch", "deadline", "hedged"):
                for rate in ("0.1GB/s", "0.35GB/s"):
                    options = ["--trace", trace, "--arm", arm, "--bandwidth", rate]
                    tiered = self.replay(*options)
                    done = subprocess.run(
                        [PROGRAM, "replay", *options, "--json", "-"], check=True,
                        capture_output=True)
                    forced = json.loads(done.stdout)
                    self.assertLessEqual(tiered["totals"]["stall_ns"],
                                         forced["totals"]["stall_ns"], options)

    def test_no_reads_when_all_fits_in_dram(self):
        document = self.virtual("b1_ws", "--host-budget", "64GB")
        self.assertEqual(document["totals"]["blocks_nvme"], 0)
        self.assertEqual(document["totals"]["bytes_nvme"], 0)
        self.assertEqual(document["totals"]["stall_ns"], 0)

    def test_next_use_reads_least(self):
        reads = {}
        for policy in ("lru", "farthest", "next_use"):
            document = self.virtual("explore_return", "--eviction", policy, "--hints", "known")
            reads[policy] = document["totals"]["blocks_nvme"]
        self.assertLess(reads["next_use"], min(reads["lru"], reads["farthest"]))

    def test_another_model_needs_a_profile_only(self):
        profile = json.loads((ROOT / "configs/models/mg2.json").read_text())
        profile.update({"name": "third", "layers": 24, "heads": 16, "head_dim": 64,
                        "tokens_per_latent": 500})
        (self.folder / "third.json").write_text(json.dumps(profile))
        for residency in ("tiered", "forced-nvme"):
            document = self.virtual("b1_ws", "--model", self.folder / "third.json",
                                    "--residency", residency)
            self.assertEqual(document["block_bytes"], 24 * 2 * 16 * 64 * 500 * 3 * 17 // 32)
            self.assertTrue(document["summary"]["valid"])

    # --- bad input

    def test_impossible_budgets(self):
        for options, word in ((["--gpu-budget", "200MB"], "least that works"),
                              (["--host-budget", "200MB"], "least that works"),
                              (["--tiers", "gpu"], "--tiers"),
                              (["--eviction", "fifo"], "--eviction"),
                              (["--forget-oldest"], "--nvme-budget"),
                              (["--forget-oldest", "--nvme-budget", "1GB"], "least that works"),
                              (["--resume"], "--world model"),
                              (["--resume", "--replace-session"], "exclude"),
                              (["--host-budget", "many"], "--host-budget")):
            message = self.replay("--trace", "b1_ws", *options, expect=2)
            self.assertIn(word, message)
        # What is named as the least that works does, and a byte less does not.
        for option in ("--gpu-budget", "--host-budget"):
            message = self.replay("--trace", "b1_ws", option, "200MB", expect=2)
            least = int(re.search(r"works, (\d+)B at full scale", message).group(1))
            self.replay("--trace", "b1_ws", option, f"{least - 1}B", expect=2)
            self.virtual("b1_ws", option, f"{least}B", "--frames", "30")
        profile = json.loads((ROOT / "configs/machines/rtx4090.json").read_text())
        machine = self.folder / "machine.json"
        for options, changes, word in (
                (["--nvme-budget", "100000001B"], {},
                 r"--nvme-budget: 100\.0 MB .* hold 0 blocks; 1 is the least"),
                (["--host-budget", "130MB"], {}, r"--host-budget: 130\.0 MB .* hold 1 block; 2 are"),
                ([], {"host_bytes": 1}, "host_bytes and host_block_percent of machine profile"),
                ([], {"gpu_block_budget_bytes": 1}, "gpu_block_budget_bytes of machine profile")):
            machine.write_text(json.dumps({**profile, **changes}))
            message = self.replay("--trace", "b1_ws", "--machine", machine, *options, expect=2)
            self.assertRegex(message, word)
        done = subprocess.run(self.command("--trace", "b1_ws", "--host-budget", "9000000TB"),
                              capture_output=True, text=True, check=False)
        if done.returncode:  # there are machines with so much memory
            self.assertEqual(done.returncode, 3)
            self.assertIn("--host-budget", done.stderr)
        done = subprocess.run([PROGRAM, "replay", "--trace", "b1_ws", "--gpu-budget", "4GB"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)

    def test_a_full_nvme_budget_is_an_error(self):
        document = self.virtual("b1_ws", "--nvme-budget", "4GB", expect=3)
        self.assertEqual(document["session"]["blocks_made"], 4_000_000_000 // 129_254_400)
        self.assertEqual(document["session"]["blocks_stored"], document["session"]["blocks_made"])
        self.assertIn("NVMe budget", document["error"])
        self.assertEqual(document["session"]["nvme_budget_bytes"], 4_000_000_000)
        document = self.virtual("b1_ws", "--nvme-budget", "130MB", expect=3)
        self.assertIn("NVMe budget of 1 block is full", document["error"])
        self.assertFalse(document["summary"]["valid"])

    def test_a_full_store_forgets_if_asked(self):
        room = 30
        document = self.forgetting(room, "explore_return", "--frames", "700", "--bandwidth",
                                   "0.25GB/s")
        session = document["session"]
        self.assertEqual(session["blocks_made"], 700)
        self.assertEqual(session["blocks_stored"], room)
        self.assertEqual(session["blocks_forgotten"], 700 - room)
        self.assertGreater(session["blocks_missing"], 0)
        self.assertGreater(document["totals"]["blocks_nvme"], 0)
        self.assertTrue(document["summary"]["valid"])
        self.check_nothing_young_is_missing(document, "explore_return", room)

    def forgetting(self, room, trace, *options):
        self.lenient = True
        return self.replay("--trace", trace, "--nvme-budget", f"{room * 129_300_000}B",
                           "--forget-oldest", "--host-budget", "1GB", "--gpu-budget", "1GB",
                           *options)

    def check_nothing_young_is_missing(self, document, trace, room):
        lines = (ROOT / f"traces/{trace}.jsonl").read_text().splitlines()[1:]
        missing = 0
        for frame in document["frames"]:
            number = frame["frame"]
            retrieved = json.loads(lines[number])["retrieved"]
            young = [block for block in retrieved if block >= number - room]
            found = frame["blocks_gpu"] + frame["blocks_dram"] + frame["blocks_nvme"]
            self.assertGreaterEqual(found, len(young), number)
            missing += len(retrieved) - found
        self.assertEqual(document["session"]["blocks_missing"], missing)

    # --- real storage

    def test_a_forgetting_session_goes_on_after_kills(self):
        chance = random.Random(SEED)
        log = self.folder / "acknowledged"
        real = [*SMALL, "--store", self.folder, "--ack-log", log]
        room = 40
        for _ in range(KILLS):
            options = ["--resume"] if any(self.folder.glob("*-session/header")) else []
            child = subprocess.Popen(
                self.command("--trace", "explore_return", "--nvme-budget",
                             f"{room * 129_300_000}B", "--forget-oldest", "--host-budget", "1GB",
                             "--gpu-budget", "1GB", *real, *options), stderr=subprocess.DEVNULL)
            try:
                child.wait(timeout=chance.uniform(0.02, 0.5))
            except subprocess.TimeoutExpired:
                child.kill()
            self.assertIn(child.wait(), (0, -signal.SIGKILL))
        if not any(self.folder.glob("*-session/header")):
            return
        newest = max([int(line) for line in log.read_text().split("\n")[:-1]], default=-1)
        if newest >= 2900:
            self.skipTest("it was over before the signals came")
        document = self.forgetting(room, "explore_return", *real, "--resume")
        # Four may be unfinished at once.
        self.assertGreater(document["session"]["first_frame"], newest - 4)
        self.assertEqual(document["session"]["blocks_stored"], room)
        self.check_nothing_young_is_missing(document, "explore_return", room)

    def test_on_real_storage(self):
        document = self.replay("--trace", "explore_return", *SMALL, "--frames", "700", "--store",
                               self.folder, "--host-budget", "3GB", "--gpu-budget", "1GB")
        session = document["session"]
        self.assertEqual(session["blocks_stored"], 700)
        self.assertGreater(document["totals"]["blocks_nvme"], 0)
        self.assertLessEqual(session["resident_bytes_max"], session["resident_allowed_bytes"])
        self.assertTrue(document["summary"]["valid"])

    def test_an_earlier_session_stays(self):
        options = ["--trace", "b1_ws", *SMALL, "--store", self.folder, "--frames", "20"]
        self.replay(*options)
        self.assertIn("--resume", self.replay(*options, expect=4))
        self.assertIn("nothing to go on", self.replay(*options, "--resume", expect=2))
        document = self.replay(*options, "--replace-session")
        self.assertEqual(document["session"]["first_frame"], 0)
        # Not a session of this geometry, not a session: neither is touched.
        (store,) = self.folder.glob("*-session")
        (store / "header").write_bytes(b"something else")
        self.replay(*options, "--replace-session", expect=4)
        self.assertEqual((store / "header").read_bytes(), b"something else")

    def test_an_ack_log_stays_until_a_session_begins(self):
        log = self.folder / "acknowledged"
        options = ["--trace", "b1_ws", *SMALL, "--store", self.folder, "--frames", "12",
                   "--ack-log", log]
        self.replay(*options)
        named = log.read_text()
        self.assertEqual(sorted(map(int, named.split())), list(range(12)))
        self.replay(*options, expect=4)  # an earlier session is there
        self.replay(*options, "--resume", expect=2)  # nothing left to do
        self.assertEqual(log.read_text(), named)
        self.replay(*options, "--replace-session")
        self.assertEqual(len(log.read_text().split()), 12)
        # None is made for a session that does not begin.
        self.replay(*options, "--ack-log", self.folder / "other", expect=4)
        self.assertFalse((self.folder / "other").exists())

    def test_an_interrupted_session_goes_on(self):
        options = ["--trace", "b1_ws", *SMALL, "--store", self.folder]
        child = subprocess.Popen([*self.command(*options), "--json", self.folder / "cut.json"],
                                 stderr=subprocess.DEVNULL)
        # Before its store is made there is nothing to go on with.
        while child.poll() is None and not any(self.folder.glob("*-session/header")):
            time.sleep(0.01)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        if child.wait(timeout=60) == 0:
            self.skipTest("it was over before the signal came")
        self.assertEqual(child.returncode, 130)
        made = 0
        if (self.folder / "cut.json").exists():
            made = json.loads((self.folder / "cut.json").read_text())["frames_done"]
        document = self.replay(*options, "--resume")
        self.assertGreaterEqual(document["session"]["first_frame"], made)
        self.assertEqual(document["session"]["blocks_made"], 160)

    def test_nothing_to_go_on_with(self):
        options = ["--trace", "b1_ws", *SMALL, "--frames", "12"]
        store = self.folder / "store"
        message = self.replay(*options, "--store", store, "--resume", expect=4)
        self.assertRegex(message, r"--resume: no session in .*/store/mg2-int4-3t-seed1-session; "
                                  r".*: none$")
        self.assertFalse(store.exists())
        self.replay(*options, "--store", store)
        before = sorted(path.name for path in store.iterdir())
        for other in (["--seed", "2"], ["--codec", "bf16"], ["--bandwidth", "1GB/s", "--seed", "3"]):
            message = self.replay(*options, "--store", store, "--resume", *other, expect=4)
            self.assertIn("beside it: mg2-int4-3t-seed1-session", message)
            self.assertEqual(sorted(path.name for path in store.iterdir()), before)

    def test_a_store_without_a_block_begins_at_frame_0(self):
        options = ["--trace", "b1_ws", *SMALL, "--store", self.folder, "--frames", "12"]
        self.replay(*options, "--faults", "commit.error@1", expect=4)
        document = self.replay(*options, "--resume")
        self.assertEqual((document["session"]["first_frame"], document["frames_done"]), (0, 12))
        self.assertIn("resumed at frame 0", " ".join(document["summary"]["notes"]))

    def test_kills_lose_nothing_acknowledged(self):
        print(f"session kills: SEED={SEED} KILLS={KILLS}", flush=True)
        chance = random.Random(SEED)
        log = self.folder / "acknowledged"
        options = ["--trace", "explore_return", *SMALL, "--store", self.folder, "--ack-log", log,
                   "--host-budget", "1GB", "--gpu-budget", "1GB"]
        # Without poses there is nothing to guess from.
        going_on = False
        for _ in range(KILLS):
            child = subprocess.Popen([*self.command(*options), *(["--resume"] * going_on)],
                                     stderr=subprocess.DEVNULL)
            try:
                code = child.wait(timeout=chance.uniform(0.02, 0.5))
            except subprocess.TimeoutExpired:
                child.kill()
                code = child.wait()
            self.assertIn(code, (0, -signal.SIGKILL))
            if code == 0:  # all frames were made before the signal
                going_on = False
                shutil.rmtree(next(self.folder.glob("*-session")))
                log.unlink()
                continue
            going_on = going_on or any(self.folder.glob("*-session/header"))
        if not going_on:
            return
        acknowledged = {int(line) for line in log.read_text().split("\n")[:-1]}
        blocks = max(acknowledged, default=-1) + 1
        trace = self.trace_of_all(blocks)
        options[1] = trace
        # Reads every block of before the kills: each byte is verified and compared.
        document = self.replay(*options, "--resume", "--hints", "known")
        self.assertGreaterEqual(document["session"]["first_frame"], blocks)
        read = sum(frame["blocks_nvme"] + frame["blocks_dram"] + frame["blocks_gpu"]
                   for frame in document["frames"])
        self.assertEqual(read, blocks)
        self.assertGreater(document["totals"]["blocks_nvme"], 0)

    def test_a_damaged_index_is_no_crash(self):
        options = ["--trace", "explore_return", *SMALL, "--store", self.folder, "--frames", "40",
                   "--bandwidth", "2GB/s"]
        self.replay(*options)
        index = next(self.folder.glob("*-session/index"))
        whole = index.read_bytes()
        entry = 4096  # bytes, of a block of few checksums
        for damage in (b"\xa5" * 64, bytes(entry)):
            index.write_bytes(whole[:2 * entry] + damage + whole[2 * entry + len(damage):])
            said = self.replay(*options, "--resume", expect=4)
            self.assertIn(f"index, offset {2 * entry}: the entry of block 2 is damaged", said)
            self.assertIn("1 such blocks", said)
        # Nothing vouches for the last one: as after a crash, but said.
        index.write_bytes(whole[:39 * entry] + b"\xa5" * 64 + whole[39 * entry + 64:])
        document = self.replay(*options, "--resume")
        self.assertEqual(document["session"]["first_frame"], 39)
        self.assertIn("index entries cut off or damaged: 1", " ".join(document["summary"]["notes"]))

    def test_the_ack_log_is_held_against_the_store(self):
        log = self.folder / "acknowledged"
        options = ["--trace", "explore_return", *SMALL, "--store", self.folder, "--frames", "40",
                   "--bandwidth", "2GB/s", "--ack-log", log]
        self.assertNotIn("resumed", " ".join(self.replay(*options)["summary"]["notes"]))
        index = next(self.folder.glob("*-session/index"))
        index.write_bytes(index.read_bytes()[:20 * 4096] + bytes(20 * 4096))  # an older one
        whole = log.read_bytes()
        self.assertIn("names block 20 as acknowledged", self.replay(*options, "--resume", expect=4))
        self.assertEqual(log.read_bytes(), whole)
        log.write_text("0\n1\ntwo\n")
        self.assertIn("acknowledged:3: no block's number",
                      self.replay(*options, "--resume", expect=4))
        log.write_text("".join(f"{block}\n" for block in range(20)) + "2")  # killed while writing
        self.assertEqual(self.replay(*options, "--resume")["session"]["first_frame"], 20)

    def test_no_result_goes_where_the_store_is(self):
        options = ["replay", "--trace", "explore_return", *SMALL, "--store", self.folder,
                   "--frames", "20", "--throttle", "none"]
        session = ["--residency", "tiered", "--resume"]
        subprocess.run([PROGRAM, *options, "--json", self.folder / "a.json"], check=True,
                       stderr=subprocess.DEVNULL)
        subprocess.run([PROGRAM, *options, *session[:2], "--json", self.folder / "a.json"],
                       check=True, stderr=subprocess.DEVNULL)
        places = [path for path in self.folder.glob("*-seed1*/*") if path.is_file()]
        self.assertEqual(len(places), 6)
        before = {path: path.read_bytes() for path in places}
        for path in places:
            more = session if path.parent.name.endswith("-session") else []
            for option in ["--json", "--ack-log" if more else "--iolog"]:
                done = subprocess.run([PROGRAM, *options, *more, "--frames", "25", option, path],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, (option, path, done.stderr))
                self.assertIn("it is a file of the store", done.stderr)
        self.assertEqual({path: path.read_bytes() for path in places}, before)

    def test_a_prepared_store_that_lost_blocks_says_so(self):
        options = ["replay", "--trace", "b1_ws", *SMALL, "--store", self.folder, "--frames", "20",
                   "--throttle", "none", "--json", self.folder / "a.json"]
        subprocess.run([PROGRAM, *options], check=True, stderr=subprocess.DEVNULL)
        index = next(self.folder.glob("*/index"))
        data = bytearray(index.read_bytes())
        data[4096 + 40] ^= 1
        index.write_bytes(data)
        done = subprocess.run([PROGRAM, *options], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("damaged: its index knows", done.stderr)

    def trace_of_all(self, blocks):
        """A trace whose last frames retrieve blocks 0 .. blocks-1, each once."""
        source = (ROOT / "traces/explore_return.jsonl").read_text().split("\n", 1)[0]
        header = json.loads(source)
        first = blocks + 8  # some may be stored and not named: the log is written afterwards
        header["name"] = "all"
        header["frames"] = first + (blocks + 1) // 2
        for key in [key for key in header if key.endswith("_per_video_frame")]:
            del header[key]
        lines = [json.dumps(header)]
        for frame in range(header["frames"]):
            at = 2 * (frame - first)
            lines.append(json.dumps({"frame": frame, "retrieved": [
                block for block in (at, at + 1) if 0 <= block < blocks]}))
        path = self.folder / "all.jsonl"
        path.write_text("\n".join(lines) + "\n")
        return path


if __name__ == "__main__":
    unittest.main()
