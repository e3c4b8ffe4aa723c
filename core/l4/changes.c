/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key of the file is a row in a table: its name, its kind, and where it stands in the struct.
 * Two structs are compared row by row, and only what differs is turned into text. Named things are
 * sorted in both configurations, so one walk over two lists finds what came, what went and what
 * stayed; only pools, which keep the order of the file, are found by a map.
 *
 * changes_kind.c knows how values of a kind compare and look.
 */
#include "core/l4/changes.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "core/l4/changes_kind.h"

struct list {
	struct arena *arena;
	struct buf prefix; /* of what is being compared: "backend web1: " */
	const char **lines;
	size_t n, more;
};

struct row {
	const char *name;
	enum l4__kind kind;
	size_t offset;
};

#define ROW(name, kind, type, member)                                                              \
	{                                                                                          \
		name, L4__KIND_##kind, offsetof(struct type, member)                               \
	}

static const struct row global_rows[] = {
	ROW("healthchecker.transition-history", UINT, l4_config, transition_history),
	ROW("healthchecker.netns", TEXT, l4_config, netns),
	ROW("healthchecker.all-down-guard", BOOL, l4_config, all_down_guard),
	ROW("dataplane", DATAPLANE, l4_config, dataplane),
	ROW("vpp.lb.ipv4-src-address", ADDR, l4_config, lb.src4),
	ROW("vpp.lb.ipv6-src-address", ADDR, l4_config, lb.src6),
	ROW("vpp.lb.sync-interval", DURATION, l4_config, lb.sync_interval),
	ROW("vpp.lb.flow-timeout", DURATION, l4_config, lb.flow_timeout),
	ROW("vpp.lb.sticky-buckets-per-core", UINT, l4_config, lb.sticky_buckets_per_core),
	ROW("vpp.lb.new-flows-table-length", UINT, l4_config, lb.new_flows_table_length),
	ROW("vpp.lb.startup-min-delay", DURATION, l4_config, lb.startup_min_delay),
	ROW("vpp.lb.startup-max-delay", DURATION, l4_config, lb.startup_max_delay),
	ROW("xdp.interfaces", INTERFACES, l4_config, xdp),
	ROW("xdp.mode", XDP_MODE, l4_config, xdp.mode),
	ROW("xdp.pin", TEXT, l4_config, xdp.pin),
	ROW("xdp.table-size", UINT, l4_config, xdp.table_size),
	ROW("xdp.flow-table-size", UINT, l4_config, xdp.flow_table_size),
};

static const struct row check_rows[] = {
	ROW("type", CHECK_TYPE, l4_check, type),
	ROW("port", PORT, l4_check, port),
	ROW("interval", DURATION, l4_check, schedule.interval),
	ROW("fast-interval", DURATION, l4_check, schedule.fast_interval),
	ROW("down-interval", DURATION, l4_check, schedule.down_interval),
	ROW("timeout", DURATION, l4_check, timeout),
	ROW("rise", UINT, l4_check, rule.rise),
	ROW("fall", UINT, l4_check, rule.fall),
	ROW("keep-alive", BOOL, l4_check, keep_alive),
	ROW("probe-ipv4-src", ADDR, l4_check, src4),
	ROW("probe-ipv6-src", ADDR, l4_check, src6),
	ROW("path", TEXT, l4_check, http.path),
	ROW("host", TEXT, l4_check, http.host),
	ROW("response-code", CODES, l4_check, http),
	ROW("response-regexp", TEXT, l4_check, http.regexp),
	ROW("server-name", TEXT, l4_check, http.server_name),
	ROW("insecure-skip-verify", BOOL, l4_check, http.insecure_skip_verify),
};

static const struct row backend_rows[] = {
	ROW("address", ADDR, l4_backend, address),
	ROW("healthcheck", CHECK, l4_backend, check),
};

static const struct row enabled_row = ROW("enabled", BOOL, l4_backend, enabled);

static const struct row frontend_rows[] = {
	ROW("description", TEXT, l4_frontend, description),
	ROW("address", ADDR, l4_frontend, address),
	ROW("protocol", PROTOCOL, l4_frontend, protocol),
	ROW("port", PORT, l4_frontend, port),
	ROW("src-ip-sticky", BOOL, l4_frontend, src_ip_sticky),
	ROW("flush-on-down", BOOL, l4_frontend, flush_on_down),
};

static const struct row weight_row = ROW("weight", UINT, l4_member, weight);

/* ---- lines ---- */

/* What is past the bound is counted only, and not worth its words: ask before making them. */
static bool is_full(struct list *list)
{
	if (list->n < L4_CHANGES_MAX)
		return false;
	list->more++;
	return true;
}

static void add(struct list *list, struct str text)
{
	struct buf *prefix = &list->prefix;

	list->lines[list->n++] = arena_printf(list->arena, "%.*s%.*s", (int)prefix->n,
					      prefix->p ? prefix->p : "", (int)text.n, text.p);
}

