/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain: the way of a packet (core/way), from what all servers of the flags say now.
 *
 * Every server is asked at the same time, for as long as --timeout. One that cannot be asked makes
 * its steps unknown; if no flag or variable names it, it is left out.
 */
#pragma once

#include "src/maglevc/session.h"

/* Asks, and prints the way. STATUS_DONE: it is whole. STATUS_REFUSED: it is not, or not known. */
enum status explain_run(struct session *s, const struct command *c);
