#!/usr/bin/env python3
"""What `make install` puts elsewhere works when the tree it came from is gone: the program finds
its data, an example outside builds with pkg-config alone, and uninstall leaves nothing behind.

Run it alone: tests/cli/test_install.py (with WORLDPAGER=path for another program). The objects
are copied beside a copy of the sources, so that only what names the prefix is compiled again.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager")))
SOURCES = ("Makefile", "pager", "harness", "configs", "traces", "scripts", "results/paper",
           "results/schema")
VARIANT = re.compile(r"(gcc|clang)(-O\w)(-[a-z-]*?)?(-werror)?(?:-cuda([01]))?$")


def find_objects():
    """The folder of objects that the program was linked from, whichever link names it."""
    folders = [PROGRAM.parent, *sorted((ROOT / "build/obj").glob("*"))]
    for folder in folders:
        if VARIANT.match(folder.name) and (folder / "libworldpager.a").exists() and \
                (folder / "worldpager").exists() and PROGRAM.samefile(folder / "worldpager"):
            return folder
    return None


OBJECTS = find_objects()


def run(*command, expect=0, cwd="/", **variables):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True,
                          check=False, timeout=120, env={**os.environ, **variables})
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def not_objects(folder, names):
    """Tests, and what tests that run at this moment keep beside the program."""
    return [name for name in names
            if Path(folder) == OBJECTS and (name == "tests" or name.startswith("tmp"))]


class Clone:
    """A copy of the sources and objects, and the make variables that say how they were built."""

    def __init__(self, folder):
        self.path = folder / "clone"
        for name in SOURCES:
            source, target = ROOT / name, self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, copy_function=shutil.copy2)
            else:
                shutil.copy2(source, target)
        objects = self.path / "build/obj" / OBJECTS.name
        shutil.copytree(OBJECTS, objects, copy_function=shutil.copy2,
                        ignore=not_objects)
        compiler, level, rest, werror, cuda = VARIANT.match(OBJECTS.name).groups()
        self.sanitize = rest.strip("-").replace("-", ",") if rest else ""
        self.variables = [f"CC={compiler}", f"OPT={level}", f"SANITIZE={self.sanitize}",
                          f"WERROR={'1' if werror else ''}", f"CUDA={cuda or 'auto'}"]

    def make(self, *words, **options):
        return run("make", "-s", "-C", self.path, *self.variables, *words, **options)


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@unittest.skipUnless(OBJECTS, f"no objects that {PROGRAM} was linked from")
class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = cls.folder / "prefix"
        cls.clone = Clone(cls.folder)
        cls.clone.make("install", f"PREFIX={cls.prefix}")
        # What the program finds from here on is what was installed.
        cls.clone.path = cls.clone.path.rename(cls.folder / "moved")
        cls.program = cls.prefix / "bin/worldpager"

    def elsewhere(self):
        path = Path(tempfile.mkdtemp(dir=self.folder))
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def test_every_kind_of_data_is_found(self):
        cwd = self.elsewhere()
        done = run(self.program, "replay", "--trace", "no_such", cwd=cwd, expect=4)
        self.assertIn("known: a_yaw, b1_ws", done.stderr)
        run(self.program, "replay", "--trace", "b1_ws", "--frames", "30", "--model",
            "lingbot-world-fast", "--drive", "nvme-gen4", "--bandwidth", "0.25GB/s",
            "--json", "out.json", cwd=cwd)
        self.assertEqual(json.loads((cwd / "out.json").read_text())["drive"], "nvme-gen4")
        run(self.program, "trace", "make", "--trajectory", "a_yaw", "--out", "a.jsonl", cwd=cwd)
        self.assertEqual((cwd / "a.jsonl").read_bytes(),
                         (ROOT / "traces/a_yaw.jsonl").read_bytes())
        run(self.program, "plan", cwd=cwd)

    def test_sweep_and_plot(self):
        cwd = self.elsewhere()
        figures = [] if shutil.which("gnuplot") else ["--no-figures"]
        run(self.program, "sweep", "smoke", "--out", "results", *figures, cwd=cwd)
        (cwd / "results/summary.md").unlink()
        if not figures:
            run(self.program, "plot", "results", cwd=cwd)
            self.assertIn("P1", (cwd / "results/summary.md").read_text())

    def test_calibration_runs_the_installed_jobs(self):
        cwd = self.elsewhere()
        fio = cwd / "fio"
        fio.write_text(f"#!/bin/sh\necho \"$@\" >>{cwd}/asked\n"
                       "[ \"$1\" != --version ] || echo fio-3.33\n")
        fio.chmod(0o755)
        run(self.program, "calibrate", "--fio", fio, "--size", "256MiB", "--store", ".", "--out",
            "d.json", cwd=cwd, expect=4)
        self.assertIn(f"{self.prefix}/share/worldpager/configs/fio/",
                      (cwd / "asked").read_text())

    def test_example_builds_outside(self):
        cwd = self.elsewhere()
        for file in (self.prefix / "share/doc/worldpager/examples").iterdir():
            shutil.copy(file, cwd)
        flags = f"-fsanitize={self.clone.sanitize}" if self.clone.sanitize else ""
        # What the make that runs the tests was told is no business of this one.
        run("make", "embed", cwd=cwd, CFLAGS=f"-Werror {flags}", MAKEFLAGS="",
            PKG_CONFIG_PATH=f"{self.prefix}/lib/pkgconfig")
        self.assertRegex(run(cwd / "embed", cwd / "blocks").stdout,
                         r"48 blocks stored, [1-9]\d* read back")

    def test_each_header_stands_alone(self):
        folder = self.prefix / "include/worldpager"
        headers = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.h"))
        self.assertIn("pager/pager.h", headers)
        strict = ["-I.", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fsyntax-only"]
        run("gcc", *strict, "-x", "c", *headers, cwd=folder)
        if shutil.which("g++"):
            # A program in C++ asks for the linkage of C itself.
            both = self.elsewhere() / "all.cc"
            both.write_text('extern "C" {\n' +
                            "".join(f'#include "{header}"\n' for header in headers) + "}\n")
            run("g++", *strict, both, cwd=folder)

    def test_recorder_is_there(self):
        recorder = self.prefix / "share/worldpager/scripts/record_trace.py"
        self.assertIn("record", run(recorder, "--help").stdout)

    def test_staged_again_and_taken_away(self):
        stage = self.folder / "a stage"
        words = (f"PREFIX={self.prefix}", f"DESTDIR={stage}")
        self.clone.make("install", *words)
        root = Path(f"{stage}{self.prefix}")
        self.assertEqual(files_below(root), files_below(self.prefix))
        self.assertNotIn(str(stage), (root / "lib/pkgconfig/worldpager.pc").read_text())
        kept = root / "share/worldpager/configs/drives/mine.json"
        kept.write_text("{}\n")
        stale = root / "share/worldpager/stale.json"
        stale.write_text("{}\n")
        with open(root / "share/worldpager/INSTALLED", "a", encoding="utf-8") as manifest:
            manifest.write("share/worldpager/stale.json\n../../outside\n")
        outside = Path(os.path.normpath(root / "../../outside"))
        outside.write_text("not ours\n")
        self.clone.make("install", *words)
        self.assertEqual((stale.exists(), kept.exists(), outside.exists()), (False, True, True))
        self.clone.make("uninstall", *words)
        self.assertEqual(files_below(root), ["share/worldpager/configs/drives/mine.json"])
        done = self.clone.make("uninstall", *words, expect=2)
        self.assertIn("nothing is installed", done.stderr)

    def test_the_cuda_runtime_is_named_where_it_is_needed(self):
        prefix, runtime = self.elsewhere() / "p", self.elsewhere() / "libcudart_static.a"
        runtime.write_text("")
        run(self.clone.path / "scripts/install", "--objects",
            self.clone.path / "build/obj" / OBJECTS.name, "--prefix", prefix, "--version", "1.2.3",
            "--cudart", runtime, cwd=self.clone.path)
        self.assertIn(f"-L{runtime.parent} -lcudart_static",
                      run("pkg-config", "--libs", "worldpager >= 1.2.3",
                          PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig").stdout)

    def test_wrong_options(self):
        install = self.clone.path / "scripts/install"
        for words in (["--prefix", "usr"], ["--prefix"], ["--what"], ["--prefix", "/usr"]):
            done = run(install, "--objects", "/nonexistent", *words, expect=2)
            self.assertTrue(done.stderr)


if __name__ == "__main__":
    unittest.main()
