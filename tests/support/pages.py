"""A page of `tandem report`, read by two parsers that are not ours and must agree on it."""

import html.parser
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

XHTML = "{http://www.w3.org/1999/xhtml}"
EMPTY = {"meta", "img", "br", "input"}  # elements of HTML that have no end tag


class Tags(html.parser.HTMLParser):
    """The elements as a browser's rules for HTML find them, each closed where it should be."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.open = [], []
        self.feed(text)
        self.close()
        if self.open:
            raise ValueError(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.found.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        if tag not in EMPTY:
            raise ValueError(f"<{tag}/> is no end of it in HTML")
        self.found.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise ValueError(f"</{tag}> at {self.getpos()} closes nothing")


class Page:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.bytes = self.path.read_bytes()
        self.text = self.bytes.decode()
        self.root = xml.etree.ElementTree.fromstring(self.text)  # expat: well-formed, or an exception
        tags = Tags(self.text)
        elements = [each.tag.replace(XHTML, "").lower() for each in self.root.iter()]
        if [tag.lower() for tag in tags.found] != elements:
            raise ValueError("as HTML and as XML the page has other elements")
        if shutil.which("xmllint"):
            subprocess.run(["xmllint", "--noout", "--nonet", self.path], check=True)

    def all(self, tag):
        return list(self.root.iter(XHTML + tag))

    def words(self):
        return "".join(self.root.itertext())

    def sections(self):
        """{heading: section}; of several runs the last one's."""
        return {"".join(section.find(XHTML + "h2").itertext()): section for section in self.all("section")}

    def tables(self, heading):
        """The rows of each table below a heading, as texts."""
        return [[["".join(cell.itertext()) for cell in row] for row in table.iter(XHTML + "tr")]
                for table in self.sections()[heading].iter(XHTML + "table")]

    def rows(self, heading):
        """Of the first table."""
        return self.tables(heading)[0]

    def column(self, heading, name):
        head, *rows = self.rows(heading)
        return [row[head.index(name)] for row in rows]

    def charts(self):
        """{title: description for screen readers}, of the drawings that are visible at first"""
        found = {}
        for svg in self.all("svg"):
            if svg.get("class") != "bar":
                title, text = svg.get("aria-label").rsplit(": ", 1)
                found.setdefault(title, text)
        return found

    def outside(self):
        """What the page would load or run: nothing."""
        found = [each.tag for each in self.root.iter() if each.tag.replace(XHTML, "") in ("script", "link", "iframe", "object")]
        for each in self.root.iter():
            for name, value in each.attrib.items():
                if name.startswith("on") or (name in ("src", "href") and not value.startswith("data:image/png;base64,")):
                    found.append(f"{each.tag} {name}={value}")
        style = "".join(self.all("style")[0].itertext())
        return found + re.findall(r"url\(|@import", style)
