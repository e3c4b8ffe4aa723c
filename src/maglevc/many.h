/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many: acts on several backends, on all servers at once.
 *
 * On a terminal the consequences are asked for first and shown, and the act is carried out only if
 * the operator agrees; with --yes, with JSON and without a terminal it is carried out at once.
 */
#pragma once

#include "proto/maglev.pb-c.h"
#include "src/maglevc/action.h"
#include "src/maglevc/session.h"

/* The consequences of all servers together. */
struct many_sum {
	size_t servers; /* that have answered */
	size_t backends;
	size_t down, failover, fewer, more, up; /* frontends */
	bool brief; /* they were shown before: say only that it is done */
};

/* Adds the consequences on one server. */
void many_add(struct many_sum *sum, const Maglev__ActOnBackendsResponse *m);
/* Appends "6 backends on 2 servers; frontends: 1 goes down, 2 fail over". */
void many_describe(const struct many_sum *sum, struct buf *out);

enum status many_run(struct session *s, const struct command *c, const struct action *a);
