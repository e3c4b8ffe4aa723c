# SPDX-License-Identifier: Apache-2.0
"""The shell of an operator on a machine of a story, in which the commands of a page run as they stand.

    desk = Desk(folder, namespace, hosts={'lb1': '10.0.2.2'})
    desk.put('/etc/maglev/maglev.yaml', text)
    desk.run(NAME)            # such as operating.md#take-a-backend-out

The shell has the network of a namespace, an /etc of its own (a copy, in which the story writes), a home where it starts, and
our programs in its PATH. A program of a whole machine, such as systemctl, is a stand-in: a line of STAND_INS, or of the story.
"""
import contextlib
import os
import signal
import subprocess

from lab.guide import PROGRAMS, block
from lab.process import DIE_WITH_PARENT
from lab.programs import program
from lab.wait import PATIENCE

SEVERAL = 3 * PATIENCE  # s: most blocks have several commands
# without that of FRR, in which folders of other stories come and go
COPY = 'set -o pipefail; tar -C /etc --exclude=./frr -c . | tar -C "$0" -x'
# mounted over /etc of this process alone
ENTER = 'mount --bind "$0" /etc && cd "$1" && exec sh -ec "$2"'
# the unit maglevd: as deploy/systemd/maglevd.service, without systemd. tests/package/inside has the real one.
UNIT = '''
echo "$@" >>$HOME/systemctl
ended() { case $(cut -d" " -f3 /proc/$1/stat 2>/dev/null) in ""|Z) ;; *) false ;; esac; }
case "$*" in
reload*maglevd) kill -HUP $(cat $HOME/pid) ;;
stop*maglevd) kill $(cat $HOME/pid); until ended $(cat $HOME/pid); do sleep 0.05; done ;;
start*maglevd|enable*maglevd)
	set -a; . /etc/default/maglevd
	setsid maglevd </dev/null >>$HOME/journal 2>&1 & echo $! >$HOME/pid
	until maglevc show frontends >/dev/null 2>&1 || ended $!; do sleep 0.05; done ;;
esac
'''
STAND_INS = {
    'sudo': 'exec "$@"',
    'systemctl': UNIT,
    'journalctl': 'cat $HOME/journal',
    'scp': 'exec cp "${1#*:}" "$2"',
    'ssh': 'echo "$@" >>$HOME/ssh',
}


class Desk:
    """hosts: {name: address} for /etc/hosts. env: more variables."""

    def __init__(self, folder, namespace=None, hosts=None, env=None):
        self.namespace = namespace
        self.etc, self.home, self.bin = (os.path.join(folder, name) for name in ('etc', 'home', 'bin'))
        for path in (self.etc, self.home, self.bin):
            os.makedirs(path)
        subprocess.run(['bash', '-c', COPY, self.etc], check=True)
        with open(os.path.join(self.etc, 'hosts'), 'a', encoding='utf-8') as file:
            file.writelines(f'{address} {name}\n' for name, address in (hosts or {}).items())
        for name in PROGRAMS:
            os.symlink(program(name), os.path.join(self.bin, name))
        for name, script in STAND_INS.items():
            self.stand_in(name, script)
        self.env = {**os.environ, 'HOME': self.home, 'PATH': f'{self.bin}:{os.environ["PATH"]}', **(env or {})}

    def close(self):
        """Ends the unit, if it runs."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int(self.read('pid')), signal.SIGTERM)

    def adopt(self, daemon):
        """It is the unit maglevd from now on, with its log so far."""
        self.put('pid', str(daemon.pid))
        self.put('journal', ''.join(line.raw.decode() for line in daemon.lines))

    def path(self, path):
        """Where a file of /etc, or of the home, is for others than the shell."""
        return os.path.join(self.etc, path[len('/etc/'):]) if path.startswith('/etc/') else os.path.join(self.home, path)

    def put(self, path, text=''):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), 'w', encoding='utf-8') as file:
            file.write(text)

    def link(self, path, target):
        """The file is one that exists elsewhere."""
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        os.symlink(target, self.path(path))

    def read(self, path):
        with open(self.path(path), encoding='utf-8') as file:
            return file.read()

    def stand_in(self, name, script):
        with open(os.path.join(self.bin, name), 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\n{script}\n')
        os.chmod(file.name, 0o755)

    def command(self, text):
        """The command line that runs commands in this shell."""
        enter = self.namespace.command() if self.namespace else []
        return [*DIE_WITH_PARENT, *enter, 'unshare', '-m', 'sh', '-c', ENTER, self.etc, self.home, text]

    def say(self, text, status=0, timeout=SEVERAL, **how):
        """Runs commands; returns what they wrote to standard output."""
        done = subprocess.run(self.command(text), env=self.env, capture_output=True, text=True, timeout=timeout, check=False,
                              **({'stdin': subprocess.DEVNULL} if 'input' not in how else {}), **how)
        assert status in (None, done.returncode), f'{text}: {done.returncode}\n{done.stdout}{done.stderr}'
        return done.stdout

    def run(self, name, words=None, **how):
        """Runs a block of a page. words: what the page leaves to the reader, {'ADDRESS': '10.0.0.1'}. how: see say()."""
        return self.say(fill(block(name), words), **how)

    @contextlib.contextmanager
    def started(self, name, words=None):
        """Runs a block that does not end by itself; it is ended with the context."""
        with open(os.path.join(self.home, 'started'), 'w+', encoding='utf-8') as out:
            process = subprocess.Popen(self.command(fill(block(name), words)), env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                yield process
                assert process.poll() is None, f'{name} ended with {process.returncode}: {self.read("started")}'
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.wait(PATIENCE)


def fill(text, words):
    for word, value in (words or {}).items():
        assert word in text, f'{word} is not in {text}'
        text = text.replace(word, value)
    return text
