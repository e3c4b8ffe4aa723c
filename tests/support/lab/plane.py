# SPDX-License-Identifier: Apache-2.0
"""The control socket of maglevd-fake: the data plane that it keeps in memory."""
import socket

from lab.wait import PATIENCE, until

PROTOCOLS = {'tcp': 6, 'udp': 17, 'any': 0}


class Plane:
    def __init__(self, path):
        self.path = str(path)

    def ask(self, line):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(self.path)
            s.sendall(line.encode() + b'\n')
            answer = b''
            while chunk := s.recv(65536):
                answer += chunk
        text = answer.decode()
        assert text != 'what?\n', f'the fake data plane does not know: {line}'
        return text

    def is_there(self):
        try:
            self.ask('dump')
            return True
        except (FileNotFoundError, ConnectionError):
            return False

    def dump(self):
        """Lines that restore the same state with seed()."""
        return self.ask('dump').splitlines()

    def seed(self, lines):
        for line in lines:
            self.ask(line)

    def journal(self):
        """All operations so far, in order."""
        return self.ask('journal').splitlines()

    def clear_journal(self):
        self.ask('clear-journal')

    def weights(self, vip, port=80, protocol='tcp'):
        """{address: weight} of one VIP; None if it does not exist."""
        prefix = f'{vip} {PROTOCOLS[protocol]} {port} '
        lines = [line.split(' ', 1) for line in self.dump()]
        if not any(kind == 'vip' and rest.startswith(prefix) for kind, rest in lines):
            return None
        found = [rest[len(prefix):].split() for kind, rest in lines if kind == 'as' and rest.startswith(prefix)]
        return {address: int(weight) for address, weight in found}

    def vips(self):
        return [tuple(line.split()[1:4]) for line in self.dump() if line.startswith('vip ')]

    def wait_weights(self, vip, expected, timeout=PATIENCE, port=80):
        until(lambda: self.weights(vip, port) == expected, timeout, f'{vip} getting {expected}')

    def wait_journal(self, text, timeout=PATIENCE):
        """The first line that contains text."""
        return until(lambda: next((line for line in self.journal() if text in line), None), timeout,
                     f'"{text}" in the journal')
