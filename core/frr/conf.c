/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf: reads the text line by line and keeps track of the context.
 *
 * FRR's contexts are not marked by indentation. A context begins with its opening line and ends
 * with "exit", with "exit-address-family", or with a line that only the top level knows, because
 * FRR looks for a command in the contexts above when the current one does not have it. So a line
 * that opens a context of the top level always does, wherever it stands.
 *
 * Each context has a function that recognises its statements. A line that no function recognises is
 * foreign.
 */
#include "core/frr/conf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/sorted.h"
#include "core/frr/words.h"

struct parser {
	struct frr_conf *conf;
	struct arena *arena; /* of conf */
	struct map lists;    /* "ip prefix-list NAME" -> uint64_t, its highest sequence number */
	struct map entries;  /* "route-map NAME 10" -> its opening line */
	const char *context; /* "" at the top */
	const char *router;  /* "router bgp ..." while inside it; else NULL */
	enum place { TOP, ROUTER, FAMILY4, FAMILY6, MAP, BFD, PROFILE, PEER, ELSEWHERE } place;
	size_t order;
};

/* ---- statements ---- */

/* Not printed by printf(), which would take a third of the time of a parse. */
static const char *negation(const struct parser *p, const char *line)
{
	size_t n = strlen(line);
	char *text = arena_alloc(p->arena, n + 4);

	memcpy(text, "no ", 3);
	memcpy(text + 3, line, n + 1);
	return text;
}

static void add(struct parser *p, struct frr_statement s)
{
	s.order = p->order;
	if (!s.undo)
		s.undo = negation(p, s.line);
	if (!s.subject)
		s.subject = "";
	vec_push(&p->conf->statements, s);
}

static void add_foreign(struct parser *p, const struct frr__words *ws)
{
	const char *text =
		*p->context ? arena_printf(p->arena, "%s: %s", p->context, ws->line.p) : ws->line.p;

	vec_push(&p->conf->foreign, text);
}

/* ---- lists ---- */

static const struct list_kind {
	const char *words; /* how an entry begins, up to its name */
	size_t n;	   /* number of those words */
	bool communities;  /* the rest is communities, not a prefix */
} list_kinds[] = {
	{ "ip prefix-list", 2, false },
	{ "ipv6 prefix-list", 2, false },
	{ "bgp community-list standard", 3, true },
	{ "bgp community-list expanded", 3, false },
	{ "bgp large-community-list standard", 3, false },
	{ "bgp large-community-list expanded", 3, false },
};

static const struct list_kind *find_list(const struct frr__words *ws)
{
	for (size_t i = 0; i < ARRAY_SIZE(list_kinds); i++)
		if (frr__words_begin(ws, list_kinds[i].words))
			return &list_kinds[i];
	return NULL;
}

/* The number that FRR gives to an entry without one: the next multiple of 5. */
static uint64_t sequence(struct parser *p, const char *list, const uint64_t *given)
{
	uint64_t *highest = map_get(&p->lists, list);
	uint64_t number;

	if (!highest) {
		highest = arena_new_of(p->arena, uint64_t);
		map_put(&p->lists, list, highest);
	}
	number = given ? *given : *highest / 5 * 5 + 5;
	if (number > *highest)
		*highest = number;
	return number;
}

/* Without leading zeros, as FRR prints it. */
static struct str number_text(const struct parser *p, uint64_t number)
{
	return str_of(arena_printf(p->arena, "%llu", (unsigned long long)number));
}

/* Names the sequence number if the line does not. False if it has one that is no number. */
static bool number_entry(struct parser *p, struct frr__words *ws, const char *list, size_t at)
{
	bool has = at + 1 < ws->n && str_eq(ws->w[at], STR("seq"));
	uint64_t number;

	if (has && str_to_u64(ws->w[at + 1], UINT32_MAX, &number) < 0)
		return false;
	number = sequence(p, list, has ? &number : NULL);
	if (!has) {
		frr__words_insert(ws, at, STR("0"), p->arena);
		frr__words_insert(ws, at, STR("seq"), p->arena);
	}
	frr__words_set(ws, at + 1, number_text(p, number), p->arena);
	return true;
}

