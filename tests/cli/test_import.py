"""worldpager trace import: golden traces, complaints with their place, and an independent mapping."""

import csv
import json
import os
import random
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("WORLDPAGER", os.path.join(ROOT, "build", "worldpager"))
CASES = os.path.join("tests", "cases", "imports")
COLUMNS = ["Timestamp", "Operation", "Object_Size_Bytes", "Tier", "Key", "Phase"]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=ROOT, check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def import_lines(path, form, *options):
    """Header and frames of the imported trace."""
    result = run("trace", "import", "--format", form, path, "--out", "-", *options)
    if result.returncode:
        raise AssertionError(result.stderr)
    header, *frames = [json.loads(line) for line in result.stdout.splitlines()]
    return header, frames, result.stderr


class Model:
    """What traces/import.md says, written down a second time."""

    def __init__(self, k):
        self.k = k
        self.sets = []
        self.begins = []

    def access(self, begin, blocks, made):
        """Numbers of the blocks that were made."""
        parts = [blocks[i:i + self.k] for i in range(0, len(blocks), self.k)] or [[]]
        parts += [[] for _ in range(made - 1)]
        first = len(self.sets) + max(1, -(-len(blocks) // self.k)) - 1
        self.sets += parts
        self.begins += [begin] * len(parts)
        return list(range(first, first + made))

    def compute(self):
        """Frames that begin together share the time until the next ones begin."""
        found = [None] * len(self.begins)
        times = sorted(set(self.begins))
        for now, then in zip(times, times[1:]):
            frames = [i for i, begin in enumerate(self.begins) if begin == now]
            share, rest = divmod(then - now, len(frames))
            for place, frame in enumerate(frames):
                found[frame] = max(1, share + (place < rest))
        return found


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return self.path(name)

    def assert_frames(self, frames, model):
        self.assertEqual([frame["retrieved"] for frame in frames], model.sets)
        self.assertEqual([frame.get("compute_ns") for frame in frames], model.compute())


class Golden(Case):
    def test_files(self):
        for form, extension, golden, options in (
                ("mooncake", "jsonl", "mooncake", []),
                ("mooncake", "jsonl", "mooncake-split",
                 ["--k", "2", "--compute", "profile", "--name", "split"]),
                ("mlperf-kv", "csv", "mlperf-kv", []),
                ("mlperf-kv", "csv", "mlperf-kv-cut",
                 ["--k", "2", "--block-bytes", "100kB", "--name", "cut"])):
            source = os.path.join(CASES, "good", f"{form}.{extension}")
            expected = os.path.join(CASES, "good", golden + ".trace.jsonl")
            out = self.path(golden + ".jsonl")
            result = run("trace", "import", "--format", form, source, "--out", out, *options)
            self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
            with open(out, "rb") as made, open(os.path.join(ROOT, expected), "rb") as known:
                self.assertEqual(made.read(), known.read(), golden)
            self.assertEqual(run("trace", "validate", out).returncode, 0)

    def test_complaints(self):
        with open(os.path.join(ROOT, CASES, "bad", "expected.txt"), encoding="utf-8") as file:
            cases = [line.rstrip("\n").split("\t") for line in file]
        self.assertEqual({name for name, _, _ in cases} | {"expected.txt"},
                         set(os.listdir(os.path.join(ROOT, CASES, "bad"))))
        for name, place, why in cases:
            path = os.path.join(CASES, "bad", name)
            form = "mooncake" if name.endswith(".jsonl") else "mlperf-kv"
            result = run("trace", "import", "--format", form, path, "--out", self.path("out.jsonl"))
            message = result.stderr
            self.assertEqual((result.returncode, result.stdout), (4, ""), name)
            self.assertEqual(message.count("\n"), 1, message)
            self.assertTrue(message.startswith(f"worldpager: {path}{place and ':'}{place}"),
                            message)
            if not place.endswith(":"):
                self.assertIn(f"{place}: {why}", message)
            self.assertIn(why, message)
            self.assertEqual(os.listdir(self.folder), [], name)

    def test_units_are_stated(self):
        for form, unit, word in (("mooncake.jsonl", "milliseconds", "requests"),
                                 ("mlperf-kv.csv", "seconds", "rows")):
            header, _, told = import_lines(os.path.join(CASES, "good", form), form.split(".")[0])
            self.assertIn(f"timestamps in {unit};", header["made_by"])
            self.assertIn(f"timestamps read as {unit}\n", told)
            self.assertIn(word, told)
            self.assertEqual(header["origin"], "imported")
            self.assertEqual(header["model"], "unstated")
            self.assertNotIn("rule", header)


class Mapping(Case):
    def test_mooncake_at_random(self):
        for seed in range(6):
            draw = random.Random(seed)
            k = draw.choice([1, 2, 7, 64])
            tokens = draw.choice([16, 512])
            model, known, lines, now = Model(k), {}, [], draw.randrange(10 ** 12)
            start = now
            for _ in range(80):
                past = draw.sample(sorted(known), min(len(known), draw.randrange(0, 150)))
                ids = past + draw.sample(range(2 ** 62), draw.randrange(0, 9))
                length = max(0, len(ids) * tokens - draw.randrange(tokens)) if ids else 0
                lines.append(json.dumps({"timestamp": now, "input_length": length,
                                         "output_length": draw.randrange(900),
                                         "hash_ids": ids}))
                new = [i for i in ids if i not in known]
                made = model.access((now - start) * 10 ** 6, [known[i] for i in ids if i in known],
                                    len(new))
                known.update(zip(new, made))
                now += draw.choice([0, 0, 1, 3000])
            path = self.write("x.jsonl", "\n".join(lines) + "\n")
            header, frames, _ = import_lines(path, "mooncake", "--k", str(k), "--block-tokens",
                                             str(tokens))
            self.assertEqual(header["k"], max(1, *map(len, model.sets)))
            self.assert_frames(frames, model)

    def test_mlperf_kv_at_random(self):
        for seed in range(6):
            draw = random.Random(seed)
            k, cut = draw.choice([1, 3, 64]), draw.choice([None, 1000])
            columns = draw.sample(COLUMNS, len(COLUMNS))
            model, objects, now = Model(k), {}, draw.randrange(10 ** 9) * 10 ** 9
            start, keys, blocks, begin = None, [], [], None
            path = self.path("x.csv")
            with open(path, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                for _ in range(300):
                    key = draw.choice(["a", "b,c", 'd"e', "ü", "f/g h"]) + str(draw.randrange(9))
                    evict = draw.random() < 0.1
                    read = key in objects and draw.random() < 0.7
                    size = objects[key][0] if read else draw.randrange(1, 5000)
                    row = {"Timestamp": f"{now // 10 ** 9}.{now % 10 ** 9:09d}", "Key": key,
                           "Operation": "Read" if read else "Write", "Object_Size_Bytes": size,
                           "Tier": f"Tier-{draw.randrange(3)}",
                           "Phase": "Evict" if evict else draw.choice(["Prefill", "Decode"])}
                    writer.writerow([row[column] for column in columns])
                    start = now if start is None else start
                    if read and not evict:
                        if key in keys:
                            model.access(begin, blocks, 0)
                            keys, blocks = [], []
                        begin = begin if keys else now - start
                        keys.append(key)
                        blocks += objects[key][1]
                    elif not evict:
                        made = -(-size // cut) if cut else 1
                        made = model.access(begin if keys else now - start, blocks, made)
                        objects[key] = (size, made)
                        keys, blocks = [], []
                    now += draw.choice([0, 1000, 250000])
                if keys:
                    model.access(begin, blocks, 0)
            options = ["--block-bytes", f"{cut}B"] if cut else []
            _, frames, told = import_lines(path, "mlperf-kv", "--k", str(k), *options)
            self.assert_frames(frames, model)
            self.assertIn("rows of phase Evict", told)

    def test_clocks_of_threads(self):
        """Rows a little out of order are taken as simultaneous."""
        path = self.write("x.csv", ",".join(COLUMNS) + "\n"
                          "10.5,Write,1,Tier-0,a,Prefill\n"
                          "9.6,Write,1,Tier-0,b,Prefill\n"
                          "11,Write,1,Tier-0,c,Prefill\n")
        _, frames, _ = import_lines(path, "mlperf-kv")
        self.assertEqual([frame.get("compute_ns") for frame in frames],
                         [250000000, 250000000, None])

    def test_stops_at_frames(self):
        source = os.path.join(CASES, "good", "mooncake.jsonl")
        _, whole, _ = import_lines(source, "mooncake", "--compute", "profile")
        for count in range(1, len(whole) + 1):
            header, frames, _ = import_lines(source, "mooncake", "--frames", str(count),
                                             "--compute", "profile")
            self.assertEqual((header["frames"], frames), (count, whole[:count]))
            self.assertIn("stopped early", header["made_by"])


class RoundTrip(Case):
    def test_import_validate_replay(self):
        for form in ("mooncake.jsonl", "mlperf-kv.csv"):
            trace = self.path(form + ".trace.jsonl")
            source = os.path.join(CASES, "good", form)
            for residency, k in (("forced-nvme", "64"), ("tiered", "3")):
                options = ["--k", k]  # of a session, as many as the model's window takes
                _, frames, _ = import_lines(source, form.split(".")[0], *options)
                run("trace", "import", "--format", form.split(".")[0], source, "--out", trace,
                    *options)
                self.assertEqual(run("trace", "validate", trace).returncode, 0)
                self.assertEqual(run("trace", "info", trace).returncode, 0)
                result = run("replay", "--trace", trace, "--arm", "on_demand", "--warmup", "0",
                             "--residency", residency, "--bandwidth", "0.25GB/s", "--json", "-")
                self.assertEqual(result.returncode, 0, result.stderr)
                document = json.loads(result.stdout)
                self.assertEqual(document["trace"]["origin"], "imported")
                self.assertEqual([frame["blocks_gpu"] + frame["blocks_dram"] + frame["blocks_nvme"]
                                  for frame in document["frames"]],
                                 [len(frame["retrieved"]) for frame in frames])
                for played, frame in zip(document["frames"], frames):
                    if "compute_ns" in frame:
                        self.assertEqual(played["compute_ns"],
                                         max(frame["compute_ns"], played["decode_ns"]))

    def test_hints_need_poses(self):
        trace = self.path("t.jsonl")
        run("trace", "import", "--format", "mooncake", os.path.join(CASES, "good", "mooncake.jsonl"),
            "--out", trace)
        self.assertEqual(run("replay", "--trace", trace, "--arm", "prefetch").returncode, 2)
        self.assertEqual(run("replay", "--trace", trace, "--arm", "prefetch", "--hints",
                             "known").returncode, 0)


class Usage(Case):
    def assert_refused(self, status, text, *arguments):
        result = run("trace", "import", *arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
        self.assertIn(text, result.stderr)
        return result.stderr

    def test_options(self):
        source = os.path.join(CASES, "good", "mooncake.jsonl")
        out = ["--out", self.path("x.jsonl")]
        moon = ["--format", "mooncake", source, *out]
        self.assert_refused(2, "--format, --out and a file are needed")
        self.assert_refused(2, "needed", "--format", "mooncake", source)
        self.assert_refused(2, "one file at a time", *moon, source)
        for text, arguments in (
                ("\"csv\" is none of mooncake mlperf-kv", ["--format", "csv", source, *out]),
                ("--k: 65 is out of range", [*moon, "--k", "65"]),
                ("--k: 0 is out of range", [*moon, "--k", "0"]),
                ("--frames: \"x\" is not a number", [*moon, "--frames", "x"]),
                ("--compute: \"wall\" is none of", [*moon, "--compute", "wall"]),
                ("--name: \"a/b\" is not a name", [*moon, "--name", "a/b"]),
                ("--block-tokens: 0 is out of range", [*moon, "--block-tokens", "0"]),
                ("--block-bytes: \"7\" has no unit", [*moon, "--block-bytes", "7"]),
                ("--block-bytes for mlperf-kv", [*moon, "--block-bytes", "7MB"]),
                ("--block-tokens is for mooncake",
                 ["--format", "mlperf-kv", source, *out, "--block-tokens", "16"])):
            message = self.assert_refused(2, text, *arguments)
            self.assertEqual(message.count("\n"), 1, message)
        self.assert_refused(4, "cannot open", "--format", "mooncake", self.path("missing"), *out)
        self.assert_refused(4, "found a directory", "--format", "mooncake", self.folder, *out)
        self.assert_refused(4, "cannot be written", "--format", "mooncake", source, "--out",
                            self.path("missing/x.jsonl"))
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(run("trace", "import", "--help").returncode, 0)

    def test_too_many_frames(self):
        path = self.write("x.csv", ",".join(COLUMNS) + "\n"
                          f"1,Write,{2 ** 62},Tier-0,a,Prefill\n")
        message = self.assert_refused(4, "x.csv:2: more than the 16777216 frames", "--format",
                                      "mlperf-kv", path, "--out", "-", "--block-bytes", "1B")
        self.assertEqual(message.count("\n"), 1)

    def test_nothing_overwritten(self):
        out = self.write("old.jsonl", "old")
        self.assert_refused(4, "unknown key", "--format", "mooncake",
                            os.path.join(CASES, "bad", "unknown_key.jsonl"), "--out", out)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")

    def test_names_of_files_stay_readable(self):
        """Whatever the file is called, the header can be read again."""
        with open(os.path.join(ROOT, CASES, "good", "mooncake.jsonl"), encoding="utf-8") as file:
            text = file.read()
        out = self.path("out.jsonl")
        for name in (b"q\"uo\\te", b"new\nline", b"bytes\xff\xfe", "\u00fcml\u00e4ut".encode()):
            path = os.path.join(self.folder.encode(), name)
            with open(path, "wb") as file:
                file.write(text.encode())
            result = subprocess.run([PROGRAM, "trace", "import", "--format", "mooncake", path,
                                     "--out", out], check=False, stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(run("trace", "validate", out).returncode, 0, name)


class Size(Case):
    def test_many_requests(self):
        """As many blocks as the published traces have: memory and time stay in proportion."""
        draw, turns, lines, next_id = random.Random(1), [], [], 1
        for i in range(4000):
            past = draw.choice(turns) if turns and draw.random() < 0.6 else [0]
            ids = past[:draw.randrange(1, len(past) + 1)]
            new = draw.randrange(1, 40)
            ids = ids + list(range(next_id, next_id + new))
            next_id += new
            turns.append(ids)
            lines.append('{"timestamp": %d, "input_length": %d, "output_length": 1, "hash_ids": %s}'
                         % (i * 300, len(ids) * 512, ids))
        path = self.write("big.jsonl", "\n".join(lines) + "\n")
        _, frames, _ = import_lines(path, "mooncake")
        self.assertGreater(len(frames), 50000)
        retrieved = sum(len(frame["retrieved"]) for frame in frames)
        self.assertEqual(retrieved, sum(map(len, turns)) - next_id)


if __name__ == "__main__":
    unittest.main()