/* "backend web1: " before all lines until leave(), which gets what this returns. */
static size_t enter(struct list *list, const char *what, const char *name)
{
	size_t outer = list->prefix.n;

	buf_adds(&list->prefix, what);
	buf_addc(&list->prefix, ' ');
	buf_adds(&list->prefix, name);
	buf_add_lit(&list->prefix, ": ");
	return outer;
}

static void leave(struct list *list, size_t outer)
{
	list->prefix.n = outer;
}

static void compare_row(struct list *list, const struct row *row, const void *old, const void *new,
			const char *remark)
{
	const void *a = (const char *)old + row->offset, *b = (const char *)new + row->offset;
	struct buf text = { 0 };

	if (l4__kind_equal(row->kind, a, b) || is_full(list))
		return;
	buf_printf(&text, "%s%s", row->name, list->prefix.n ? " " : ": ");
	l4__kind_print(row->kind, a, &text);
	buf_adds(&text, " -> ");
	l4__kind_print(row->kind, b, &text);
	buf_adds(&text, remark);
	add(list, (struct str){ text.p, text.n });
	buf_free(&text);
}

static void compare_rows(struct list *list, const struct row *rows, size_t n, const void *old,
			 const void *new)
{
	for (size_t i = 0; i < n; i++)
		compare_row(list, &rows[i], old, new, "");
}

#define COMPARE_ROWS(list, rows, old, new)                                                         \
	compare_rows((list), (rows), ARRAY_SIZE(rows), (old), (new))

/* ---- two sorted lists of named things ---- */

static void add_about(struct list *list, const char *what, const char *name, struct str text)
{
	size_t outer;

	if (is_full(list))
		return;
	outer = enter(list, what, name);
	add(list, text);
	leave(list, outer);
}

/*
 * Below 0: old is gone; above: new has come; 0: both are the same. Either may be NULL, past its
 * end, but not both. What came and what went gets its line here.
 */
static int pair(struct list *list, const char *what, const char *old, const char *new)
{
	int order = 0;

	assert(old || new);
	if (old && new)
		order = strcmp(old, new);
	if (old && (!new || order < 0)) {
		add_about(list, what, old, STR("removed"));
		return -1;
	}
	if (new && (!old || order > 0)) {
		add_about(list, what, new, STR("added"));
		return 1;
	}
	return 0;
}

#define NAME_AT(array, i, n) ((i) < (n) ? (array)[i].name : NULL)

static void compare_checks(struct list *list, const struct l4_config *old,
			   const struct l4_config *new)
{
	size_t o = 0, n = 0;

	while (o < old->n_checks || n < new->n_checks) {
		int order = pair(list, "healthcheck", NAME_AT(old->checks, o, old->n_checks),
				 NAME_AT(new->checks, n, new->n_checks));

		if (order == 0) {
			size_t outer = enter(list, "healthcheck", old->checks[o].name);

			COMPARE_ROWS(list, check_rows, &old->checks[o], &new->checks[n]);
			leave(list, outer);
		}
		o += order <= 0;
		n += order >= 0;
	}
}

static void compare_backend(struct list *list, const struct l4_backend_state *state,
			    const struct l4_backend *was, const struct l4_backend *is)
{
	static const char *const remarks[] = {
		[L4_ENABLE_CONFIGURED] = "",
		[L4_ENABLE_FORCED_ON] = " (enabled at run time, which stays)",
		[L4_ENABLE_FORCED_OFF] = " (disabled at run time, which stays)",
	};
	size_t outer = enter(list, "backend", is->name);

	COMPARE_ROWS(list, backend_rows, was, is);
	compare_row(list, &enabled_row, was, is, remarks[state->enable]);
	leave(list, outer);
}

static void compare_backends(struct list *list, const struct l4_model *m,
			     const struct l4_config *new)
{
	const struct l4_config *old = m->config;
	size_t o = 0, n = 0;

	while (o < old->n_backends || n < new->n_backends) {
		int order = pair(list, "backend", NAME_AT(old->backends, o, old->n_backends),
				 NAME_AT(new->backends, n, new->n_backends));

		if (order == 0)
			compare_backend(list, m->backends[o], &old->backends[o], &new->backends[n]);
		o += order <= 0;
		n += order >= 0;
	}
}

/* ---- frontends ---- */

/* A frontend that is in both; the weights are those in force. */
struct frontends {
	const struct l4_config *old, *new;
	const struct l4_frontend *was, *is;
	struct l4_weight *const *weights;
};

static void compare_weight(struct list *list, const struct l4_weight *weight,
			   const struct l4_member *was, const struct l4_member *is)
{
	char remark[64] = "";

	if (weight->mutated && weight->value != is->weight)
		snprintf(remark, sizeof(remark), " (set to %u at run time, which stays)",
			 weight->value);
	compare_row(list, &weight_row, was, is, remark);
}

