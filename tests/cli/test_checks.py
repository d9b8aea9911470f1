"""The checks of layers and style can fail: each rule is broken once in a small tree."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Tree:
    """A few files in a temporary folder, checked by one of the scripts."""

    def __init__(self, files):
        self.folder = tempfile.TemporaryDirectory()
        for path, text in files.items():
            full = os.path.join(self.folder.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)

    def check(self, script):
        result = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", script),
                                 self.folder.name], stdout=subprocess.PIPE, text=True, check=False)
        self.folder.cleanup()
        return result.returncode, result.stdout


class Layers(unittest.TestCase):
    FINE = {
        "pager/clock.h": "#include <stdint.h>\n",
        "pager/port.h": '#include "pager/clock.h"\n',
        "pager/order_fifo.c": '#include "pager/order.h"\n',
        "pager/store_uring.c": "#include <liburing.h>\n",
        "pager/pager.c": '/* printf() in a comment */\nstatic const char *a = "exit(1)";\n',
        "harness/config.c": "#include <jansson.h>\n",
    }

    def assert_fault(self, path, text, expected):
        status, output = Tree({**self.FINE, path: text}).check("check-layers")
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)
        self.assertEqual(output.count("\n"), 1, output)

    def test_clean_tree_passes(self):
        self.assertEqual(Tree(self.FINE).check("check-layers"), (0, "layers: fine\n"))

    def test_empty_tree_fails(self):
        self.assertEqual(Tree({"README": "\n"}).check("check-layers")[0], 1)

    def test_seam_sees_the_pager(self):
        self.assert_fault("pager/clock.h", '#include "pager/pager.h"\n', "a seam includes only")

    def test_seam_sees_a_library(self):
        self.assert_fault("pager/clock.h", "#include <sys/uio.h>\n", "a seam includes only")

    def test_order_sees_the_store(self):
        self.assert_fault("pager/order_fifo.c", '#include "pager/store.h"\n', "asks no seam")

    def test_pager_sees_the_harness(self):
        self.assert_fault("pager/pager.c", '#include "harness/replay/run.h"\n',
                          "nothing of the harness")

    def test_liburing_elsewhere(self):
        self.assert_fault("harness/machine/doctor.c", "# include <liburing.h>\n", "liburing")

    def test_cuda_elsewhere(self):
        self.assert_fault("pager/device_model.c", "#include <cuda_runtime.h>\n", "CUDA")

    def test_json_elsewhere(self):
        self.assert_fault("harness/stats.c", "#include <jansson.h>\n", "JSON")

    def test_harness_sees_internals(self):
        self.assert_fault("harness/replay/replay.c", '#include "pager/pager_internal.h"\n',
                          "internals")

    def test_part_sees_a_later_one(self):
        self.assert_fault("harness/trace/trace.c", '#include "harness/replay/run.h"\n',
                          "comes after")
        self.assert_fault("harness/error.c", '#include "harness/files/output.h"\n', "comes after")

    def test_unknown_part(self):
        self.assert_fault("harness/misc/more.c", "", "no folder of the harness is called so")

    def test_include_without_folder(self):
        self.assert_fault("harness/replay/replay.c", '#include "run.h"\n', "write the folder")

    def test_pager_prints(self):
        self.assert_fault("pager/pager.c", 'int f(void)\n{\n\treturn printf("");\n}\n',
                          "pager/pager.c:3: the pager does not call printf()")

    def test_pager_exits_or_looks_around(self):
        for call in ("exit(1)", "abort ()", 'getenv("A")', 'system("a")', "fork()"):
            self.assert_fault("pager/pager.c", f"void *f(void)\n{{\n\t{call};\n}}\n", "not call")

    def test_circle_of_headers(self):
        self.assert_fault("pager/clock.h", '#include "pager/port.h"\n', "circle of headers")


class Style(unittest.TestCase):
    def assert_fault(self, path, text, expected):
        status, output = Tree({path: text}).check("check-style")
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)

    @staticmethod
    def function(lines):
        return "/* a */\nvoid f(void)\n{\n" + "\tg();\n" * lines + "}\n"

    def test_clean_tree_passes(self):
        tree = Tree({"a.c": self.function(70), "README.md": "See build/worldpager.\n"})
        self.assertEqual(tree.check("check-style"), (0, "style: fine\n"))

    def test_long_function(self):
        self.assert_fault("a.c", self.function(71), "a.c:3: a function of 71 lines")

    def test_long_file(self):
        self.assert_fault("a.c", "/* a */\n" + "int f(void);\n" * 600, "601 lines")

    def test_file_without_opening(self):
        self.assert_fault("a.c", "#include <stdio.h>\n", "what the file is for")

    def test_spaces(self):
        self.assert_fault("a.md", "one \ntwo\n", "a.md:1: space")
        self.assert_fault("a.md", "one\r\ntwo\n", "a.md:1: space")
        self.assert_fault("a.md", "one", "no newline")
        self.assert_fault("a.md", "one\n\n", "empty lines")

    def test_unfinished_work(self):
        for mark in ("TO" "DO", "FIX" "ME", "XX" "X"):
            self.assert_fault("a.c", f"/* {mark}: later */\n", "unfinished work")

    def test_machine_path(self):
        self.assert_fault("a.py", "open('/ho" "me/somebody/a')\n", "path of a machine")

    def test_kept_results_name_nobody(self):
        for text in ('{"machine_facts": {"hostname": null}}', '{"a": [{"user_name": "x"}]}',
                     '{"store": "/srv/blocks"}', '{"by": "me@there"}', '{"at": "box.lan"}'):
            self.assert_fault("results/reference/a.json", text + "\n", "names a machine")
        self.assert_fault("results/reference/a.jsonl", '{"a": 1}\n{"at": "~/x"}\n', "names a machine")
        self.assert_fault("results/reference/a.json", '{"cut": \n', "not JSON")
        fine = '{"host_memory_bytes": 1, "argv": ["worldpager replay"], "unit": "GB/s"}\n'
        self.assertEqual(Tree({"results/a.json": fine}).check("check-style")[0], 0)


class Cases(unittest.TestCase):
    """tests/CASES.md: no case twice, and every test that it names is there."""

    def setUp(self):
        with open(os.path.join(ROOT, "tests", "CASES.md"), encoding="utf-8") as file:
            self.rows = [line for line in file if re.match(r"\| [A-E]\d\d \|", line)]

    def test_every_case_once(self):
        cases = [row[2:5] for row in self.rows]
        self.assertEqual(cases, sorted(set(cases)))
        self.assertEqual((cases[0], cases[-1]), ("A01", "E25"))
        for row in self.rows:
            self.assertEqual(row.count(" | "), 3, row)

    def test_named_tests_exist(self):
        named = re.findall(r"`(tests/\S+\.(?:py|c)): (\w+)`", "".join(self.rows))
        self.assertGreater(len(named), len(self.rows))
        for path, name in named:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.assertRegex(file.read(), rf"(?m)^ *(def|static void) {name}\(", path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
