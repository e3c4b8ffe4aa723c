#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pictures.py [--check]: makes docs/guide/pictures/NAME.svg of docs/pictures/NAME.txt.

A description has a line for each thing; a unit is 10 pixels, and words with blanks are quoted:

    size WIDTH HEIGHT TITLE
    box NAME X Y WIDTH HEIGHT KIND TEXT...      one text per line of the box; KIND is a class of STYLE
    line KIND TEXT POINT POINT...               an arrow to the last point: X,Y or the middle of a side, NAME:l r t b, with an offset: NAME:r+1
    text X Y KIND TEXT                          X, Y is the left end of its base line

--check: whether the files are what this makes, and nothing is on top of something else. Answers in TAP.
"""
import glob
import os
import re
import shlex
import sys
from html import escape

DOCS = os.path.dirname(os.path.abspath(__file__))
UNIT, ADVANCE, LINE = 10, 7.3, 17  # pixels; ADVANCE: of a letter, on average
STYLE = '''
text { font: 13px system-ui, sans-serif; fill: #1f2328; } .head { font-weight: 600; } .note { fill: #59636e; } .on { fill: #0b5cad; } .off { fill: #b3261e; }
.paper { fill: #ffffff; } rect { stroke: #8c959f; fill: #f6f8fa; } .program { fill: #ddf4ff; stroke: #0969da; } .data { fill: #dafbe1; stroke: #1a7f37; }
.down { fill: #ffebe9; stroke: #cf222e; } .idle { stroke-dasharray: 4 3; } .frame { fill: none; } path { fill: none; stroke: #59636e; stroke-width: 1.5; }
.packets { stroke: #0969da; stroke-width: 2; } .answers { stroke: #1a7f37; stroke-dasharray: 6 4; } .gone { stroke: #cf222e; stroke-dasharray: 2 4; }
marker path { fill: context-stroke; stroke: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .note { fill: #9198a1; } .on { fill: #79c0ff; } .off { fill: #ff9492; } .paper { fill: #0d1117; } rect { fill: #161b22; stroke: #6e7681; }
.program { fill: #0c2d4d; stroke: #58a6ff; } .data { fill: #0f2d1a; stroke: #3fb950; } .down { fill: #3d1315; stroke: #ff7b72; } .frame { fill: none; }
path { stroke: #9198a1; } .packets { stroke: #58a6ff; } .answers { stroke: #3fb950; } .gone { stroke: #ff7b72; } }
'''


class Picture:
    def __init__(self, text):
        self.boxes, self.labels, self.strokes, self.svg = {}, [], [], []
        for line in text.splitlines():
            verb, *words = shlex.split(line, comments=True) or ['']
            if verb:
                getattr(self, f'add_{verb}')(*words)

    def add_size(self, width, height, title):
        self.width, self.height, self.title = int(width) * UNIT, int(height) * UNIT, title

    def add_box(self, name, x, y, width, height, kind, *lines):
        x, y, width, height = (float(one) * UNIT for one in (x, y, width, height))
        self.boxes[name] = (x, y, x + width, y + height, kind)
        if kind == 'frame':
            left, top, right, bottom = self.boxes[name][:4]
            self.strokes += [(left, top, right, top + 1), (left, bottom, right, bottom + 1), (left, top, left + 1, bottom), (right, top, right + 1, bottom)]
        self.svg.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>')
        for number, line in enumerate(lines):
            at = y + LINE + 2 if kind == 'frame' else y + height / 2 + 4.5 + LINE * (number - (len(lines) - 1) / 2)
            self.put(x + width / 2, at + (LINE * number if kind == 'frame' else 0), 'middle', '' if number else 'head', line, name)

    def put(self, x, y, anchor, kind, text, owner=None):
        length = len(text) * ADVANCE
        left = x - length / 2 if anchor == 'middle' else x
        self.labels.append((left, y - 11, left + length, y + 3, text, owner))
        self.svg.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def add_text(self, x, y, kind, text):
        self.put(float(x) * UNIT, float(y) * UNIT, 'start', kind, text)

    def point(self, word):
        name, _, side = word.partition(':')
        if not side:
            return [float(one) * UNIT for one in word.split(',')]
        left, top, right, bottom, _ = self.boxes[name]
        offset = float(side[1:] or 0) * UNIT
        return {'l': [left, (top + bottom) / 2 + offset], 'r': [right, (top + bottom) / 2 + offset],
                't': [(left + right) / 2 + offset, top], 'b': [(left + right) / 2 + offset, bottom]}[side[0]]

    def add_line(self, kind, text, *words):
        points = [self.point(word) for word in words]
        self.strokes += [(min(a, c), min(b, d), max(a, c) + 1, max(b, d) + 1) for (a, b), (c, d) in zip(points, points[1:])]
        path = ' L'.join(f'{x:g} {y:g}' for x, y in points)
        self.svg.append(f'<path class="{kind}" d="M{path}" marker-end="url(#end)"/>')
        if text:
            (x1, y1), (x2, y2) = max(zip(points, points[1:]), key=lambda two: abs(two[0][0] - two[1][0]) + abs(two[0][1] - two[1][1]))
            if x1 == x2:
                self.put(x1 + 7, (y1 + y2) / 2 + 4, 'start', 'note', text)
            else:
                self.put((x1 + x2) / 2, (y1 + y2) / 2 - 6, 'middle', 'note', text)

    def made(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" '
                f'role="img"><title>{escape(self.title)}</title><style>{STYLE}</style>\n'
                '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" '
                'orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>\n'
                f'<rect class="paper" width="{self.width}" height="{self.height}" rx="6"/>\n' + '\n'.join(self.svg) + '\n</svg>\n')

    def problems(self):
        """Text beside its box or the picture, on other text, on a line or on a foreign box; boxes that overlap."""
        solid = [(name, box) for name, box in self.boxes.items() if box[4] != 'frame']
        for number, label in enumerate(self.labels):
            inside = self.boxes.get(label[5], (0, 0, self.width, self.height))
            if label[0] < inside[0] or label[2] > inside[2] or label[1] < inside[1] or label[3] > inside[3]:
                yield f'"{label[4]}" does not fit'
            yield from (f'"{label[4]}" is on "{other[4]}"' for other in self.labels[:number] if overlap(label, other))
            if not label[5] and any(overlap(label, stroke) for stroke in self.strokes):
                yield f'a line goes through "{label[4]}"'
            yield from (f'"{label[4]}" is on {name}' for name, box in solid if name != label[5] and overlap(label, box))
        for number, (name, box) in enumerate(solid):
            yield from (f'{name} is on {other}' for other, its in solid[:number] if overlap(box, its))


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def main():
    checks = sys.argv[1:] == ['--check']
    paths = sorted(glob.glob(os.path.join(DOCS, 'pictures/*.txt')))
    if checks:
        print(f'1..{len(paths)}')
    for number, path in enumerate(paths, 1):
        picture, target = Picture(read(path)), re.sub(r'pictures/(\w+)\.txt$', r'guide/pictures/\1.svg', path)
        problems = list(picture.problems())
        if not checks:
            with open(target, 'w', encoding='utf-8') as file:
                file.write(picture.made())
        elif not os.path.exists(target) or read(target) != picture.made():
            problems.append('run docs/pictures.py')
        print(f'{"not ok" if problems else "ok"} {number} - {os.path.basename(path)}' + ''.join(f'\n# {one}' for one in problems))


if __name__ == '__main__':
    main()
