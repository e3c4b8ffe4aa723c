# SPDX-License-Identifier: Apache-2.0
"""HTTP servers as processes of their own, which are killed and come back at the same port."""
import signal
import socket
import subprocess
import sys

from lab import mortal_server
from lab.process import DIE_WITH_PARENT


class Mortal:
    """The port is kept by a socket that does not listen, so that no other process gets it while the server is dead."""

    def __init__(self):
        self.place = socket.socket()
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind(('127.0.0.1', 0))
        self.port = self.place.getsockname()[1]
        self.process = None
        self.start()

    def start(self):
        """Returns when it listens."""
        self.process = subprocess.Popen([*DIE_WITH_PARENT, sys.executable, mortal_server.__file__, str(self.port)],
                                        stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b'listening\n'

    def end(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()

    def close(self):
        self.end()
        self.place.close()
