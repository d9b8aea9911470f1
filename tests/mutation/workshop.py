"""A copy of the tree in which one bug at a time is built and tested.

Everything but the tests is linked into one shared library, so that a changed
file costs one compilation and one link, whatever runs after it. The checkout
itself is never touched.
"""

import glob
import importlib.machinery
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys

OBJECTS = "build/mutant"
LIBRARY = f"{OBJECTS}/libmutant.so"
MUTANT = f"{OBJECTS}/mutant.o"
PROGRAMS = [f"{OBJECTS}/{name}" for name in (
    "worldpager", "pager/examples/embed", "tests/gpu/measure_gpu", "tests/gpu/measure_played",
    "tests/gpu/worldpager_played", "tests/gpu/embed_played")]
ASIDE = f"{OBJECTS}/aside"  # objects of the right header, while there are others
COMMON = (f"OBJ={OBJECTS}", "CFLAGS=-fPIC -g0", "LDFLAGS=-Wl,-rpath,'$$ORIGIN:$$ORIGIN/../..'")
# A bug must not cost more than its test: processor seconds, bytes of memory and of a file.
MEMORY_BYTES = 12 << 30
FILE_BYTES = 4 << 30


class DoesNotBuild(Exception):
    pass


class Equivalent(Exception):
    """The compiler makes the same of it."""


def call(words, folder, **more):
    return subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **more)


def tree_files(root):
    """What a copy has to hold: all that is not ignored; without version control, all but build/."""
    if os.path.exists(os.path.join(root, ".git")):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "-c", "-o",
                                 "--exclude-standard"], stdout=subprocess.PIPE, check=True)
        names = listed.stdout.decode().split("\0")
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, here in os.walk(root) for name in here
                 if not os.path.relpath(folder, root).startswith("build")]
    return [name for name in sorted(set(names))
            if name and os.path.isfile(os.path.join(root, name))]