static const char *member_name(const struct l4_config *c, const struct l4_pool *p, size_t i)
{
	return i < p->n_members ? c->backends[p->members[i].backend].name : NULL;
}

static void compare_pool(struct list *list, const struct frontends *f, size_t old, size_t new)
{
	const struct l4_pool *was = &f->was->pools[old], *is = &f->is->pools[new];
	size_t outer = enter(list, "pool", is->name), o = 0, n = 0;

	while (o < was->n_members || n < is->n_members) {
		int order = pair(list, "backend", member_name(f->old, was, o),
				 member_name(f->new, is, n));

		if (order == 0) {
			size_t pool = enter(list, "backend", member_name(f->old, was, o));

			compare_weight(list, &f->weights[old][o], &was->members[o],
				       &is->members[n]);
			leave(list, pool);
		}
		o += order <= 0;
		n += order >= 0;
	}
	leave(list, outer);
}

static struct map map_pools(const struct l4_frontend *f)
{
	struct map by_name = { 0 };

	for (size_t i = 0; i < f->n_pools; i++)
		map_put(&by_name, f->pools[i].name, (void *)(uintptr_t)&f->pools[i]);
	return by_name;
}

static void add_names(struct buf *out, const struct l4_frontend *f)
{
	for (size_t i = 0; i < f->n_pools; i++)
		buf_printf(out, "%s%s", i ? ", " : "", f->pools[i].name);
}

static void add_order(struct list *list, const struct frontends *f)
{
	struct buf text = { 0 };

	if (is_full(list))
		return;
	buf_adds(&text, "order of pools ");
	add_names(&text, f->was);
	buf_adds(&text, " -> ");
	add_names(&text, f->is);
	add(list, (struct str){ text.p, text.n });
	buf_free(&text);
}

static void tell_removed_pools(struct list *list, const struct frontends *f)
{
	_cleanup_(map_free) struct map now = map_pools(f->is);

	for (size_t o = 0; o < f->was->n_pools; o++)
		if (!map_get(&now, f->was->pools[o].name))
			add_about(list, "pool", f->was->pools[o].name, STR("removed"));
}

/* Names and order as they were, which is the rule: nothing needs to be looked up. */
static bool same_pools(const struct frontends *f)
{
	if (f->was->n_pools != f->is->n_pools)
		return false;
	for (size_t i = 0; i < f->is->n_pools; i++)
		if (strcmp(f->was->pools[i].name, f->is->pools[i].name) != 0)
			return false;
	return true;
}

static void compare_other_pools(struct list *list, const struct frontends *f)
{
	_cleanup_(map_free) struct map before = map_pools(f->was);
	const struct l4_pool *last = f->was->pools;
	bool moved = false;

	tell_removed_pools(list, f);
	for (size_t n = 0; n < f->is->n_pools; n++) {
		const struct l4_pool *was = map_get(&before, f->is->pools[n].name);

		if (!was) {
			add_about(list, "pool", f->is->pools[n].name, STR("added"));
			continue;
		}
		moved |= was < last;
		last = was;
		compare_pool(list, f, (size_t)(was - f->was->pools), n);
	}
	if (moved)
		add_order(list, f);
}

static void compare_pools(struct list *list, const struct frontends *f)
{
	if (!same_pools(f)) {
		compare_other_pools(list, f);
		return;
	}
	for (size_t i = 0; i < f->is->n_pools; i++)
		compare_pool(list, f, i, i);
}

static void compare_frontends(struct list *list, const struct l4_model *m,
			      const struct l4_config *new)
{
	const struct l4_config *old = m->config;
	size_t o = 0, n = 0;

	while (o < old->n_frontends || n < new->n_frontends) {
		int order = pair(list, "frontend", NAME_AT(old->frontends, o, old->n_frontends),
				 NAME_AT(new->frontends, n, new->n_frontends));

		if (order == 0) {
			struct frontends f = { old, new, &old->frontends[o], &new->frontends[n],
					       m->frontends[o].weights };
			size_t outer = enter(list, "frontend", f.is->name);

			COMPARE_ROWS(list, frontend_rows, f.was, f.is);
			compare_pools(list, &f);
			leave(list, outer);
		}
		o += order <= 0;
		n += order >= 0;
	}
}

struct l4_changes l4_changes(const struct l4_model *running, const struct l4_config *next,
			     struct arena *arena)
{
	struct list list = { .arena = arena };

	assert(running && next && arena);
	list.lines = arena_array_of(arena, L4_CHANGES_MAX + 1, const char *);
	COMPARE_ROWS(&list, global_rows, running->config, next);
	compare_checks(&list, running->config, next);
	compare_backends(&list, running, next);
	compare_frontends(&list, running, next);
	if (list.more)
		list.lines[list.n++] = arena_printf(arena, "and %zu more", list.more);
	buf_free(&list.prefix);
	return (struct l4_changes){ list.lines, list.n };
}
