#!/usr/bin/env python3
"""What documents and the CI workflow tell people to run exists: verbs, options, make targets,
experiments and linked files; and the workflow is YAML whose scripts bash can read.

Run it alone: tests/cli/test_documents.py (with WORLDPAGER=path for another program).
"""
import functools
import os
import re
import shlex
import subprocess
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
WORKFLOW = ROOT / "harness/examples/github-actions.yml"
DOCUMENTS = sorted(path for path in ROOT.glob("*.md")) + sorted(
    path for folder in ("harness", "pager", "traces", "configs", "results", "scripts", "tests")
    for path in (ROOT / folder).glob("*.md"))


def script_blocks(text):
    """The commands of a document, indented or not."""
    for indent, block in re.findall(r"^( *)```sh\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        yield "\n".join(line.removeprefix(indent) for line in block.splitlines())


def workflow_scripts():
    """What follows `run:`, on its line or below it."""
    text = WORKFLOW.read_text()
    yield from re.findall(r"^ +(?:- )?run: ([^|\n].*)$", text, re.MULTILINE)
    for indent, block in re.findall(r"^( +)(?:- )?run: \|\n((?:\1 .*\n|\n)+)", text, re.MULTILINE):
        yield "\n".join(line.removeprefix(indent + "  ") for line in block.splitlines())


@functools.lru_cache(None)
def known_options(words):
    done = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, check=False)
    return set(re.findall(r"^ +(?:-\S, +)?(--[a-z][a-z-]*)", done.stdout, re.MULTILINE))


def commands(script):
    """Each command as words, comments and joined lines gone; what shlex cannot read is no command."""
    for line in script.replace("\\\n", " ").splitlines():
        for piece in re.split(r"&&|\|\||;|\|", line):
            try:
                words = shlex.split(piece, comments=True)
            except ValueError:
                continue
            if words:
                yield words


@functools.lru_cache(None)
def make_targets():
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def faults_of(script):
    for words in commands(script):
        words = [word for word in words if "=" not in word or word.startswith("-")]
        if words and words[0].endswith("build/worldpager") and len(words) > 1:
            verb = tuple(words[1:3] if words[1] == "trace" else words[1:2])
            if verb[0].startswith("-") or verb[0] == "VERB":
                continue
            known = known_options(verb)
            if not known:
                yield f"no verb {' '.join(verb)}"
            for word in words:
                option = word.split("=")[0]
                if option.startswith("--") and option not in known | {"--help"}:
                    yield f"{' '.join(verb)} has no {option}"
            if verb[0] == "sweep" and "/" not in words[2] and not words[2].startswith("-") and \
                    not (ROOT / f"configs/experiments/{words[2]}.json").exists():
                yield f"no experiment {words[2]}"
        elif words and words[0] == "make" and "-C" not in words:
            for word in words[1:]:
                if not word.startswith("-") and word not in make_targets():
                    yield f"make has no {word}"


class Documents(unittest.TestCase):
    def test_commands_exist(self):
        count = 0
        for path in DOCUMENTS:
            for script in script_blocks(path.read_text()):
                count += 1
                self.assertEqual(list(faults_of(script)), [], f"{path}:\n{script}")
        self.assertGreater(count, 10)

    def test_the_check_can_fail(self):
        for script in ("build/worldpager nothing", "build/worldpager replay --arms x", "make noon",
                       "cd x && build/worldpager plan --world=a", "build/worldpager sweep nowhere"):
            self.assertTrue(list(faults_of(script)), script)

    def test_links_lead_somewhere(self):
        for path in DOCUMENTS:
            text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
            for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                if "://" not in link:
                    self.assertTrue((path.parent / link).exists(), f"{path}: {link}")


class Workflow(unittest.TestCase):
    def test_scripts(self):
        scripts = list(workflow_scripts())
        self.assertEqual(len(scripts), WORKFLOW.read_text().count("run: "))
        for script in scripts:
            self.assertEqual(list(faults_of(script)), [], script)
            done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), script)

    @unittest.skipUnless(yaml, "python3-yaml is not installed")
    def test_yaml(self):
        document = yaml.safe_load(WORKFLOW.read_text())
        for name, job in document["jobs"].items():
            self.assertTrue(job["runs-on"], name)
            for step in job["steps"]:
                self.assertEqual(len({"run", "uses"} & set(step)), 1, step)
        self.assertEqual([step["run"] for job in document["jobs"].values() for step in job["steps"]
                          if "run" in step and "\n" not in step["run"]],
                         [script for script in workflow_scripts() if "\n" not in script])


if __name__ == "__main__":
    unittest.main()