/* LIST NAME [seq N] permit|deny WHAT... */
static bool take_list(struct parser *p, struct frr__words *ws)
{
	const struct list_kind *kind = find_list(ws);
	size_t name, verdict;
	const char *list;

	if (!kind || ws->n < kind->n + 3 || ws->n > FRR__WORDS_MAX - 3)
		return false;
	name = kind->n;
	verdict = str_eq(ws->w[name + 1], STR("seq")) ? name + 3 : name + 1;
	if (verdict + 1 >= ws->n ||
	    (!str_eq(ws->w[verdict], STR("permit")) && !str_eq(ws->w[verdict], STR("deny"))))
		return false;
	list = frr__words_join(ws, 0, name + 1, p->arena);
	if (!number_entry(p, ws, list, name + 1))
		return false;
	for (size_t i = name + 4; i < ws->n; i++)
		frr__words_set(ws, i,
			       kind->communities ? frr__canonical_community(ws->w[i])
						 : frr__canonical_prefix(ws->w[i], p->arena),
			       p->arena);
	add(p, (struct frr_statement){ .kind = FRR_LIST,
				       .context = "",
				       .key = frr__words_join(ws, 0, name + 3, p->arena),
				       .line = ws->line.p });
	return true;
}

/* ---- route maps ---- */

/* A line of which its holder has one of each kind. */
struct option {
	const char *words; /* how it begins */
	size_t key;	   /* words in its key */
	bool drops;	   /* a change ends sessions */
	const char *undo;  /* NULL: "no" and the whole line */
};

static const struct option map_lines[] = {
	{ "match ip address prefix-list", 4, false, NULL },
	{ "match ipv6 address prefix-list", 4, false, NULL },
	{ "match community", 2, false, NULL },
	{ "match large-community", 2, false, NULL },
	{ "match tag", 2, false, NULL },
	{ "set as-path prepend", 3, false, "no set as-path prepend" },
	{ "set comm-list", 2, false, NULL },
	{ "set community", 2, false, NULL },
	{ "set large-comm-list", 2, false, NULL },
	{ "set large-community", 2, false, NULL },
	{ "set local-preference", 2, false, NULL },
	{ "set metric", 2, false, NULL },
	{ "set origin", 2, false, NULL },
	{ "set tag", 2, false, NULL },
	{ "set weight", 2, false, NULL },
	{ "on-match next", 1, false, NULL },
};

static const struct option *find_option(const struct frr__words *ws, const struct option *options,
					size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (frr__words_begin(ws, options[i].words))
			return &options[i];
	return NULL;
}

static bool take_map_line(struct parser *p, struct frr__words *ws)
{
	const struct option *o = find_option(ws, map_lines, ARRAY_SIZE(map_lines));

	if (!o)
		return false;
	if (frr__words_begin(ws, "set community"))
		for (size_t i = 2; i < ws->n; i++)
			frr__words_set(ws, i, frr__canonical_community(ws->w[i]), p->arena);
	add(p, (struct frr_statement){ .kind = FRR_MAP_LINE,
				       .context = p->context,
				       .key = frr__words_join(ws, 0, o->key, p->arena),
				       .line = ws->line.p,
				       .undo = o->undo });
	return true;
}

/*
 * route-map NAME permit|deny N. The key leaves permit or deny out, because FRR has one entry for a
 * number. A text that opens an entry both ways is left to FRR.
 */
static bool take_map(struct parser *p, struct frr__words *ws)
{
	const char *key, *before;
	uint64_t number;

	if (ws->n != 4 || str_to_u64(ws->w[3], UINT16_MAX, &number) < 0 ||
	    (!str_eq(ws->w[2], STR("permit")) && !str_eq(ws->w[2], STR("deny"))))
		return false;
	frr__words_set(ws, 3, number_text(p, number), p->arena);
	key = arena_printf(p->arena, "route-map %.*s %llu", (int)ws->w[1].n, ws->w[1].p,
			   (unsigned long long)number);
	before = map_get(&p->entries, key);
	if (before && strcmp(before, ws->line.p) != 0)
		return false;
	map_put(&p->entries, key, arena_strdup(p->arena, ws->line.p));
	add(p, (struct frr_statement){
		       .kind = FRR_MAP, .context = "", .key = key, .line = ws->line.p });
	return true;
}

/* ---- BFD ---- */

