# SPDX-License-Identifier: Apache-2.0
"""HAProxy as the other side of a story."""
import os
import socket
import subprocess

from lab.process import DIE_WITH_PARENT


class Haproxy:
    """Its address, FRONT in the text, is a socket that was opened here, so that no port is chosen twice."""

    def __init__(self, folder, text, front):
        self.path = os.path.join(folder, 'haproxy.cfg')
        with open(self.path, 'w', encoding='ascii') as file:
            file.write('global\n  maxconn 2000\n'
                       'defaults\n  timeout connect 10s\n  timeout client 10s\n  timeout server 10s\n')
            file.write(text.replace('FRONT', f'fd@{front.fileno()}'))
        self.process = subprocess.Popen([*DIE_WITH_PARENT, 'haproxy', '-db', '-f', self.path], pass_fds=[front.fileno()],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        self.process.kill()
        self.process.wait()


def listening(family=socket.AF_INET, address='127.0.0.1'):
    sock = socket.socket(family)
    sock.bind((address, 0))
    sock.listen(16)
    return sock
