#!/usr/bin/env python3
"""Asks a journal again for every number of a report: report-numbers.py PAGE.html JOURNAL.db

Each table that has a question is compared with what that gives, cell by cell. Prints how many tables and cells were compared, and what
differs; ends with 1 if something does, or if there was nothing to compare.
"""
import html.parser
import sqlite3
import sys


class Reader(html.parser.HTMLParser):
    """Tables in their order, each with the question behind it, if it has one."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tables, self.open = [], []
        self.row = self.cell = self.sql = None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "table":
            self.tables.append({"rows": [], "sql": None, "caption": ""})
        elif tag == "tbody":
            self.row = []
        elif tag == "tr" and self.row is not None:
            self.row = []
        elif tag in ("td", "th") and self.row is not None:
            self.cell = {"text": "", "value": attributes.get("data-v"), "class": attributes.get("class") or ""}
        elif tag == "pre" and "sql" in self.open:
            self.sql = ""
        self.open.append("sql" if tag == "details" and attributes.get("class") == "sql" else tag)
        if tag in ("meta", "link", "br"):
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.row.append(self.cell)
            self.cell = None
        elif tag == "tr" and self.row:
            if "none" not in self.row[0]["class"] and not (len(self.row) == 1):
                self.tables[-1]["rows"].append(self.row)
            self.row = []
        elif tag == "tbody":
            self.row = None
        elif tag == "pre" and self.sql is not None:
            self.tables[-1]["sql"] = self.sql
            self.sql = None
        if self.open:
            self.open.pop()

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_data(self, data):
        if self.cell is not None:
            self.cell["text"] += data
        elif self.sql is not None:
            self.sql += data
        elif self.open and self.open[-1] == "caption":
            self.tables[-1]["caption"] += data


def shown(text):
    """What a page shows of a text: what is nothing to see is a mark there."""
    def is_unseen(code):
        return (code < 0x20 and code not in (9, 10)) or 0x7F <= code <= 0x9F or code in (0xAD, 0x61C, 0x180E, 0xFEFF) \
            or 0x200B <= code <= 0x200F or 0x2028 <= code <= 0x202E or 0x2060 <= code <= 0x206F
    return "".join("\ufffd" if is_unseen(ord(char)) else char for char in text)


def same(cell, value):
    if cell["value"] is not None:
        number = float(cell["value"])
        return value is not None and abs(number - float(value)) <= 1e-6 * max(1, abs(number))
    return cell["text"] == shown(str(value))


reader = Reader()
reader.feed(open(sys.argv[1], encoding="utf-8").read())
database = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True)
tables = cells = 0
wrong = []
for table in reader.tables:
    if table["sql"] is None:
        wrong.append(f"{table['caption']}: no question gives it")
        continue
    tables += 1
    rows = database.execute(table["sql"]).fetchall()
    if len(rows) != len(table["rows"]):
        wrong.append(f"{table['caption']}: {len(table['rows'])} rows, the journal has {len(rows)}")
    for given, asked in zip(table["rows"], rows):
        if len(given) != len(asked):
            wrong.append(f"{table['caption']}: {len(given)} columns, the journal has {len(asked)}")
        for cell, value in zip(given, asked):
            cells += 1
            if not same(cell, value):
                wrong.append(f"{table['caption']}: {cell['value'] or cell['text']!r}, the journal has {value!r}")
print(f"{tables} tables, {cells} cells")
for line in wrong[:20]:
    print(line)
sys.exit(1 if wrong or cells == 0 else 0)
