/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foresee: what a command on several backends would do to them and to their frontends.
 *
 * Pure: nothing is changed. The states after the command are computed by the functions that a
 * command itself uses, on copies of the backends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/arena.h"
#include "core/l4/model.h"

enum l4_command { L4_PAUSE, L4_RESUME, L4_ENABLE, L4_DISABLE };

const char *l4_command_name(enum l4_command c); /* "pause", "resume", "enable", "disable" */
/* False if no command is called so; *ret is untouched then. */
bool l4_command_parse(const char *name, enum l4_command *ret);

/* Backends as indices, ascending: in the order of their names. In an arena. */
struct l4_selection {
	const size_t *backends;
	size_t n;
};

/* All backends with this address; all whose name matches one of the patterns (base/glob.h). */
struct l4_selection l4_select_address(const struct l4_config *c, const struct addr *address,
				      struct arena *a);
struct l4_selection l4_select_names(const struct l4_config *c, char *const *patterns, size_t n,
				    struct arena *a);

/* From bad to good, which is the order in which they are shown. */
enum l4_effect {
	L4_EFFECT_DOWN,	    /* it loses its last server */
	L4_EFFECT_FAILOVER, /* another pool becomes active */
	L4_EFFECT_FEWER,    /* its active pool has fewer servers */
	L4_EFFECT_MORE,	    /* its active pool has more servers */
	L4_EFFECT_UP,	    /* it gets its first server */
};

const char *l4_effect_name(enum l4_effect e); /* "down", "failover", "fewer", "more", "up" */

/* What becomes of one frontend. A server is a backend that is up and has a weight. */
struct l4_consequence {
	size_t frontend;
	enum l4_effect effect;
	size_t pool_before, pool_after;	      /* the active one; SIZE_MAX: none */
	size_t servers_before, servers_after; /* of the active pool; 0 without one */
	size_t members; /* backends of the active pool after it, or before if there is none */
};

struct l4_outcome {
	enum health_state *before, *after; /* of each backend of the selection */
	struct l4_consequence *items;	   /* frontends that change: by effect, then by name */
	size_t n;
	size_t unaffected; /* frontends that have one of the backends and do not change */
};

/*
 * Computes it, in the arena. -EPERM if the command is refused for a backend: *ret_refused is its
 * place in the selection, and *ret is untouched.
 */
int l4_foresee(const struct l4_model *m, const struct l4_selection *s, enum l4_command c,
	       struct arena *a, struct l4_outcome *ret, size_t *ret_refused);
