# SPDX-License-Identifier: Apache-2.0
"""A terminal emulator: the part of xterm that libedit and ncurses use.

Unknown sequences are an error, so that no test passes because a sequence was ignored.
"""
import codecs
import re
import unicodedata

SEQUENCE = re.compile(r'\x1b(?:\[([?>!]?)([\d;]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0AB]|[78M=>c])')
GRAPHICS = dict(zip('lqkxmjtuvwn', '┌─┐│└┘├┤┴┬┼'))


class Screen:
    def __init__(self, columns=80, rows=24):
        self.columns, self.rows = columns, rows
        self.decoder = codecs.getincrementaldecoder('utf-8')()
        self.rest, self.style, self.drawn, self.bells, self.full = '', '', False, 0, False
        self.application = False  # application mode: arrow keys are sent as ESC O
        self.x = self.y = 0
        self.saved, self.top, self.bottom, self.last = (0, 0), 0, rows - 1, ' '
        self.cells = [self._blank() for _ in range(rows)]
        self.gone = []  # lines that were scrolled out at the top

    def _blank(self):
        return [(' ', '')] * self.columns

    # ---- for tests ----

    @property
    def lines(self):
        return [''.join(c for c, _ in row).rstrip() for row in self.cells]

    @property
    def text(self):
        return '\n'.join(self.lines).rstrip()

    def style_of(self, text):
        """The attributes (as in ESC [ ... m) of the first character of the last occurrence of text."""
        for row in reversed(self.cells):
            at = ''.join(c for c, _ in row).rfind(text)
            if at >= 0:
                return [style for c, style in row for _ in c][at]
        raise AssertionError(f'{text!r} is not on the screen:\n{self.text}')

    def resize(self, columns, rows):
        """Resizes without reflow: lines are cut or padded, from the top."""
        while self.y >= rows:
            self._scroll_up(0, self.rows - 1)
            self.y -= 1
        self.cells = [(row + [(' ', '')] * columns)[:columns] for row in self.cells[:rows]]
        self.columns, self.rows = columns, rows
        self.cells += [self._blank() for _ in range(rows - len(self.cells))]
        self.top, self.bottom, self.x = 0, rows - 1, min(self.x, columns - 1)

    # ---- output of the program ----

    def feed(self, data):
        self.rest += self.decoder.decode(data)
        while self.rest:
            if self.rest[0] != '\x1b':
                self._character(self.rest[0])
                self.rest = self.rest[1:]
                continue
            found = SEQUENCE.match(self.rest)
            if not found:
                assert len(self.rest) < 64, f'unknown sequence {self.rest[:64]!r}'
                return
            self.rest = self.rest[found.end():]
            if found[3]:
                self._control(found[1], [int(n or 0) for n in found[2].split(';')], found[3])
            elif found[0][1] not in ']=>':
                self._escape(found[0][1:])

    def _escape(self, word):
        if word[0] == '(':
            self.drawn = word[1] == '0'
        elif word == '7':
            self.saved = (self.x, self.y)
        elif word == '8':
            self.x, self.y = self.saved
        elif word == 'M':
            if self.y > self.top:
                self.y -= 1
            else:
                self._csi_T(1, None)

    def _character(self, c):
        if c == '\n':
            self._line_feed()
        elif c == '\r':
            self.x = 0
        elif c == '\b':
            self.x = max(min(self.x, self.columns - 1) - 1, 0)
        elif c == '\t':
            self.x = min((self.x // 8 + 1) * 8, self.columns - 1)
        elif c == '\a':
            self.bells += 1
        elif c in '\x0e\x0f':
            self.drawn = c == '\x0e'
        else:
            assert c >= ' ', f'control character {c!r}'
            self._put(GRAPHICS.get(c, c) if self.drawn else c)

    def _put(self, c):
        if unicodedata.combining(c):
            return
        width = 2 if unicodedata.east_asian_width(c) in 'WF' else 1
        if self.x + width > self.columns:
            self.x = 0
            self._line_feed()
        self.cells[self.y][self.x:self.x + width] = [(c, self.style), ('', self.style)][:width]
        self.last = c
        self.x += width

    def _line_feed(self):
        if self.y == self.bottom:
            self._scroll_up(self.top, self.bottom)
        else:
            self.y = min(self.y + 1, self.rows - 1)

    def _scroll_up(self, top, bottom):
        line = self.cells.pop(top)
        if top == 0:
            self.gone.append(''.join(c for c, _ in line).rstrip())
        self.cells.insert(bottom, self._blank())

    def _control(self, mark, numbers, verb):
        n = numbers[0] or 1
        if mark:
            assert verb in 'hlp', f'CSI {mark}{numbers}{verb}'
            self.full = verb == 'h' if 1049 in numbers else self.full
            self.application = verb == 'h' if 1 in numbers else self.application
        elif verb == 'm':
            for code in numbers:
                self._style(code)
        else:
            getattr(self, '_csi_' + {'@': 'insert'}.get(verb, verb))(n, numbers)

    def _style(self, code):
        """Adds an attribute; 0 clears all of them, 39 and 49 the colours."""
        kept = [c for c in self.style.split(';') if c] if code else []
        if code in (39, 49):
            kept = [c for c in kept if c[0] != str(code)[0]]
        elif code not in (0, 10):
            kept.append(str(code))
        self.style = ';'.join(kept)

    def _csi_A(self, n, _):
        self.y = max(self.y - n, 0)

    def _csi_B(self, n, _):
        self.y = min(self.y + n, self.rows - 1)

    def _csi_C(self, n, _):
        self.x = min(self.x + n, self.columns - 1)

    def _csi_D(self, n, _):
        self.x = max(min(self.x, self.columns - 1) - n, 0)

    def _csi_G(self, n, _):
        self.x = min(n, self.columns) - 1

    def _csi_d(self, n, _):
        self.y = min(n, self.rows) - 1

    def _csi_H(self, n, numbers):
        self.y = min(n, self.rows) - 1
        self.x = min((numbers[1] if len(numbers) > 1 else 1) or 1, self.columns) - 1

    def _csi_J(self, _, numbers):
        assert numbers[0] in (0, 2, 3), numbers
        if numbers[0] == 0:
            self._csi_K(1, [0])
        for y in range(0 if numbers[0] == 2 else self.y + 1, self.rows if numbers[0] != 3 else 0):
            self.cells[y] = self._blank()

    def _csi_K(self, _, numbers):
        x = min(self.x, self.columns - 1)
        begin, end = {0: (x, self.columns), 1: (0, x + 1), 2: (0, self.columns)}[numbers[0]]
        self.cells[self.y][begin:end] = [(' ', '')] * (end - begin)

    def _csi_X(self, n, _):
        end = min(self.x + n, self.columns)
        self.cells[self.y][self.x:end] = [(' ', '')] * (end - self.x)

    def _csi_P(self, n, _):
        row = self.cells[self.y]
        del row[self.x:self.x + n]
        row += [(' ', '')] * (self.columns - len(row))

    def _csi_insert(self, n, _):
        row = self.cells[self.y]
        row[self.x:self.x] = [(' ', '')] * n
        del row[self.columns:]

    def _csi_L(self, n, _):
        for _ in range(n):
            self.cells.pop(self.bottom)
            self.cells.insert(self.y, self._blank())

    def _csi_M(self, n, _):
        for _ in range(n):
            self.cells.pop(self.y)
            self.cells.insert(self.bottom, self._blank())

    def _csi_S(self, n, _):
        for _ in range(n):
            self._scroll_up(self.top, self.bottom)

    def _csi_T(self, n, _):
        for _ in range(n):
            self.cells.pop(self.bottom)
            self.cells.insert(self.top, self._blank())

    def _csi_b(self, n, _):
        for _ in range(n):
            self._put(self.last)

    def _csi_r(self, n, numbers):
        self.top = n - 1
        self.bottom = (numbers[1] if len(numbers) > 1 and numbers[1] else self.rows) - 1
        self.x = self.y = 0

    def _csi_t(self, _n, _numbers):
        """Window operations, which are ignored."""

    _csi_l = _csi_h = _csi_t
