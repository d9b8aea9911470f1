#!/usr/bin/env python3
"""`worldpager report`: one page that shows everything and asks for nothing.

The page is read as a browser would read it, and tidy, where there is one, checks its
accessibility. With WP_FULL=1 and Chromium it is also opened (scripts/ci report).
All in the virtual world. Run it alone: tests/cli/test_report.py.
"""
import html
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("WORLDPAGER", str(ROOT / "build" / "worldpager"))
HOSTILE = "<script>alert(1)</script>\"'><img src=http://x.invalid/a>&amp;\\"
BROWSER = next((path for path in map(shutil.which, ("chromium", "chromium-browser",
                                                    "google-chrome")) if path), None)
VOID = {"meta", "link", "br", "hr", "img", "input"}
FETCHING = {"script", "link", "img", "iframe", "object", "embed", "audio", "video", "source",
            "base", "form", "image", "foreignobject", "animate", "set"}
# Of HTML 4, which knew no caption for it; and a hint that no style sheet can pass.
NOT_FAULTS = ("<table> missing summary", "style sheets require testing")


def run(*arguments, **keywords):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, **keywords)


class Page(html.parser.HTMLParser):
    """What a page consists of; `faults` where it does not nest."""

    def __init__(self, text):
        super().__init__()
        self.text, self.open, self.faults = "", [], []
        self.tags, self.ids, self.headings, self.references = [], [], [], []
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"open at the end: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "srcset", "data", "action", "poster"):
                self.references.append(value)
            self.references += re.findall(r"url\((.*?)\)", value or "")
            if name.startswith("on") or "javascript:" in (value or ""):
                self.faults.append(f"runs something: {name}={value}")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"{self.getpos()}: </{tag}> closes what is not open")

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text += data

    def count(self, tag, **wanted):
        return sum(1 for name, attributes in self.tags if name == tag and all(
            attributes.get(key) == value for key, value in wanted.items()))


MADE = Path(tempfile.mkdtemp())


def setUpModule():
    unittest.addModuleCleanup(shutil.rmtree, MADE, ignore_errors=True)
    experiment = MADE / "try.json"
    experiment.write_text(json.dumps(
        {"name": "try", "world": "virtual", "traces": ["a_yaw", "b1_ws"], "frames": 40,
         "arms": ["on_demand", "prefetch"], "bandwidths": ["0.2GB/s", "0.25GB/s"]}))
    for words in (["sweep", experiment], ["overlap"], ["report", MADE / "out"]):
        done = run(*words, *(["--out", MADE / "out"] if words[0] != "report" else []))
        assert done.returncode in (0, 1), done.stderr


