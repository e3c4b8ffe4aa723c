/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: one walk over two sorted lists of statements, then a sort of the operations.
 *
 * A statement that is gone together with what holds it (an option with its neighbour, a line with
 * its route map entry or BFD profile) needs no operation of its own.
 */
#include "core/frr/diff.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"

enum phase { WITHDRAW, PREPARE, ANNOUNCE, REMOVE };

/* An operation with its place in the order. */
struct step {
	struct frr_op op;
	enum phase phase;
	unsigned rank;
	size_t order;
};

struct walk {
	const struct frr_conf *running, *wanted;
	struct frr_plan *plan;
	VEC(struct step) steps;
};

/* A neighbour, and the route map that its routes leave through. */
struct outlet {
	const struct frr_statement *statement; /* "neighbor X route-map NAME out" */
	struct str map;
	bool session; /* "clear bgp ipv4 unicast X soft out" is possible */
};

struct outlets {
	VEC(struct outlet) list;
};

__attribute__((format(printf, 2, 3))) static void give_up(struct frr_plan *plan, const char *fmt,
							  ...)
{
	va_list ap;

	if (plan->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(plan->why, sizeof(plan->why), fmt, ap);
	va_end(ap);
}

/* ---- what cannot be changed in steps ---- */

static void compare_foreign(const struct frr_conf *base, const struct frr_conf *wanted,
			    struct frr_plan *plan)
{
	size_t n = base->foreign.n < wanted->foreign.n ? base->foreign.n : wanted->foreign.n, i = 0;

	while (i < n && strcmp(base->foreign.items[i], wanted->foreign.items[i]) == 0)
		i++;
	if (i < wanted->foreign.n)
		give_up(plan, "only a full reload can add \"%s\"", wanted->foreign.items[i]);
	else if (i < base->foreign.n)
		give_up(plan, "only a full reload can remove \"%s\"", base->foreign.items[i]);
}

static size_t router_length(const char *context)
{
	return strcspn(context, "\n");
}

static bool is_bgp(const struct frr_statement *s)
{
	return s->kind == FRR_NEIGHBOR || s->kind == FRR_OPTION || s->kind == FRR_NETWORK;
}

/* Statements are sorted by context, so each router is looked up about once per family. */
static void compare_routers(const struct walk *w)
{
	const char *last = NULL;

	for (size_t i = 0; i < w->wanted->statements.n; i++) {
		const struct frr_statement *s = &w->wanted->statements.items[i];
		char router[256];
		size_t n = router_length(s->context);

		if (!is_bgp(s) || s->context == last || n >= sizeof(router))
			continue;
		last = s->context;
		memcpy(router, s->context, n);
		router[n] = '\0';
		if (!frr_conf_has_router(w->running, router))
			give_up(w->plan, "\"%s\" is not running yet", router);
	}
}

/* ---- one statement ---- */

static unsigned rank_of(enum frr_kind kind)
{
	static const unsigned ranks[FRR_KINDS] = {
		[FRR_BFD_PROFILE] = 0, [FRR_BFD_LINE] = 0, [FRR_LIST] = 1,   [FRR_MAP] = 2,
		[FRR_MAP_LINE] = 2,    [FRR_NEIGHBOR] = 3, [FRR_OPTION] = 4, [FRR_NETWORK] = 5,
	};

	assert(kind < FRR_KINDS);
	return ranks[kind];
}

static bool is_policy(enum frr_kind kind)
{
	return kind == FRR_LIST || kind == FRR_MAP || kind == FRR_MAP_LINE;
}

static void add_step(struct walk *w, const struct frr_statement *s, bool removes)
{
	bool network = s->kind == FRR_NETWORK;
	struct step step = {
		.op = { .to = frr_kind_owner(s->kind),
			.kind = s->kind,
			.removes = removes,
			.drops = s->drops,
			.context = s->context,
			.line = removes ? s->undo : s->line },
		.phase = network ? (removes ? WITHDRAW : ANNOUNCE) : (removes ? REMOVE : PREPARE),
		.rank = removes ? FRR_KINDS - rank_of(s->kind) : rank_of(s->kind),
		.order = s->order,
	};

	vec_push(&w->steps, step);
	w->plan->withdrawn += network && removes;
	w->plan->announced += network && !removes;
	w->plan->policy |= is_policy(s->kind);
}

/* "neighbor X remote-as N" of an option of X; NULL if there is none. */
static const struct frr_statement *neighbor_of(const struct frr_conf *c,
					       const struct frr_statement *option)
{
	char router[FRR_LINE_MAX + 1], key[FRR_LINE_MAX + 32];
	size_t n = router_length(option->context);

	assert(n < sizeof(router));
	memcpy(router, option->context, n);
	router[n] = '\0';
	snprintf(key, sizeof(key), "neighbor %s remote-as", option->subject);
	return frr_conf_find(c, router, key);
}

/* The key of the entry that a line of a route map is in: its opening without permit or deny. */
static bool map_stays(const struct walk *w, const struct frr_statement *line)
{
	struct str rest = str_of(line->context), words[4] = { 0 };
	char key[FRR_LINE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		str_cut(&rest, ' ', &words[i]);
	snprintf(key, sizeof(key), "route-map %.*s %.*s", (int)words[1].n, words[1].p,
		 (int)words[3].n, words[3].p);
	return frr_conf_find(w->wanted, "", key) != NULL;
}

static bool profile_stays(const struct walk *w, const struct frr_statement *line)
{
	const char *profile = strchr(line->context, '\n');

	return profile && frr_conf_find(w->wanted, "bfd", profile + 1) != NULL;
}

static bool holder_stays(const struct walk *w, const struct frr_statement *s)
{
	switch (s->kind) {
	case FRR_OPTION:
		return neighbor_of(w->wanted, s) != NULL;
	case FRR_MAP_LINE:
		return map_stays(w, s);
	case FRR_BFD_LINE:
		return profile_stays(w, s);
	case FRR_BFD_PROFILE:
	case FRR_LIST:
	case FRR_MAP:
	case FRR_NEIGHBOR:
	case FRR_NETWORK:
	case FRR_KINDS:
		break;
	}
	return true;
}

static void take_gone(struct walk *w, const struct frr_statement *s)
{
	if (holder_stays(w, s))
		add_step(w, s, true);
}

/* An entry under the same number cannot be replaced at once: it would be missing in between. */
static void take_changed(struct walk *w, const struct frr_statement *from,
			 const struct frr_statement *to)
{
	if (strcmp(from->line, to->line) == 0)
		return;
	if (to->kind == FRR_LIST || to->kind == FRR_MAP)
		give_up(w->plan, "\"%s\" becomes \"%s\" under the same number", from->line,
			to->line);
	else
		add_step(w, to, false);
}

static int compare_places(const struct frr_statement *a, const struct frr_statement *b)
{
	int r = strcmp(a->context, b->context);

	return r ? r : strcmp(a->key, b->key);
}

/* NULL after the last one. */
static const struct frr_statement *item(const struct frr_conf *c, size_t i)
{
	return i < c->statements.n ? &c->statements.items[i] : NULL;
}

static void walk_both(struct walk *w)
{
	size_t i = 0, j = 0;

	while (i < w->running->statements.n || j < w->wanted->statements.n) {
		const struct frr_statement *from = item(w->running, i), *to = item(w->wanted, j);
		int order = !from ? 1 : !to ? -1 : compare_places(from, to);

		if (order < 0)
			take_gone(w, from);
		else if (order > 0)
			add_step(w, to, false);
		else
			take_changed(w, from, to);
		i += order <= 0;
		j += order >= 0;
	}
}

/* ---- the order ---- */

static int compare_steps(const void *left, const void *right)
{
	const struct step *a = left, *b = right;

	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	/* what came last goes first: "no neighbor X bfd profile P" leaves "neighbor X bfd" */
	if (a->phase == REMOVE)
		return (a->order < b->order) - (a->order > b->order);
	return (a->order > b->order) - (a->order < b->order);
}

void frr_diff(const struct frr_conf *running, const struct frr_conf *base,
	      const struct frr_conf *wanted, struct frr_plan *ret)
{
	struct walk w = { .running = running, .wanted = wanted, .plan = ret };

	assert(running && base && wanted && ret);
	*ret = (struct frr_plan){ 0 };
	compare_foreign(base, wanted, ret);
	compare_routers(&w);
	walk_both(&w);
	if (ret->why[0]) {
		ret->policy = false;
		ret->announced = ret->withdrawn = 0;
	} else if (w.steps.n) {
		qsort(w.steps.items, w.steps.n, sizeof(w.steps.items[0]), compare_steps);
		for (size_t i = 0; i < w.steps.n; i++)
			vec_push(&ret->ops, w.steps.items[i].op);
	}
	vec_free(&w.steps);
}

void frr_plan_free(struct frr_plan *p)
{
	vec_free(&p->ops);
}

/* ---- routes are sent again ---- */

/* Of "[no] route-map NAME permit 10". */
static struct str map_of(const struct frr_op *op)
{
	struct str rest = str_of(op->kind == FRR_MAP_LINE ? op->context : op->line), word = { 0 };

	do {
		if (!str_cut(&rest, ' ', &word))
			return word;
	} while (!str_eq(word, STR("route-map")));
	str_cut(&rest, ' ', &word);
	return word;
}

/* Whether it is an address or an interface; otherwise it may be a group of peers. */
static bool is_session(const struct frr_conf *c, const struct frr_statement *option)
{
	const struct frr_statement *neighbor = neighbor_of(c, option);
	struct addr address;

	return addr_parse(option->subject, &address) == 0 ||
	       (neighbor && strstr(neighbor->line, " interface "));
}

static void find_outlets(const struct frr_conf *c, struct outlets *ret)
{
	for (size_t i = 0; i < c->statements.n; i++) {
		const struct frr_statement *s = &c->statements.items[i];
		struct str rest = str_of(s->line), words[5] = { 0 };

		if (s->kind != FRR_OPTION || !strstr(s->context, "\naddress-family "))
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(words); j++)
			str_cut(&rest, ' ', &words[j]);
		if (str_eq(words[2], STR("route-map")) && str_eq(words[4], STR("out")))
			vec_push(&ret->list, (struct outlet){ s, words[3], is_session(c, s) });
	}
}

static bool changes_map(const struct frr_plan *p, struct str map)
{
	for (size_t i = 0; i < p->ops.n; i++)
		if (is_policy(p->ops.items[i].kind) && str_eq(map_of(&p->ops.items[i]), map))
			return true;
	return false;
}

/* Whether a change of policy is one of a route map that only sessions use. */
static bool is_of_sessions(const struct outlets *outlets, const struct frr_op *op)
{
	bool used = false;

	for (size_t i = 0; i < outlets->list.n; i++) {
		const struct outlet *o = &outlets->list.items[i];

		if (!str_eq(o->map, map_of(op)))
			continue;
		if (!o->session)
			return false;
		used = true;
	}
	return used && op->kind != FRR_LIST;
}

static bool concerns_all(const struct outlets *outlets, const struct frr_plan *p)
{
	for (size_t i = 0; i < p->ops.n; i++)
		if (is_policy(p->ops.items[i].kind) && !is_of_sessions(outlets, &p->ops.items[i]))
			return true;
	return false;
}

/* "router bgp 1 vrf red\naddress-family ipv4 unicast" -> "clear bgp vrf red ipv4 unicast ..." */
static void print_refresh(const char *context, const char *neighbor, struct buf *out)
{
	const char *family = strstr(context, "\naddress-family ");
	const char *vrf = strstr(context, " vrf ");

	if (!family)
		return;
	buf_adds(out, "clear bgp ");
	if (vrf && vrf < family)
		buf_printf(out, "%.*s ", (int)(family - vrf - 1), vrf + 1);
	buf_printf(out, "%s %s soft out\n", family + strlen("\naddress-family "), neighbor);
}

static void refresh_all(const struct frr_conf *c, struct buf *out)
{
	const char *last = "";

	for (size_t i = 0; i < c->statements.n; i++) {
		const struct frr_statement *s = &c->statements.items[i];

		if (s->kind == FRR_OPTION && strcmp(s->context, last) != 0)
			print_refresh(last = s->context, "*", out);
	}
}

void frr_refresh_print(const struct frr_conf *wanted, const struct frr_plan *p, struct buf *out)
{
	struct outlets outlets = { 0 };

	if (!p->policy)
		return;
	find_outlets(wanted, &outlets);
	if (concerns_all(&outlets, p))
		refresh_all(wanted, out);
	else
		for (size_t i = 0; i < outlets.list.n; i++)
			if (changes_map(p, outlets.list.items[i].map))
				print_refresh(outlets.list.items[i].statement->context,
					      outlets.list.items[i].statement->subject, out);
	vec_free(&outlets.list);
}

void frr_op_print(const struct frr_op *op, struct buf *out)
{
	buf_printf(out, "%s: ", frr_daemon_name(op->to));
	for (const char *c = op->context; *c; c++) {
		if (*c == '\n')
			buf_adds(out, " / ");
		else
			buf_addc(out, *c);
	}
	if (*op->context)
		buf_adds(out, ": ");
	buf_adds(out, op->line);
}
