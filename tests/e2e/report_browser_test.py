#!/usr/bin/env python3
"""The page of `tandem report` in a browser, which is not ours: at 400, 1,280 and 1,920 pixels, on light and on dark, without a network
and without its console saying anything."""

import json
import os
import re
import unittest

from run_folders import RunFolder
from tandem import TandemTest, whole

BROWSER = os.environ["TANDEM_TEST_BROWSER"]

# Around the page, because it runs no script itself and a browser's own window is never as narrow as 400 pixels.
FRAME = """<!DOCTYPE html><meta charset="utf-8"><title>frame</title><style>body { margin: 0 } iframe { border: 0 }</style>
<iframe src="page.html" width="WIDTH" height="1500"></iframe><pre id="found"></pre>
<script>
addEventListener("load", () => {
  const page = document.querySelector("iframe").contentDocument, root = page.documentElement;
  page.querySelectorAll("details").forEach((each) => { each.open = true; });
  const size = (each) => [each.getBoundingClientRect().width, each.getBoundingClientRect().height];
  const all = (selector) => [...page.querySelectorAll(selector)];
  const overlap = (labels) => labels.some((one, i) => labels.some((other, j) => {
    const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
    return i < j && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom; }));
  document.getElementById("found").textContent = JSON.stringify({
    width: root.scrollWidth, charts: all(".plot svg").filter((each) => each.checkVisibility()).map(size), images: all("img").map((each) => each.naturalWidth),
    small: all("p, td, th, li, span").filter((each) => parseFloat(page.defaultView.getComputedStyle(each).fontSize) < 11).length,
    wide: all(".scroll").filter((each) => each.getBoundingClientRect().right > root.clientWidth).map((each) => each.innerText),
    heads: all(".ranks tr:first-child").map((each) => size(each)[1]),
    crowded: all(".x, .y, .ends").filter((axis) => overlap([...axis.children])).length,
    ground: page.defaultView.getComputedStyle(page.body).backgroundColor,
    ink: page.defaultView.getComputedStyle(page.body).color});
});
</script>
"""


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


class Browser(TandemTest):
    def setUp(self):
        super().setUp()
        for name, ranks in (("one", 2), ("other", 8)):
            RunFolder(self.folder / "runs" / name, ranks).write_steps(2000).write_rank_steps(2000).write_summary() \
                .write_evaluation([f"class {i}" for i in range(10)])
        self.tandem("report", "runs/one", "runs/other", "--output", "page.html")

    def browse(self, *options):
        """What the browser prints. Nothing is reached over a network: names resolve to nothing."""
        done = self.run_command(
            ["timeout", "90", BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0",
             f"--user-data-dir={self.folder}/profile", *options], 0, {"HOME": str(self.folder)})
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(said, [])
        return done.stdout

    def found_at(self, width, *options):
        (self.folder / "frame.html").write_text(FRAME.replace("WIDTH", str(width)))
        shown = self.browse("--window-size=2000,1600", *options, "--dump-dom", f"file://{self.folder}/frame.html")
        return json.loads(re.search(r'<pre id="found">(.*?)</pre>', shown)[1])

    def test_it_fits_a_narrow_and_a_wide_window(self):
        for width in (400, 1280, 1920):
            with self.subTest(width=width):
                found = self.found_at(width)
                self.assertLessEqual(found["width"], width, "the page scrolls sideways")
                self.assertGreaterEqual(len(found["charts"]), 20)
                for chart in found["charts"]:
                    self.assertGreater(min(chart), 150, "a drawing has no room")
                self.assertEqual(found["small"], 0, "a text is too small to read")
                self.assertEqual(found["crowded"], 0, "the numbers of an axis lie on each other")
                self.assertEqual(set(found["images"]), {8}, "an image is not shown")

    @whole
    def test_a_long_run_is_a_small_page_that_is_drawn_whole(self):
        RunFolder(self.folder / "runs/long", 8).write_steps(100_000).write_rank_steps(100_000).write_summary()
        self.tandem("report", "runs/long", "--output", "page.html")
        self.assertLess((self.folder / "page.html").stat().st_size, 2_000_000)
        self.assertEqual(len(self.found_at(1600)["charts"]), 4 + 4 + 3)

    def test_tables_scroll_in_their_own_boxes(self):
        for width in (400, 1920):
            found = self.found_at(width)
            self.assertEqual(found["wide"], [], "a table reaches out of its box")
            self.assertLess(max(found["heads"]), 60, "the head of a table of ranks is higher than two lines")

    def test_it_follows_the_readers_choice_of_light_and_dark(self):
        light = self.found_at(800, "--blink-settings=preferredColorScheme=1")
        dark = self.found_at(800, "--blink-settings=preferredColorScheme=0")
        self.assertGreater(brightness(light["ground"]), brightness(light["ink"]) + 150)
        self.assertGreater(brightness(dark["ink"]), brightness(dark["ground"]) + 150)

    def test_screenshots(self):
        """For people; that they hold more than an empty window is all that is asked of them here."""
        for width in (400, 1600):
            (self.folder / "frame.html").write_text(FRAME.replace("WIDTH", str(width)))
            self.browse(f"--window-size={width},1500", f"--screenshot={self.folder}/{width}.png", f"file://{self.folder}/frame.html")
            self.assertGreater((self.folder / f"{width}.png").stat().st_size, 20_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