def object_of(path):
    return f"{OBJECTS}/{path[:-2]}.o"


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Workshop:
    def __init__(self, folder):
        self.folder = folder
        self.runner = None
        self.times = {}  # of each test, in s, when nothing is wrong

    def path(self, name):
        return os.path.join(self.folder, name)

    # -- the copy and its build

    def copy_tree(self, root):
        """Makes the copy the same as the tree; whether anything was different."""
        names = tree_files(root)
        changed = False
        for name in names:
            target = self.path(name)
            if os.path.isfile(target) and read(target) == read(os.path.join(root, name)):
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(root, name), target)
            changed = True
        for folder, folders, here in os.walk(self.folder):
            inside = os.path.relpath(folder, self.folder)
            if inside == ".":
                folders[:] = [name for name in folders if name != "build"]
            for name in here:
                if os.path.normpath(os.path.join(inside, name)) not in set(names):
                    os.unlink(os.path.join(folder, name))
                    changed = True
        return changed

    def make(self, jobs, *words):
        done = call(["make", "-s", f"-j{jobs}", "CUDA=0", "CC=gcc", *words], self.folder)
        if done.returncode:
            raise DoesNotBuild(done.stdout)

    def build(self, jobs):
        """The library of everything, and the tests that use it."""
        self.make(jobs, *COMMON, f"{OBJECTS}/libharness.a", f"{OBJECTS}/libworldpager.a")
        self.link()
        self.make(jobs, *COMMON, f"LIBRARIES={LIBRARY}", "tests")

    def link(self, instead=None):
        """All objects into the library, that of one source from MUTANT."""
        objects = [os.path.relpath(path, self.folder) for part in ("harness", "pager")
                   for path in glob.glob(self.path(f"{OBJECTS}/{part}/**/*.o"), recursive=True)
                   if not path.endswith(("/harness/main.o", "/examples/embed.o"))]
        if instead:
            objects.remove(object_of(instead))
            objects.append(MUTANT)
        done = call(["gcc", "-shared", "-Wl,-soname,libmutant.so", "-o", LIBRARY + ".new",
                     *sorted(objects)], self.folder)
        if done.returncode:
            raise DoesNotBuild(done.stdout)
        # Old, for make, so that what is linked to it stays as it is; and a new file: somebody
        # who hangs may still have the one before mapped.
        os.utime(self.path(LIBRARY + ".new"), (1, 1))
        os.replace(self.path(LIBRARY + ".new"), self.path(LIBRARY))

    def compile(self, path):
        """One changed source into MUTANT; Equivalent if the object is the same."""
        flags = shlex.split(read(self.path(f"{OBJECTS}/flags")).decode())
        done = call([*flags, "-w", "-c", "-o", MUTANT, path], self.folder)
        if done.returncode:
            raise DoesNotBuild(done.stdout)
        if read(self.path(MUTANT)) == read(self.path(object_of(path))):
            raise Equivalent()

    def plant(self, path, source, tests):
        """Builds with a changed file, which is then again what it was."""
        right, about = read(self.path(path)), os.stat(self.path(path))
        try:
            with open(self.path(path), "w", encoding="utf-8") as file:
                file.write(source)
            if path.endswith(".h"):
                self.rebuild(path, tests)
            else:
                self.compile(path)
                self.link(instead=path)
        finally:
            with open(self.path(path), "wb") as file:
                file.write(right)
            os.utime(self.path(path), ns=(about.st_atime_ns, about.st_mtime_ns))

    def dependents(self, header):
        """Objects, and programs made in one step, that include it, by make's own notes."""
        word = re.compile(rf"\s{re.escape(header)}\s")
        for folder, _, names in os.walk(self.path(OBJECTS)):
            for name in sorted(names):
                stem = os.path.relpath(os.path.join(folder, name[:-2]), self.folder)
                if name.endswith(".d") and not stem.startswith(ASIDE) and \
                        word.search(read(self.path(stem + ".d")).decode()):
                    yield stem + ".o" if os.path.exists(self.path(stem + ".o")) else stem

    def rebuild(self, header, tests):
        """What includes the header; of the tests only those that will be asked."""
        targets = [target for target in self.dependents(header)
                   if target in tests or not os.path.basename(target).startswith("test_")]
        # These have objects of their own.
        targets += [target for target in PROGRAMS if os.path.exists(self.path(target))]
        for target in targets:
            os.makedirs(os.path.dirname(self.path(f"{ASIDE}/{target}")), exist_ok=True)
            os.replace(self.path(target), self.path(f"{ASIDE}/{target}"))
        self.make(1, *COMMON, f"LIBRARIES={LIBRARY}", *targets)
        if all(read(self.path(target)) == read(self.path(f"{ASIDE}/{target}"))
               for target in targets):
            raise Equivalent()
        self.link()

    def clean(self):
        """After a changed header everything is put back; a changed source leaves nothing."""
        if not os.path.exists(self.path(ASIDE)):
            return
        for folder, _, names in os.walk(self.path(ASIDE)):
            for name in names:
                aside = os.path.join(folder, name)
                os.replace(aside, self.path(os.path.relpath(aside, self.path(ASIDE))))
        shutil.rmtree(self.path(ASIDE))
        self.link()

    # -- tests

    def load_runner(self):
        """tests/run of the copy, as a module."""
        loader = importlib.machinery.SourceFileLoader("run", self.path("tests/run"))
        spec = importlib.util.spec_from_loader("run", loader)
        self.runner = importlib.util.module_from_spec(spec)
        sys.dont_write_bytecode = True
        loader.exec_module(self.runner)

    def tests(self, objects=OBJECTS):
        return self.runner.find_tests(objects, [])

    def run(self, test, objects=OBJECTS, under=None):
        """The outcome of one test, as tests/run has it; bounded, if not run under something."""
        options = self.runner.parse_options(["--objects", objects])
        usual_s = self.times.get(test, 60)
        options.limit = 20 + 6 * usual_s
        options.under = under or ["prlimit", f"--cpu={int(5 + 5 * usual_s)}", "--core=0",
                                  f"--as={MEMORY_BYTES}", f"--fsize={FILE_BYTES}"]
        return self.runner.run_one(test, options)

    def take_away_mounts(self):
        """What a test that was stopped has mounted in the copy, and the loop devices of it."""
        inside = self.folder + "/"
        with open("/proc/mounts", encoding="utf-8") as file:
            points = [line.split()[1] for line in file]
        for point in reversed(points):
            if point.startswith(inside):
                subprocess.run(["umount", point], check=False)
        listed = subprocess.run(["losetup", "--list", "--noheadings", "-O", "NAME,BACK-FILE"],
                                stdout=subprocess.PIPE, text=True, check=False).stdout
        for name, backing in (line.split(maxsplit=1) for line in listed.splitlines()):
            if backing.startswith(inside):
                subprocess.run(["losetup", "--detach", name], check=False)

    def fails(self, test):
        """What a failing test said, or None. Failing means twice: the machine has other users."""
        outcome = self.run(test)
        if outcome.failed and "stopped: not over after" in outcome.output:
            self.take_away_mounts()
        if outcome.failed and "stopped: not over after" not in outcome.output:
            outcome = self.run(test)
        return outcome.output if outcome.failed else None

    def first_failure(self, tests):
        """(test, what it said) of the first test that fails, or None."""
        for test in tests:
            said = self.fails(test)
            if said is not None:
                return test, said
        return None
