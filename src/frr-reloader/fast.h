/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fast: changes of FRR's configuration over the sockets of bgpd and bfdd.
 *
 * The running configuration is read, the difference computed (core/frr), its commands sent, and the
 * running configuration read again: only if it is the wanted one now, the change has succeeded.
 * Lines that FRR accepts and then prints in another form, or not at all because they are defaults,
 * are remembered and not sent again.
 *
 * This works from the first full reload on (fast_adopt()), because only then it is known what the
 * lines that are not understood here have become.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "lib/loop/loop.h"
#include "src/frr-reloader/options.h"

struct fast;

enum fast_end {
	FAST_DONE,    /* the running configuration is the wanted one */
	FAST_REFUSED, /* nothing was changed: the full reload has to do it */
	FAST_FAILED,  /* something may have been changed: likewise */
};

/* Valid during the call. */
struct fast_result {
	enum fast_end end;
	const char *why;	     /* "" if it is done */
	size_t commands;	     /* that changed something */
	size_t announced, withdrawn; /* networks */
	bool drops;		     /* one of the commands ends BGP sessions */
};

typedef void (*fast_done_fn)(const struct fast_result *result, void *user);

/* options stay valid while it exists. */
struct fast *fast_new(struct ev_loop *loop, const struct options *options);
/* done() is not called any more. NULL is allowed. */
void fast_free(struct fast *f);
/*
 * Brings FRR to the configuration in text, which is copied. done() is called once, from the loop.
 * One at a time.
 */
void fast_apply(struct fast *f, struct str text, fast_done_fn done, void *user);
/*
 * A full reload has applied text: what is running now came from it. FAST_DONE or FAST_REFUSED; the
 * latter means that the next change needs a full reload as well.
 */
void fast_adopt(struct fast *f, struct str text, fast_done_fn done, void *user);
/* Nothing is known any more, because a full reload failed. */
void fast_forget(struct fast *f);
