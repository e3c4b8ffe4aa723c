# SPDX-License-Identifier: Apache-2.0
"""kube-tool (tests/support/k8s): lib/k8s as a program that prints what it sees and obeys words."""
import itertools
import json
import subprocess
import threading

from lab.process import DIE_WITH_PARENT, Process
from lab.programs import program
from lab.wait import PATIENCE

_serial = itertools.count(1)


class KubeTool(Process):
    """Lines are dicts. wait() looks at those that no earlier wait() has returned or passed over."""

    def __init__(self, folder, part, *args, kubeconfig=None, namespace=None, env=None):
        given = [f'--kubeconfig={kubeconfig}'] if kubeconfig else []
        super().__init__(folder, f'kube-tool-{next(_serial)}', [program('kube-tool'), part, *args, *given], env, namespace)
        self.lines, self.at, self.news = [], 0, threading.Condition()

    def start(self):
        with open(self.stderr, 'a', encoding='utf-8') as errors:
            self.process = subprocess.Popen([*DIE_WITH_PARENT, *self.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=errors, env=self.env, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    def _read(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(json.loads(line) if line.startswith('{') else {'text': line.rstrip('\n')})
                self.news.notify_all()
        with self.news:
            self.lines.append({'ended': True})
            self.news.notify_all()

    def say(self, *words):
        self.process.stdin.write(' '.join(words) + '\n')
        self.process.stdin.flush()

    def _find(self, wanted):
        for index in range(self.at, len(self.lines)):
            line = self.lines[index]
            if all(key in line and (value is True or line[key] == value) for key, value in wanted.items()):
                self.at = index + 1
                return line
        return None

    def wait(self, timeout=PATIENCE, **wanted):
        """The next line with these values; True stands for any value."""
        with self.news:
            found = self.news.wait_for(lambda: self._find(wanted), timeout)
            assert found, f'no line with {wanted} within {timeout} s: {self.lines[self.at:][-20:]} {self.said()}'
            return found

    def ask(self, *words):
        """The answer to a line of `do`."""
        self.say(*words)
        return self.wait(code=True)

    def seen(self, **wanted):
        """All lines so far with these values."""
        with self.news:
            return [line for line in self.lines
                    if all(key in line and (value is True or line[key] == value) for key, value in wanted.items())]

    def holds(self, kind):
        """{name: shown} of the cache, as 'namespace/name'."""
        with self.news:
            begin = len(self.lines)
        self.say('all')
        with self.news:
            assert self.news.wait_for(lambda: any(line.get('all') == kind for line in self.lines[begin:]), PATIENCE)
            return {f'{line["namespace"]}/{line["name"]}': line['shown'] for line in self.lines[begin:]
                    if line.get('has') == kind}

    def stats(self):
        self.say('stats')
        return self.wait(stats=True)

    def stop(self):
        """The end of its input ends it."""
        if self.process and self.is_running():
            self.process.stdin.close()
            status = self.end()
            assert status == 0, f'{self.name} ended with {status}: {self.said()}'
        self.check_words()
