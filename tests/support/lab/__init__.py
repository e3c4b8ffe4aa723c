# SPDX-License-Identifier: Apache-2.0
"""The library of the end-to-end tests: namespaces, servers that misbehave, daemons, data planes.

A test makes a Net (two namespaces and a link between them), puts servers on one side, writes a
configuration with Check and config(), starts a Maglevd with it and waits for lines of its log. Any
other program of ours is a Daemon. Tests that forward packets use a Fabric instead, and a Balanced
on it. Nothing sleeps: every wait is for a condition and has a deadline.
"""
from lab.balanced import Balanced
from lab.certs import Authority
from lab.config import Check, config, frontend, pool, seconds
from lab.daemon import Daemon
from lab.desk import Desk
from lab.fabric import VIPS4, VIPS6, Fabric
from lab.frr import Frr
from lab.maglevd import Maglevd
from lab.metrics import Metrics
from lab.net import Net, sweep
from lab.plane import Plane
from lab.process import Process, Running
from lab.programs import BUILD, program
from lab.servers import Servers
from lab.story import SPARE, VIP, OnVpp, Watched
from lab.terminal import Terminal
from lab.vpp import RealVpp, Standin, find_vpp
from lab.wait import PATIENCE, SLACK, until

__all__ = ['Authority', 'BUILD', 'Balanced', 'Check', 'Daemon', 'Desk', 'Fabric', 'Frr', 'Maglevd', 'Metrics', 'Net', 'OnVpp',
           'PATIENCE', 'Plane', 'Process', 'RealVpp', 'Running', 'SLACK', 'SPARE', 'Servers', 'Standin',
           'Terminal', 'VIP', 'VIPS4', 'VIPS6', 'Watched', 'config', 'find_vpp', 'frontend', 'pool',
           'program', 'seconds', 'sweep', 'until']
