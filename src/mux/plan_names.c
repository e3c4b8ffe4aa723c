/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_names: the names of the ports of a mux.
 *
 * A name is the beginning of a SHA-256, seven digits of it. Two ports can have the same seven.
 * Then one of them has a longer beginning: the one that is on the mux already keeps its name, so
 * that its nodePort and its slices stay as they are; otherwise the first in the order of channels
 * has the shorter one.
 */
#include <stdlib.h>
#include <string.h>

#include "src/mux/plan_private.h"

static int by_hash(const void *a, const void *b)
{
	const struct mux_wish *x = *(struct mux_wish *const *)a, *y = *(struct mux_wish *const *)b;
	int r = strncmp(x->hash, y->hash, MUX_NAME_MIN);

	return r ? r : (x > y) - (x < y); /* wishes lie in the order of channels */
}

static bool is_taken(struct mux_wish *const *group, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (cstr_eq(group[i]->shown->mux_name, name))
			return true;
	return false;
}

/* A group has equal beginnings, and is almost always a single port. */
static void name_group(struct mux_work *w, struct mux_wish *const *group, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (*group[i]->live_name && !is_taken(group, n, group[i]->live_name))
			group[i]->shown->mux_name = arena_strdup(w->keep, group[i]->live_name);
	for (size_t i = 0; i < n; i++) {
		int len = MUX_NAME_MIN;
		const char *name = NULL;

		if (group[i]->shown->mux_name)
			continue;
		do
			name = arena_printf(w->keep, "%.*s", len++, group[i]->hash);
		while (is_taken(group, n, name) && len <= MUX_NAME_MAX);
		group[i]->shown->mux_name = name;
	}
}

static int by_port(const void *a, const void *b)
{
	const struct mux_wanted_port *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return (x->protocol > y->protocol) - (x->protocol < y->protocol);
}

static void list_ports(struct mux_work *w, struct mux_wish *const *served, size_t n)
{
	struct mux_view_private *v = w->view->private;
	struct mux_wanted_port *ports = arena_array_of(w->keep, n + 1, struct mux_wanted_port);

	for (size_t i = 0; i < n; i++)
		ports[i] = (struct mux_wanted_port){ served[i]->shown->mux_name, served[i]->got,
						     served[i]->protocol };
	qsort(ports, n, sizeof(*ports), by_port);
	w->view->n_ports = n;
	if (!n)
		ports[n++] =
			(struct mux_wanted_port){ MUX_PLACEHOLDER, MUX_PLACEHOLDER_PORT, MUX_TCP };
	v->ports = ports;
	v->n_ports = n;
}

void mux__name_ports(struct mux_work *w)
{
	struct mux_wish **served = arena_array_of(w->scratch, w->n_wishes + 1, struct mux_wish *);
	size_t n = 0;

	for (size_t i = 0; i < w->n_wishes; i++)
		if (w->wishes[i].got)
			served[n++] = &w->wishes[i];
	qsort(served, n, sizeof(*served), by_hash);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (strncmp(served[i]->hash, served[end]->hash, MUX_NAME_MIN) != 0)
				break;
		name_group(w, &served[i], end - i);
	}
	list_ports(w, served, n);
}
