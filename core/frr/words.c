/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frr/words.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/cleanup.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void join_line(struct frr__words *ws, struct arena *arena)
{
	ws->line = str_of(frr__words_join(ws, 0, ws->n, arena));
}

void frr__words_split(struct frr__words *ws, struct str line, struct arena *arena)
{
	size_t at = 0;

	ws->n = 0;
	while (at < line.n) {
		size_t from;

		while (at < line.n && is_blank(line.p[at]))
			at++;
		from = at;
		while (at < line.n && !is_blank(line.p[at]))
			at++;
		/* the last word takes the rest: such a line is long, and of no known kind */
		if (ws->n == FRR__WORDS_MAX - 1)
			at = line.n;
		if (at > from)
			ws->w[ws->n++] = (struct str){ line.p + from, at - from };
	}
	join_line(ws, arena);
}

bool frr__words_begin(const struct frr__words *ws, const char *words)
{
	size_t n;

	/* most comparisons end here: every line is compared with many words */
	if (!ws->line.n || ws->line.p[0] != words[0])
		return false;
	n = strlen(words);
	return ws->line.n >= n && memcmp(ws->line.p, words, n) == 0 &&
	       (ws->line.n == n || ws->line.p[n] == ' ');
}

const char *frr__words_join(const struct frr__words *ws, size_t from, size_t to,
			    struct arena *arena)
{
	size_t n = 0, at = 0;
	char *text;

	assert(from <= to && to <= ws->n);
	for (size_t i = from; i < to; i++)
		n += ws->w[i].n + 1;
	text = arena_alloc(arena, n + 1);
	for (size_t i = from; i < to; i++) {
		if (i > from)
			text[at++] = ' ';
		memcpy(text + at, ws->w[i].p, ws->w[i].n);
		at += ws->w[i].n;
	}
	return text;
}

void frr__words_set(struct frr__words *ws, size_t i, struct str word, struct arena *arena)
{
	assert(i < ws->n);
	if (str_eq(ws->w[i], word))
		return;
	ws->w[i] = word;
	join_line(ws, arena);
}

void frr__words_insert(struct frr__words *ws, size_t i, struct str word, struct arena *arena)
{
	assert(i <= ws->n && ws->n < FRR__WORDS_MAX);
	memmove(&ws->w[i + 1], &ws->w[i], (ws->n - i) * sizeof(ws->w[0]));
	ws->w[i] = word;
	ws->n++;
	join_line(ws, arena);
}

/* True if there were any. */
static bool clear_host_bits(struct addr *a, unsigned bits)
{
	unsigned bytes = a->family == AF_INET ? 4 : 16;
	bool any = false;

	for (unsigned i = 0; i < bytes; i++) {
		unsigned kept = bits > 8 * i ? bits - 8 * i : 0;

		if (kept < 8) {
			any |= a->bytes[i] & (uint8_t)(0xffu >> kept);
			a->bytes[i] &= (uint8_t)(0xff00u >> kept);
		}
	}
	return any;
}

struct str frr__canonical_prefix(struct str word, struct arena *arena)
{
	struct str rest = word, address = { 0 }, length = { 0 };
	char text[ADDR_STRLEN];
	struct addr a;
	uint64_t bits;

	if (word.n >= ADDR_STRLEN + 4 || !str_cut(&rest, '/', &address) ||
	    address.n >= sizeof(text))
		return word;
	memcpy(text, address.p, address.n);
	text[address.n] = '\0';
	if (addr_parse(text, &a) < 0)
		return word;
	if (address.n == word.n)
		return str_of(arena_strdup(arena, addr_format(&a, text)));
	length = (struct str){ word.p + address.n + 1, word.n - address.n - 1 };
	if (str_to_u64(length, a.family == AF_INET ? 32 : 128, &bits) < 0)
		return word;
	/* an IPv4 address has one form; most prefixes end here, without being printed */
	if (!clear_host_bits(&a, (unsigned)bits) && a.family == AF_INET && length.p[0] != '0')
		return word;
	return str_of(arena_printf(arena, "%s/%u", addr_format(&a, text), (unsigned)bits));
}

/* The names that bgpd prints for numbers, RFC 1997 and later ones. */
static const struct {
	struct str number, name;
} known_communities[] = {
	{ STR("65535:0"), STR("graceful-shutdown") }, { STR("65535:1"), STR("accept-own") },
	{ STR("65535:6"), STR("llgr-stale") },	      { STR("65535:7"), STR("no-llgr") },
	{ STR("65535:666"), STR("blackhole") },	      { STR("65535:65281"), STR("no-export") },
	{ STR("65535:65282"), STR("no-advertise") },  { STR("65535:65283"), STR("local-AS") },
	{ STR("65535:65284"), STR("no-peer") },
};

struct str frr__canonical_community(struct str word)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_communities); i++)
		if (str_eq(word, known_communities[i].number))
			return known_communities[i].name;
	return word;
}

struct str frr__community_number(struct str word)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_communities); i++)
		if (str_eq(word, known_communities[i].name))
			return known_communities[i].number;
	return word;
}
