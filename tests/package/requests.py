# SPDX-License-Identifier: Apache-2.0
"""Requests through the router, ten a second at most, until the file /tmp/enough is there. The last line counts them."""
import os
import threading
import urllib.request

n = failed = 0
pace = threading.Event()
while not os.path.exists('/tmp/enough'):
    pace.wait(0.1)  # the machine is emulated, and has other work
    n += 1
    try:
        urllib.request.urlopen('http://127.0.0.1:8000/', timeout=20).read()
    except OSError as error:
        failed += 1
        print(error)
print(f'{n} requests, {failed} failed')
