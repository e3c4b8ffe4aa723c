# SPDX-License-Identifier: Apache-2.0
"""Waiting with a deadline for conditions that have to be polled."""
import os
import threading
import time

# What a busy machine may add to any deadline, in seconds. Time limits of maglevd itself are measured
# between the time stamps of its own log lines and are stricter.
SLACK = float(os.environ.get('MAGLEV_TEST_SLACK', '1.0'))
# The longest wait for an event that must happen, in seconds.
PATIENCE = float(os.environ.get('MAGLEV_TEST_PATIENCE', '20'))

_never = threading.Event()


def until(condition, timeout=PATIENCE, what='it'):
    """Polls until condition() is true and returns its value."""
    end = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f'{what} did not happen within {timeout:.1f} s')
        _never.wait(0.01)
