/* SPDX-License-Identifier: Apache-2.0 */
/* figures: formats numbers in few columns, rounded for reading. Pure. */
#pragma once

#include <stdint.h>

#define FIGURE_LEN 24

/* At most 5 columns: "85us" with a micro sign, "1.2ms", "123ms", "1.2s", "134s". Returns buf. */
const char *figure_latency(int64_t ns, char buf[static FIGURE_LEN]);
/* At most 6 columns: "99999", "123k", "12M". Returns buf. */
const char *figure_count(uint64_t n, char buf[static FIGURE_LEN]);
/* "100%", "99.95%". Rounded down, so it is never 100% if one request failed. Returns buf. */
const char *figure_share(double share, char buf[static FIGURE_LEN]);