/* bfdd cannot remove a number from a profile; it can only be set to the default. */
static const struct option bfd_lines[] = {
	{ "detect-multiplier", 1, false, "detect-multiplier 3" },
	{ "receive-interval", 1, false, "receive-interval 300" },
	{ "transmit-interval", 1, false, "transmit-interval 300" },
	{ "echo receive-interval", 2, false, "echo receive-interval 50" },
	{ "echo transmit-interval", 2, false, "echo transmit-interval 50" },
	{ "echo-mode", 1, false, NULL },
	{ "passive-mode", 1, false, NULL },
	{ "minimum-ttl", 1, false, NULL },
};

static const struct option peer_lines[] = {
	{ "profile", 1, false, NULL },
};

static bool take_bfd_line(struct parser *p, struct frr__words *ws)
{
	const struct option *o = p->place == PEER
					 ? find_option(ws, peer_lines, ARRAY_SIZE(peer_lines))
					 : find_option(ws, bfd_lines, ARRAY_SIZE(bfd_lines));

	if (!o)
		return false;
	add(p, (struct frr_statement){ .kind = FRR_BFD_LINE,
				       .context = p->context,
				       .key = frr__words_join(ws, 0, o->key, p->arena),
				       .line = ws->line.p,
				       .undo = o->undo });
	return true;
}

/* "profile NAME", or "peer ADDRESS" with options. */
static bool take_bfd_opening(struct parser *p, struct frr__words *ws)
{
	bool peer = frr__words_begin(ws, "peer");

	if (!peer && (ws->n != 2 || !frr__words_begin(ws, "profile")))
		return false;
	add(p, (struct frr_statement){ .kind = FRR_BFD_PROFILE,
				       .context = "bfd",
				       .key = ws->line.p,
				       .line = ws->line.p });
	p->context = arena_printf(p->arena, "bfd\n%s", ws->line.p);
	p->place = peer ? PEER : PROFILE;
	return true;
}

/* ---- neighbours and networks ---- */

/*
 * Options of a neighbour, after "neighbor X". Longer names come first. Which of them end the
 * session was measured with FRR 8.4 and 10.3.
 */
static const struct option router_options[] = {
	{ "advertisement-interval", 1, false, NULL },
	{ "bfd profile", 2, false, NULL },
	{ "bfd", 1, true, NULL },
	{ "description", 1, false, NULL },
	{ "disable-connected-check", 1, true, NULL },
	{ "ebgp-multihop", 1, true, NULL },
	{ "graceful-restart-disable", 1, true, NULL },
	{ "graceful-restart-helper", 1, true, NULL },
	{ "graceful-restart", 1, true, NULL },
	{ "local-as", 1, true, NULL },
	{ "passive", 1, false, NULL },
	{ "password", 1, true, NULL },
	{ "port", 1, false, NULL },
	{ "shutdown", 1, true, NULL },
	{ "timers connect", 2, false, NULL },
	{ "timers", 1, false, NULL },
	{ "ttl-security hops", 2, true, NULL },
	{ "update-source", 1, true, NULL },
};

static const struct option family_options[] = {
	{ "activate", 1, true, NULL },
	{ "maximum-prefix", 1, false, NULL },
	{ "next-hop-self", 1, false, NULL },
	{ "soft-reconfiguration inbound", 2, false, NULL },
};

/* neighbor X route-map|prefix-list NAME in|out: one of each kind and direction. */
static bool is_filter(const struct frr__words *ws)
{
	return ws->n == 3 &&
	       (str_eq(ws->w[0], STR("route-map")) || str_eq(ws->w[0], STR("prefix-list"))) &&
	       (str_eq(ws->w[2], STR("in")) || str_eq(ws->w[2], STR("out")));
}

static struct frr__words without_neighbor(const struct frr__words *ws)
{
	size_t skipped = ws->w[0].n + 1 + ws->w[1].n + 1;
	struct frr__words rest = { .n = ws->n - 2,
				   .line = { ws->line.p + skipped, ws->line.n - skipped } };

	memcpy(rest.w, ws->w + 2, rest.n * sizeof(rest.w[0]));
	return rest;
}

static bool names_peer(const struct frr__words *rest)
{
	return (rest->n == 2 && frr__words_begin(rest, "remote-as")) ||
	       (rest->n == 3 && frr__words_begin(rest, "interface remote-as"));
}

