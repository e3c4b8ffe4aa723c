/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls: one command on all servers that it is for, at the same time.
 *
 * The answers are kept until all have come or failed, and are printed in the order of the flag,
 * each with the name of its server if there are several. A server that cannot be reached does not
 * hide the others. Events are printed as they arrive.
 */
#pragma once

#include "base/str.h"
#include "src/maglevc/action.h"
#include "src/maglevc/session.h"

/* What one server has answered. */
struct answer {
	const struct session_client *from;
	enum status status;
	struct buf out, err; /* as text, or as JSON without the last newline */
	struct buf failure;  /* why there is no answer; empty: there is one */
};

struct answers {
	struct answer *items;
	size_t n;
	bool interrupted; /* by a signal */
};

/* What few commands need. */
struct calls_extra {
	bool dry_run; /* see struct action_input */
	void *sum;    /* see struct render */
};

/*
 * Asks all servers, which must be connected, and runs the loop until each has answered or failed.
 * extra may be NULL. The caller frees the answers.
 */
void calls_ask(struct session *s, const struct command *c, const struct action *a,
	       const struct calls_extra *extra, struct answers *ret);
void answers_free(struct answers *a);
/*
 * Prints the answers; JSON of several servers as one document. Returns the exit code: that of the
 * first server that failed.
 */
enum status answers_print(const struct session *s, struct answers *a);
/* Appends an object for each server, with its answer, or why there is none. */
void answers_add_json(const struct answers *a, struct buf *out);
/* Prints the failures only; the exit code is that of the first. */
enum status answers_complain(const struct session *s, struct answers *a);
/* Asks and prints; or shows events until they end, a key is pressed or a signal comes. */
enum status calls_run(struct session *s, const struct command *c, const struct action *a);
