"""Random operator flips: where an operator may be exchanged, and for what.

A flip is drawn by the rank of its hash: seed, file, the text of its line and
the place in it. So a change elsewhere in the code leaves the draw as it is, and
the figures of two commits can be compared.
"""

import glob
import hashlib
import os
import re

# All of the pager, and what of the harness decides a figure; files that print,
# draw or read options are not meant.
FIGURES = ("codec_report compare compare_figures compare_stats eviction_rank hints lower_bound"
           " motion overlap overlap_plan plan player_frame probe replay replay_bound replay_plan"
           " retrieval session stats threshold throttle_proof trace_read trajectory units walls")
LEFT_OUT = {"pager/gpu_absent.c": "a stand-in without a decision"}

FLIPS = {
    "+": ("-",), "-": ("+",), "+=": ("-=",), "-=": ("+=",), "++": ("--",), "--": ("++",),
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "&": ("|",), "|": ("&",), "|=": ("&=",), "<<": (">>",), ">>": ("<<",),
    "0": ("1",), "1": ("0", "2"),
}
TOKEN = re.compile(
    r"(?P<number>(?:\d|\.\d)[\w.]*(?:(?<=[eEpP])[-+]\w+)*)|(?P<word>[A-Za-z_]\w*)|"
    r"(?P<operator><<=|>>=|->|\+\+|--|[-+*/%&|^!=<>]=|&&|\|\||<<|>>|[-+<>&|])")
SMALL = re.compile(r"([01])([uU]?[lL]{0,2})$")


class Flip:
    def __init__(self, path, function, line, column, text, before, after):
        self.path, self.line, self.column = path, line, column  # both from 1
        self.function = function  # or "-" outside of any
        self.text = text
        self.before, self.after = before, after

    def marked(self):
        """The line with the operator in guillemets: how a flip is called in reports."""
        at = self.column - 1
        return (self.text[:at] + "«" + self.before + "»" +
                self.text[at + len(self.before):]).strip()

    def apply(self, source):
        lines = source.split("\n")
        at = self.column - 1
        old = lines[self.line - 1]
        assert old == self.text
        lines[self.line - 1] = old[:at] + self.after + old[at + len(self.before):]
        return "\n".join(lines)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code_only(source):
    """The source with all that is not code blanked, every character in its place."""
    pattern = (r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
    source = re.sub(pattern, blank, source, flags=re.DOTALL)
    source = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, source, flags=re.MULTILINE)
    return re.sub(r"\b(?:_Static_assert|__attribute__)\s*\((?:[^;{}])*?\)\s*(?=[;{]|\n)", blank,
                  source)


def is_operator(code, match):
    """clang-format tells an operator of two sides by the spaces around it."""
    token = match.group()
    before, after = code[match.start() - 1:match.start()], code[match.end():match.end() + 1]
    if token in ("++", "--"):
        return True
    if token == "-" and after.strip():
        return not re.search(r"[\w)\]]$", code[:match.start()].rstrip()[-1:]) or before == " "
    return before.isspace() and after.isspace()


def in_functions(code):
    """Of a header only what its functions do; their braces alone stand in column 0."""
    lines, inside = [], False
    for line in code.split("\n"):
        inside = line == "{" or (inside and line != "}")
        lines.append(line if inside else "")
    return "\n".join(lines)


def functions_around(source):
    """The name of the function that each line, from 1, stands in."""
    names, name, inside = ["-"], "-", False
    for line in code_only(source).split("\n"):
        opens = re.match(r"[A-Za-z_][^;={}]*?(\w+)\(", line)
        if opens and not inside:
            name = opens.group(1)
        inside = line == "{" or (inside and line != "}")
        names.append(name if inside else "-")
    return names


def sites(path, source):
    """(line, column, token) of everything that can be flipped, in order."""
    code = code_only(source)
    if path.endswith(".h"):
        code = in_functions(code)
    for number, line in enumerate(code.split("\n"), 1):
        for match in TOKEN.finditer(line):
            token = match.group()
            if match.lastgroup == "number":
                small = SMALL.match(token)
                if small:
                    yield number, match.start() + 1, small.group(1)
            elif match.lastgroup == "operator" and token in FLIPS and is_operator(line, match):
                yield number, match.start() + 1, token


def rank(*words):
    return hashlib.sha256("\0".join(map(str, words)).encode()).digest()


def source_paths(root):
    paths = [os.path.relpath(path, root) for path in glob.glob(f"{root}/pager/*.[ch]")]
    for name in FIGURES.split():
        found = glob.glob(f"{root}/harness/**/{name}.c", recursive=True)
        assert found, f"harness has no {name}.c"
        paths += [os.path.relpath(path, root) for path in found]
    return sorted(set(paths) - set(LEFT_OUT))


def drawn_as(path):
    """The layer and the file's name: moving a file within its layer changes no draw."""
    return f"{path.split('/', maxsplit=1)[0]}/{os.path.basename(path)}"


def draw(root, seed, only=None):
    """All flips in the order of their draw, and how many of the sites each file has."""
    ranked, counts = [], {}
    for path in source_paths(root):
        if only and not re.search(only, path):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            source = file.read()
        lines, seen, around = source.split("\n"), {}, functions_around(source)
        for number, column, token in sites(path, source):
            text = lines[number - 1]
            place = (text.strip(), column - (len(text) - len(text.lstrip())))
            seen[place] = seen.get(place, 0) + 1
            name = (seed, drawn_as(path), *place, seen[place])
            after = min(FLIPS[token], key=lambda word, name=name: rank(*name, word))
            flip = Flip(path, around[number], number, column, text, token, after)
            ranked.append((rank(*name), flip))
            counts[path] = counts.get(path, 0) + 1
    return [flip for _, flip in sorted(ranked, key=lambda pair: pair[0])], counts