/* The key of an option, without the neighbour; NULL if the option is not known. */
static const char *option_key(const struct parser *p, const struct frr__words *rest,
			      bool *ret_drops)
{
	const struct option *o =
		p->place == ROUTER ? find_option(rest, router_options, ARRAY_SIZE(router_options))
				   : find_option(rest, family_options, ARRAY_SIZE(family_options));

	*ret_drops = o && o->drops;
	if (o)
		return frr__words_join(rest, 0, o->key, p->arena);
	if (p->place != ROUTER && is_filter(rest))
		return arena_printf(p->arena, "%.*s %.*s", (int)rest->w[0].n, rest->w[0].p,
				    (int)rest->w[2].n, rest->w[2].p);
	return NULL;
}

static bool take_neighbor(struct parser *p, struct frr__words *ws)
{
	struct frr_statement s = { .kind = FRR_OPTION, .context = p->context };
	struct frr__words rest;
	const char *key;

	if (ws->n < 3 || !frr__words_begin(ws, "neighbor"))
		return false;
	frr__words_set(ws, 1, frr__canonical_prefix(ws->w[1], p->arena), p->arena);
	/* FRR 8.4 prints the number that stands for all, FRR 10 does not */
	if (ws->n == 3 && str_eq(ws->w[2], STR("ebgp-multihop")))
		frr__words_insert(ws, 3, STR("255"), p->arena);
	rest = without_neighbor(ws);
	s.subject = frr__words_join(ws, 1, 2, p->arena);
	s.line = ws->line.p;
	if (p->place == ROUTER && names_peer(&rest)) {
		s.kind = FRR_NEIGHBOR;
		s.drops = true;
		key = "remote-as";
	} else {
		key = option_key(p, &rest, &s.drops);
	}
	if (!key)
		return false;
	s.key = arena_printf(p->arena, "neighbor %s %s", s.subject, key);
	add(p, s);
	return true;
}

static bool is_prefix4(struct str word)
{
	return memchr(word.p, '.', word.n) && !memchr(word.p, ':', word.n);
}

/* network P [route-map M]; outside of a family, FRR takes it as IPv4 unicast. */
static bool take_network(struct parser *p, struct frr__words *ws)
{
	const char *context = p->context, *key;

	if (!frr__words_begin(ws, "network") || (ws->n != 2 && ws->n != 4) ||
	    (ws->n == 4 && !str_eq(ws->w[2], STR("route-map"))))
		return false;
	if (p->place == ROUTER && !is_prefix4(ws->w[1]))
		return false;
	if (p->place == ROUTER)
		context = arena_printf(p->arena, "%s\naddress-family ipv4 unicast", p->router);
	frr__words_set(ws, 1, frr__canonical_prefix(ws->w[1], p->arena), p->arena);
	key = frr__words_join(ws, 0, 2, p->arena);
	add(p, (struct frr_statement){ .kind = FRR_NETWORK,
				       .context = context,
				       .key = key,
				       .line = ws->line.p,
				       .undo = negation(p, key) });
	return true;
}

/* ---- contexts ---- */

static void go_to(struct parser *p, enum place place, const char *context)
{
	p->place = place;
	p->context = context;
	if (place == TOP || place == MAP || place == BFD || place == ELSEWHERE)
		p->router = NULL;
}

/* Lines that open a context of the top level, or stand there alone. */
static const struct opening {
	const char *words;
	enum place place;
} openings[] = {
	{ "router bgp", ROUTER },
	{ "router", ELSEWHERE },
	{ "route-map", MAP },
	{ "bfd", BFD },
	{ "interface", ELSEWHERE },
	{ "vrf", ELSEWHERE },
	{ "line vty", ELSEWHERE },
	{ "key chain", ELSEWHERE },
	{ "hostname", TOP },
	{ "log", TOP },
	{ "frr", TOP },
	{ "service", TOP },
	{ "debug", TOP },
	{ "ip prefix-list", TOP },
	{ "ipv6 prefix-list", TOP },
	{ "ip nht", TOP },
	{ "ipv6 nht", TOP },
	{ "bgp community-list", TOP },
	{ "bgp large-community-list", TOP },
	{ "bgp extcommunity-list", TOP },
	{ "bgp as-path", TOP },
};

