# SPDX-License-Identifier: Apache-2.0
"""The dashboard's pages in Chromium: how they are laid out and used, and what they keep."""
import pytest

from lab.visits import browser, daemon, dashboard, visit, web  # noqa: F401

# where the cells of each row of the pools begin; rows that name a pool have only one
COLUMNS = '[...document.querySelectorAll("[data-pool] tr[data-backend]")].map(row =>' \
          ' [...row.cells].map(cell => Math.round(cell.getBoundingClientRect().left)).join())'


@pytest.mark.parametrize('width', [1280, 390])
def test_pools_share_their_columns_and_fit_a_phone(visit, dashboard, width):
    page = visit(dashboard.port, '/view/#/here/frontend/www', width=width)
    page.wait('[data-pool=primary] [data-backend=b]')
    page.wait('[data-pool=fallback] [data-backend=spare]')
    assert page.text('[data-pool=primary] [scope=rowgroup]').split() == ['Pool', 'primary', 'active']
    rows = page.evaluate(COLUMNS)
    assert len(rows) == 3 and len(set(rows)) == 1, rows
    hidden = page.evaluate('[...document.querySelectorAll(".table-wrap")].map(it => it.scrollWidth - it.clientWidth)')
    assert hidden[0] == 0, 'of the pools'
