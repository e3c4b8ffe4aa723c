# SPDX-License-Identifier: Apache-2.0
"""Waiting with a deadline for what cannot wake us by itself."""
import os
import threading
import time

# What a busy machine may add to any deadline. Promises of maglevd itself are measured between the
# time stamps of its own log lines and get less.
SLACK = float(os.environ.get('MAGLEV_TEST_SLACK', '1.0'))
# How long a thing that must happen may take at all.
PATIENCE = 20.0

_never = threading.Event()


def until(condition, timeout=PATIENCE, what='it'):
    """Asks again and again until condition() is true, and returns what it said."""
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f'{what} did not happen within {timeout:.1f} s')
        _never.wait(0.01)