/* True if the line opened a context; lines of the top level only leave the current one. */
static bool open_context(struct parser *p, struct frr__words *ws)
{
	const struct opening *o = NULL;

	for (size_t i = 0; !o && i < ARRAY_SIZE(openings); i++)
		if (frr__words_begin(ws, openings[i].words))
			o = &openings[i];
	if (!o)
		return false;
	go_to(p, o->place, "");
	if (o->place == TOP)
		return false;
	/* an entry is a statement, a BFD block only holds some, the others are foreign */
	if (o->place == MAP && !take_map(p, ws))
		p->place = ELSEWHERE;
	if (p->place == ROUTER || p->place == ELSEWHERE)
		add_foreign(p, ws);
	p->context = ws->line.p;
	if (p->place == ROUTER)
		p->router = ws->line.p;
	return true;
}

static bool open_family(struct parser *p, struct frr__words *ws)
{
	bool short_form = ws->n == 2;
	const char *family;

	if (!p->router || !frr__words_begin(ws, "address-family"))
		return false;
	family = short_form ? arena_printf(p->arena, "%s unicast", ws->line.p) : ws->line.p;
	p->context = arena_printf(p->arena, "%s\n%s", p->router, family);
	if (strcmp(family, "address-family ipv4 unicast") == 0)
		p->place = FAMILY4;
	else if (strcmp(family, "address-family ipv6 unicast") == 0)
		p->place = FAMILY6;
	else
		p->place = ELSEWHERE;
	return true;
}

static bool close_context(struct parser *p, const struct frr__words *ws)
{
	bool family = frr__words_begin(ws, "exit-address-family");

	if (frr__words_begin(ws, "end")) {
		go_to(p, TOP, "");
		return true;
	}
	if (!family && !frr__words_begin(ws, "exit") && !frr__words_begin(ws, "exit-vrf"))
		return false;
	if (p->router && p->place != ROUTER)
		go_to(p, ROUTER, p->router);
	else if (p->place == PROFILE || p->place == PEER)
		go_to(p, BFD, "bfd");
	else if (!family)
		go_to(p, TOP, "");
	return true;
}

/* Lines that say nothing about the configuration. */
static bool is_noise(const struct frr__words *ws)
{
	return ws->n == 0 || ws->w[0].p[0] == '!' || ws->w[0].p[0] == '#' ||
	       frr__words_begin(ws, "frr version") ||
	       frr__words_begin(ws, "Building configuration...") ||
	       frr__words_begin(ws, "Current configuration:");
}

static bool take_statement(struct parser *p, struct frr__words *ws)
{
	switch (p->place) {
	case TOP:
		return take_list(p, ws);
	case ROUTER:
	case FAMILY4:
	case FAMILY6:
		return take_neighbor(p, ws) || take_network(p, ws);
	case MAP:
		return take_map_line(p, ws);
	case BFD:
		return take_bfd_opening(p, ws);
	case PROFILE:
	case PEER:
		/* a second one may follow without "exit" */
		return take_bfd_line(p, ws) || take_bfd_opening(p, ws);
	case ELSEWHERE:
		return false;
	}
	return false;
}

static void take_line(struct parser *p, struct str line)
{
	struct frr__words ws;

	p->order++;
	frr__words_split(&ws, line, p->arena);
	if (is_noise(&ws) || close_context(p, &ws) || open_context(p, &ws) || open_family(p, &ws))
		return;
	if (!take_statement(p, &ws))
		add_foreign(p, &ws);
}

/* ---- the whole ---- */

static int compare(const void *left, const void *right)
{
	const struct frr_statement *a = left, *b = right;
	int r = a->context == b->context ? 0 : strcmp(a->context, b->context);

	if (!r)
		r = strcmp(a->key, b->key);
	return r ? r : (a->order > b->order) - (a->order < b->order);
}

static bool same_place(const struct frr_statement *a, const struct frr_statement *b)
{
	return strcmp(a->context, b->context) == 0 && strcmp(a->key, b->key) == 0;
}

/* Sorts, and keeps the last of several statements with one key, as FRR does. */
static void sort(struct frr_conf *c)
{
	size_t n = 0;

	if (c->statements.n)
		qsort(c->statements.items, c->statements.n, sizeof(c->statements.items[0]),
		      compare);
	for (size_t i = 0; i < c->statements.n; i++) {
		if (n && same_place(&c->statements.items[n - 1], &c->statements.items[i]))
			n--;
		c->statements.items[n++] = c->statements.items[i];
	}
	c->statements.n = n;
}

