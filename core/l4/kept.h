/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept: overrides and weights that are kept over a restart of the program.
 *
 * l4_kept_list() takes them from a model; l4_kept_restore() gives one of them to a new model, which
 * may have another configuration by then: what no longer fits is refused with a reason. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/l4/model.h"

enum l4_kept_kind {
	L4_KEPT_DISABLED,
	L4_KEPT_ENABLED,
	L4_KEPT_PAUSED,
	L4_KEPT_SCHEDULED, /* a pause that begins later */
	L4_KEPT_WEIGHT,
};

const char *l4_kept_kind_name(enum l4_kept_kind k); /* "disabled", ..., "weight" */
/* False if no kind has this name; *ret is untouched then. */
bool l4_kept_kind_parse(const char *name, enum l4_kept_kind *ret);

struct l4_kept {
	enum l4_kept_kind kind;
	const char *backend;
	const char *frontend, *pool; /* of a weight, else NULL */
	unsigned weight;
	/* as in struct l4_override */
	int64_t at, until, from;
	const char *reason;    /* "": none */
	const struct who *who; /* NULL: not known */
};

struct l4_kept_list {
	struct l4_kept *items;
	size_t n;
};

/*
 * All that is in force or scheduled: by backend, in the order in which they can be restored, then
 * weights. The list is in the arena; its texts are borrowed.
 */
struct l4_kept_list l4_kept_list(const struct l4_model *m, struct arena *a);
/*
 * Before the start: puts it into force again. On failure nothing is changed, and *ret_why is a
 * sentence: -ENOENT, the backend or the tuple is gone; -ETIME, it is over; -EALREADY, the file says
 * the same; -EPERM, a pause of a backend that the file disables; -ERANGE, not a weight.
 */
int l4_kept_restore(struct l4_model *m, const struct l4_kept *k, int64_t now, const char **ret_why);