class Folder(unittest.TestCase):
    """A copy of one small sweep for each test."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out"
        shutil.copytree(MADE / "out", self.out)
        (self.out / "report.html").unlink()


class Report(Folder):
    def report(self):
        done = run("report", self.out)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        text = (self.out / "report.html").read_text()
        return text, Page(text)

    def refused(self, *words, folder=None):
        done = run("report", folder or self.out)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(list(self.folder.rglob("report.html*")))

    def check(self, text, page):
        """What holds of every page."""
        self.assertEqual(page.faults, [])
        self.assertEqual(len(page.ids), len(set(page.ids)), "ids are not unique")
        for reference in page.references:
            self.assertTrue(reference.startswith("#"), reference)
            self.assertIn(reference[1:], page.ids)
        self.assertFalse(FETCHING & {tag for tag, _ in page.tags})
        self.assertNotIn("@import", text)
        self.assertEqual(page.headings[0], 1)
        self.assertEqual(page.headings.count(1), 1)
        for above, below in zip(page.headings, page.headings[1:]):
            self.assertLessEqual(below, above + 1, page.headings)
        self.assertEqual(page.count("html", lang="en"), 1)
        self.assertEqual(page.count("title"), 1)
        self.assertEqual(page.count("table"), page.count("caption"))
        for tag, attributes in page.tags:
            if tag == "th":
                self.assertIn(attributes.get("scope"), ("row", "col"))
            if tag == "svg":
                self.assertEqual(attributes.get("role"), "img")
                self.assertTrue(attributes.get("aria-label"))

    def edit(self, change):
        for path in (self.out / "replays").iterdir():
            document = json.loads(path.read_text())
            change(document)
            path.write_text(json.dumps(document))

    def test_everything_of_the_folder_is_shown(self):
        text, page = self.report()
        self.check(text, page)
        drawings = sorted((self.out / "figures").glob("*.svg"))
        self.assertEqual(len(drawings), 5)
        self.assertEqual(page.count("figure"), len(drawings))
        for drawing in drawings:
            for label in re.findall(r"<text[^>]*>(.*?)</text>", drawing.read_text(), re.DOTALL):
                self.assertIn(html.unescape(re.sub("<.*?>", "", label)), page.text)
        self.assertEqual(page.count("svg", **{"class": "strip"}), 8)
        for path in (self.out / "replays").iterdir():
            throttle = json.loads(path.read_text())["throttle"]
            self.assertIn(f"{throttle['device_bytes']:,}", page.text)
        for word in ("P1", "P4", "agrees", "Limits and their proof", "Machine", "Notes"):
            self.assertIn(word, page.text)
        self.assertEqual(page.count("meta", name="viewport"), 1)
        self.assertIn("prefers-color-scheme:dark", text)

    def test_strips_are_the_frames(self):
        _, page = self.report()
        path = next((self.out / "replays").glob("*a_yaw*on_demand*0.2GBps*"))
        frames = json.loads(path.read_text())["frames"]
        stalled = sum(frame["stall_ns"] > 0 for frame in frames[20:])
        self.assertIn(f"{stalled} of 20 frames stalled", page.text)
        bars = [attributes["d"].count("M") - 1 for tag, attributes in page.tags
                if tag == "path" and attributes["d"].startswith("M0 100")]
        self.assertIn(sum(frame["stall_ns"] > 0 for frame in frames), bars)

    def test_the_same_page_again_and_elsewhere(self):
        text, _ = self.report()
        self.assertEqual(self.report()[0], text)
        other = self.folder / "other.html"
        self.assertEqual(run("report", self.out, "--out", other).returncode, 0)
        self.assertEqual(other.read_text(), text)
        done = run("report", "-o", "-", self.out)
        self.assertEqual(done.stdout, text)

    def test_text_from_documents_is_text(self):
        def change(document):
            document["trace"].update(name=HOSTILE, origin=HOSTILE)
            document["throttle"].update(reason=HOSTILE, valid=False)
            document.update(arm=HOSTILE, machine=HOSTILE, drive=HOSTILE)
            document["machine_facts"] = {"fingerprint": HOSTILE, "kernel_release": None,
                                         "cpu_model": HOSTILE, "<b>": [1]}
        self.edit(change)
        text, page = self.report()
        self.check(text, page)
        self.assertGreaterEqual(page.text.count(HOSTILE), 8)

    def test_figures_of_very_wrong_numbers(self):
        def change(document):
            document["throttle"].update(probe_bytes_per_s=2 ** 63 - 1, device_bytes=-1,
                                        asked_bytes_per_s=2 ** 63 - 1,
                                        read_back_bytes_per_s="much", credit_share=1e308)
        self.edit(change)
        self.check(*self.report())

    def test_drawings_that_do_more_than_draw_are_refused(self):
        path = self.out / "figures" / "stall_a_yaw.svg"
        good = path.read_text()
        for old, new, word in [
                ("<defs>", "<defs><script>alert(1)</script>", "no part of a drawing"),
                ("<defs>", "<defs><image xlink:href='http://x.invalid/a.png'/>", "no part"),
                ("<defs>", "<foreignObject><p>a</p></foreignObject><defs>", "no part"),
                ("<defs>", "<svg></svg><defs>", "no part"),
                ("xlink:href='#gpPt5'", "xlink:href='http://x.invalid/#gpPt5'", "outside"),
                ("xlink:href='#gpPt5'", "href=\"javascript:alert(1)\"", "outside"),
                ('fill="#ffffff"', 'fill="url(http://x.invalid/)"', "draws nothing"),
                ('fill="#ffffff"', 'fill="u&#x72;l(x)"', "draws nothing"),
                ('fill="#ffffff"', 'fill="URL(x)"', "draws nothing"),
                ("id='gpDot'", "id='\" onload=\"x'", "a name"),
                ("</desc>", "</g>", "not begun"),
                ("</svg>", "", "ends in the middle"),
                ("</svg>", "</svg><svg/>", "no part"),
                ("</svg>", "</svg></div>", "not begun"),
                ("</svg>", "</svg>after", "no label"),
                ("</svg>", "<g" * 100, "expected"),
                ("</svg>", "<g>" * 100, "without end"),
                ("</svg>", "<!-- ", "does not end"),
                ("</svg>", "<g fill='", "does not end"),
                ("</svg>", "<text>&nbsp;</text></svg>", "entity"),
                ("<svg", "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg", "expected"),
                ("<svg", "\x07<svg", "no text"),
                ("<svg", "\ufeff<svg", "no label"),
                (good, "", "ends in the middle"), (good, "\x89PNG", "figure")]:
            with self.subTest(new=new):
                self.assertIn(old, good)
                path.write_text(good.replace(old, new, 1), encoding="utf-8")
                self.refused("stall_a_yaw.svg", word)
        path.unlink()
        os.mkfifo(path)
        self.refused("stall_a_yaw.svg")

    def test_what_a_drawing_says_beside_drawing_is_left_out(self):
        path = self.out / "figures" / "stall_a_yaw.svg"
        path.write_text(path.read_text().replace(
            "<defs>", "<g onclick='alert(1)' style='background:url(http://x.invalid/)'></g>"
            "<title>said aside</title><defs>"))
        text, page = self.report()
        self.check(text, page)
        self.assertNotIn("invalid", text)
        self.assertNotIn("said aside", text)

    def test_folders_that_hold_no_results(self):
        shutil.rmtree(self.out / "figures")
        self.assertIn("The folder has no figures", self.report()[0])
        (self.out / "report.html").unlink()
        next((self.out / "replays").iterdir()).write_text("{}")
        self.refused(".json")
        empty = self.folder / "empty"
        empty.mkdir()
        self.refused("no folder of results", folder=empty)
        self.refused("no folder of results", folder=self.folder / "missing")
        self.assertEqual(run("report").returncode, 2)
        self.assertEqual(run("report", self.out, empty).returncode, 2)

    def test_a_page_is_there_whole_or_as_it_was(self):
        page = self.out / "report.html"
        page.write_text("the page before")
        path = self.out / "figures" / "walls.svg"
        path.write_text("<svg viewBox='0 0 1 1'>")
        self.assertEqual(run("report", self.out).returncode, 4)
        self.assertEqual(page.read_text(), "the page before")
        done = run("report", self.out, "--out", "-")
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        path.unlink()
        done = run("report", self.out, "--out", self.out / "replays" / "no" / "page.html")
        self.assertEqual(done.returncode, 4, done.stderr)

    def test_a_folder_of_folders(self):
        (self.folder / "all").mkdir()
        shutil.move(self.out, self.folder / "all" / "virtual")
        self.out = self.folder / "all"
        text, page = self.report()
        self.check(text, page)
        self.assertEqual(page.count("figure"), 5)

    def test_accessibility_by_tidy(self):
        if not shutil.which("tidy"):
            self.skipTest("no tidy (Debian: apt-get install tidy)")
        self.report()
        done = subprocess.run(["tidy", "-quiet", "-errors", "-access", "3",
                               str(self.out / "report.html")], capture_output=True, text=True,
                              check=False)
        lines = [line for line in done.stderr.splitlines()
                 if not any(word in line for word in NOT_FAULTS)]
        self.assertEqual(lines, [])


def browse(folder, *options):
    """Chromium's standard output; runs without a sandbox of its own: the page has no script."""
    return subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--hide-scrollbars", f"--user-data-dir={folder}/browser", *options],
        capture_output=True, text=True, timeout=60, check=False).stdout