static int check_text(struct str text)
{
	struct str line;

	if (text.n > FRR_CONF_MAX)
		return -E2BIG;
	if (text.n && memchr(text.p, '\0', text.n))
		return -EINVAL;
	while (str_cut(&text, '\n', &line))
		if (line.n > FRR_LINE_MAX)
			return -EMSGSIZE;
	return 0;
}

int frr_conf_parse(struct str text, struct frr_conf *ret)
{
	struct frr_conf conf = { 0 };
	struct parser p = { .conf = &conf, .context = "", .place = TOP };
	struct str line;
	int r = check_text(text);

	if (r < 0)
		return r;
	conf.arena = p.arena = arena_new();
	while (str_cut(&text, '\n', &line))
		take_line(&p, line);
	map_free(&p.lists);
	map_free(&p.entries);
	sort(&conf);
	*ret = conf;
	return 0;
}

void frr_conf_free(struct frr_conf *c)
{
	vec_free(&c->statements);
	vec_free(&c->foreign);
	arena_free(c->arena);
	c->arena = NULL;
}

void frr_conf_keep(struct frr_conf *c, enum frr_daemon owner)
{
	size_t n = 0;

	for (size_t i = 0; i < c->statements.n; i++)
		if (frr_kind_owner(c->statements.items[i].kind) == owner)
			c->statements.items[n++] = c->statements.items[i];
	c->statements.n = n;
}

void frr_conf_add_from(struct frr_conf *c, const struct frr_conf *from, enum frr_daemon owner)
{
	for (size_t i = 0; i < from->statements.n; i++) {
		struct frr_statement s = from->statements.items[i];

		if (frr_kind_owner(s.kind) != owner)
			continue;
		s.context = arena_strdup(c->arena, s.context);
		s.key = arena_strdup(c->arena, s.key);
		s.line = arena_strdup(c->arena, s.line);
		s.undo = arena_strdup(c->arena, s.undo);
		s.subject = arena_strdup(c->arena, s.subject);
		vec_push(&c->statements, s);
	}
	sort(c);
}

static bool is_before(const struct frr_statement *s, const char *context, const char *key)
{
	int r = strcmp(s->context, context);

	return r ? r < 0 : strcmp(s->key, key) < 0;
}

const struct frr_statement *frr_conf_find(const struct frr_conf *c, const char *context,
					  const char *key)
{
	size_t at =
		sorted_place(c->statements.n, i, is_before(&c->statements.items[i], context, key));
	const struct frr_statement *s;

	if (at == c->statements.n)
		return NULL;
	s = &c->statements.items[at];
	return strcmp(s->context, context) == 0 && strcmp(s->key, key) == 0 ? s : NULL;
}

bool frr_conf_has_router(const struct frr_conf *c, const char *router)
{
	for (size_t i = 0; i < c->foreign.n; i++)
		if (strcmp(c->foreign.items[i], router) == 0)
			return true;
	return false;
}

static const struct {
	const char *name;
	enum frr_daemon owner;
} kinds[FRR_KINDS] = {
	[FRR_BFD_PROFILE] = { "bfd-profile", FRR_BFDD },
	[FRR_BFD_LINE] = { "bfd-line", FRR_BFDD },
	[FRR_LIST] = { "list", FRR_BGPD },
	[FRR_MAP] = { "route-map", FRR_BGPD },
	[FRR_MAP_LINE] = { "route-map-line", FRR_BGPD },
	[FRR_NEIGHBOR] = { "neighbor", FRR_BGPD },
	[FRR_OPTION] = { "neighbor-option", FRR_BGPD },
	[FRR_NETWORK] = { "network", FRR_BGPD },
};

const char *frr_kind_name(enum frr_kind k)
{
	assert(k < FRR_KINDS);
	return kinds[k].name;
}

enum frr_daemon frr_kind_owner(enum frr_kind k)
{
	assert(k < FRR_KINDS);
	return kinds[k].owner;
}

const char *frr_daemon_name(enum frr_daemon d)
{
	static const char *const names[FRR_DAEMONS] = { "bgpd", "bfdd" };

	assert(d < FRR_DAEMONS);
	return names[d];
}
