# SPDX-License-Identifier: Apache-2.0
"""The soak: the whole lab under load, with a fault every ten seconds. docs/design/soak.md describes it.

plan.py says which fault happens when, faults.py what each of them does and which failures it allows, site.py and cluster.py
are the two halves of the lab, load.py is the clients, lines.py memory and descriptors, run.py joins them.
"""