def picture_rows(path):
    """Width, height and the number of different rows of a PNG, as they are stored."""
    data, at, stored = path.read_bytes(), 8, b""
    width, height = struct.unpack(">II", data[16:24])
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        stored += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    pixels = zlib.decompress(stored)
    row = len(pixels) // height
    return width, height, len({pixels[i * row:(i + 1) * row] for i in range(height)})


# In a frame as narrow as a phone: is anything wider, and is text told from its ground?
MEASURE = """<iframe id="f" style="width:360px;height:700px" srcdoc="%s"></iframe><script>
function channels(colour) { return colour.match(/[\\d.]+/g).map(Number); }
function light(colour) {
  const [r, g, b] = channels(colour).slice(0, 3).map(c => c / 255).map(
    c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
onload = () => {
  const page = document.getElementById("f").contentDocument;
  const style = element => page.defaultView.getComputedStyle(element);
  let least = 99, count = 0;
  for (const element of page.querySelectorAll("h1,h2,h3,p,a,th,td,li,caption,figcaption,span")) {
    let ground = element;
    while (channels(style(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
    const [a, b] = [light(style(element).color), light(style(ground).backgroundColor)];
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
    count++;
  }
  document.title = JSON.stringify({width: page.documentElement.scrollWidth,
    shown: page.documentElement.clientWidth, least: least, count: count,
    ground: style(page.body).backgroundColor});
};</script>"""


@unittest.skipUnless(os.environ.get("WP_FULL"), "takes a while: scripts/ci report opens a browser")
@unittest.skipUnless(BROWSER, "no browser (Debian: apt-get install chromium)")
class Browser(Folder):
    def measure(self, *options):
        wrapper = self.folder / "wrapper.html"
        text = (MADE / "out" / "report.html").read_text()
        wrapper.write_text(MEASURE % html.escape(text))
        shown = browse(self.folder, "--virtual-time-budget=5000", *options, "--dump-dom",
                       wrapper.as_uri())
        return json.loads(html.unescape(re.search("<title>(.*?)</title>", shown).group(1)))

    def test_text_and_picture(self):
        page = (MADE / "out" / "report.html").as_uri()
        shown = Page(browse(self.folder, "--dump-dom", page))
        self.assertEqual(shown.faults, [])
        for word in ("The paper's claims", "on_demand", "Limits and their proof", "P1", "agrees"):
            self.assertIn(word, shown.text)
        self.assertEqual(shown.count("figure"), 5)
        picture = self.folder / "page.png"
        browse(self.folder, "--window-size=900,3000", f"--screenshot={picture}", page)
        width, height, rows = picture_rows(picture)
        self.assertEqual((width, height), (900, 3000))
        self.assertGreater(rows, 300, "the picture is nearly empty")

    def test_on_a_phone_in_light_and_dark(self):
        light = self.measure()
        dark = self.measure("--blink-settings=preferredColorScheme=0")
        self.assertNotEqual(light["ground"], dark["ground"])
        for measured in (light, dark):
            self.assertGreater(measured["count"], 100)
            self.assertGreaterEqual(measured["least"], 4.5)
            self.assertLessEqual(measured["width"], measured["shown"])


if __name__ == "__main__":
    unittest.main()
