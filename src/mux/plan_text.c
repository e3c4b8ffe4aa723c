/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_text: the texts for people on a mux and its channels.
 *
 * All annotations of an object have 256 KiB together, so the long ones have a bound and say how
 * much is missing.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/mux/plan_private.h"

#define CHANNELS_MAX 65536
#define TOPOLOGY_MAX 32768
#define LIST_MAX 400 /* bytes of a list in an event, which has 1024 */

static const char *take(struct buf *text, struct arena *arena)
{
	const char *s = arena_strndup(arena, text->p ? text->p : "", text->n);

	buf_free(text);
	return s;
}

const char *mux__text_channels(const struct mux_view *v, struct arena *arena)
{
	struct buf out = { 0 };
	size_t i = 0;

	buf_addc(&out, '[');
	for (; i < v->n_channels && out.n < CHANNELS_MAX; i++)
		buf_printf(&out, "%s\"%s/%s\"", i ? ", " : "", v->channels[i].namespace,
			   v->channels[i].name);
	if (i < v->n_channels)
		buf_printf(&out, ", \"(+%zu more)\"", v->n_channels - i);
	buf_addc(&out, ']');
	return take(&out, arena);
}

/* The first address of a mux, host names before addresses; NULL: none yet. */
static const char *first_ingress(const struct mux_service *mux)
{
	const struct mux_ingress *in = mux->ingress.items;

	if (!mux->ingress.n)
		return NULL;
	return in[0].hostname && *in[0].hostname ? in[0].hostname : in[0].ip;
}

/* A list of names is shown by its first one. */
static void add_names(struct buf *out, const char *names)
{
	struct str rest = str_of(names), item, first = STR("");
	size_t n = 0;

	while (str_cut(&rest, ',', &item)) {
		item = str_trim(item);
		if (item.n && !n++)
			first = item;
	}
	buf_add(out, first.p, first.n);
	if (n > 1)
		buf_printf(out, " (+%zu more)", n - 1);
}

static void add_channel(struct buf *out, const struct mux_view_channel *c, const char *dns)
{
	buf_printf(out, "  - %s/%s\n    DNS: ", c->namespace, c->name);
	if (c->hostname && *c->hostname) {
		add_names(out, c->hostname);
		buf_add_lit(out, " (custom)");
	} else {
		buf_adds(out, dns ? dns : "pending");
	}
	buf_add_lit(out, "\n    Ports:");
	for (size_t i = 0; i < c->n_ports; i++) {
		const struct mux_view_port *p = &c->ports[i];

		buf_printf(out, " %s:%u->", *p->name ? p->name : "unnamed", p->port);
		if (p->mux_port)
			buf_addu(out, p->mux_port);
		else
			buf_add_lit(out, "pending");
	}
	buf_printf(out, "\n    Backend: %u pod(s) ready\n", c->ready);
}

struct totals {
	size_t ports, pods;
};

static struct totals count(const struct mux_view *v)
{
	struct totals t = { 0 };

	for (size_t i = 0; i < v->n_channels; i++) {
		t.ports += v->channels[i].n_ports;
		t.pods += v->channels[i].ready;
	}
	return t;
}

const char *mux__text_topology(const struct mux_view *v, const struct mux_service *mux,
			       struct arena *arena)
{
	const char *dns = first_ingress(mux);
	struct totals t = count(v);
	struct buf out = { 0 };
	size_t i = 0;

	if (dns)
		buf_printf(&out, "Mux DNS: %s\n\n", dns);
	buf_add_lit(&out, "Channels:\n");
	for (; i < v->n_channels && out.n < TOPOLOGY_MAX; i++)
		add_channel(&out, &v->channels[i], dns);
	if (i < v->n_channels)
		buf_printf(&out, "  (+%zu more)\n", v->n_channels - i);
	buf_printf(&out, "\nSummary: %zu channel(s), %zu port(s), %zu backend pod(s)",
		   v->n_channels, t.ports, t.pods);
	return take(&out, arena);
}

const char *mux__text_summary(const struct mux_view *v, const struct mux_service *mux,
			      struct arena *arena)
{
	const char *dns = first_ingress(mux);
	struct buf out = { 0 };

	buf_printf(&out, "%zu channel(s) | %zu port(s) | %zu pod(s) | DNS: ", v->n_channels,
		   v->n_ports, count(v).pods);
	add_names(&out, dns ? dns : "pending");
	return take(&out, arena);
}

const char *mux__text_mapping(const struct mux_view_channel *c, struct arena *arena)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < c->n_ports; i++)
		buf_printf(&out, "%s%s:%u->%u", i ? ", " : "", c->ports[i].name, c->ports[i].port,
			   c->ports[i].mux_port);
	return take(&out, arena);
}

void mux__add_item(struct buf *list, size_t *count, const char *fmt, ...)
{
	va_list ap;

	++*count;
	if (list->n > LIST_MAX)
		return;
	if (list->n)
		buf_add_lit(list, ", ");
	va_start(ap, fmt);
	buf_vprintf(list, fmt, ap);
	va_end(ap);
	if (list->n > LIST_MAX)
		buf_add_lit(list, ", ...");
}

const char *mux__text_changes(const char *noun, const struct buf *added, size_t n_added,
			      const struct buf *removed, size_t n_removed, struct arena *arena)
{
	struct buf out = { 0 };

	if (n_added)
		buf_printf(&out, "Added %zu %s(s): %.*s", n_added, noun, (int)added->n, added->p);
	if (n_removed)
		buf_printf(&out, "%sRemoved %zu %s(s): %.*s", out.n ? "; " : "", n_removed, noun,
			   (int)removed->n, removed->p);
	return out.n ? take(&out, arena) : NULL;
}
