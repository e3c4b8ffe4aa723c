/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: entries by name and in order.
 *
 * The digest is the sum, modulo 2^128, of half of the SHA-256 of every entry, so that a change
 * costs the digest of one entry. Pools whose servers have changed are in a list, the latest last:
 * what a router lacks is the end of that list.
 */
#include "src/gateway/document.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "lib/tls/digest.h"

struct sum {
	uint64_t high, low;
};

struct entry {
	char *name, *order;
	char *text, *servers; /* servers: of pools; NULL: none yet */
	char *refused;	      /* why; NULL: it is not */
	struct sum sum;
	uint64_t changed; /* version of the last change of the servers */
	TAILQ_ENTRY(entry) recent;
	bool listed; /* in the list of recent changes */
};

struct part {
	struct map by_name;
	VEC(struct entry *) entries; /* in the order of the document */
};

struct document {
	struct part parts[DOCUMENT_PARTS];
	TAILQ_HEAD(recent_pools, entry)
	recent; /* pools whose servers have changed, the latest last */
	uint64_t version;
	uint64_t whole; /* version of the last change that was not only one of servers */
	struct sum sum;
	size_t refused;
};

static const char *const part_names[DOCUMENT_PARTS] = {
	"listeners",
	"routes",
	"streams",
	"pools",
};

const char *document_part_name(enum document_part part)
{
	return part_names[part];
}

/* ---- the digest ---- */

static void add_sum(struct sum *to, const struct sum *s)
{
	to->low += s->low;
	to->high += s->high + (to->low < s->low);
}

static void subtract_sum(struct sum *from, const struct sum *s)
{
	from->high -= s->high + (from->low < s->low);
	from->low -= s->low;
}

static struct sum digest_entry(enum document_part part, const struct entry *e)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	uint8_t digest[TLS_SHA256];
	struct sum s;

	buf_printf(&text, "%s %zu %zu %zu ", part_names[part], strlen(e->order), strlen(e->name),
		   strlen(e->text));
	buf_adds(&text, e->order);
	buf_adds(&text, e->name);
	buf_adds(&text, e->text);
	buf_adds(&text, e->servers ?: "");
	tls_sha256(text.p, text.n, digest);
	memcpy(&s, digest, sizeof(s));
	return s;
}

/* Entries count while they are not refused. */
static void leave_digest(struct document *d, const struct entry *e)
{
	if (!e->refused)
		subtract_sum(&d->sum, &e->sum);
}

static void enter_digest(struct document *d, enum document_part part, struct entry *e)
{
	e->sum = digest_entry(part, e);
	if (!e->refused)
		add_sum(&d->sum, &e->sum);
}

void document_digest(const struct document *d, char ret[static DOCUMENT_DIGEST])
{
	snprintf(ret, DOCUMENT_DIGEST, "%016" PRIx64 "%016" PRIx64, d->sum.high, d->sum.low);
}

static void touch(struct document *d)
{
	d->whole = ++d->version;
}

/* ---- entries ---- */

static int compare(const struct entry *a, const struct entry *b)
{
	int order = strcmp(a->order, b->order);

	return order ? order : strcmp(a->name, b->name);
}

static size_t place_of(const struct part *p, const struct entry *e)
{
	return sorted_place(p->entries.n, i, compare(p->entries.items[i], e) < 0);
}

static void free_entry(struct entry *e)
{
	free(e->name);
	free(e->order);
	free(e->text);
	free(e->servers);
	free(e->refused);
	free(e);
}

/*
 * A change of an entry that was refused, or that goes, accepts all that were: some may have been
 * refused only because they refer to it.
 */
static void accept_all(struct document *d)
{
	for (enum document_part part = 0; part < DOCUMENT_PARTS; part++)
		for (size_t i = 0; d->refused && i < d->parts[part].entries.n; i++) {
			struct entry *e = d->parts[part].entries.items[i];

			if (!e->refused)
				continue;
			free(e->refused);
			e->refused = NULL;
			d->refused--;
			add_sum(&d->sum, &e->sum);
		}
	touch(d);
}

static void replace_text(char **to, struct str text)
{
	char *copy = mem_alloc(text.n + 1);

	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	free(*to);
	*to = copy;
}

static bool has_text(const char *kept, struct str text)
{
	return kept && str_eq(str_of(kept), text);
}

static struct entry *add_entry(struct part *p, const char *name, const char *order)
{
	struct entry *e = mem_zalloc(sizeof(*e));
	size_t at;

	e->name = mem_strdup(name);
	e->order = mem_strdup(order);
	e->text = mem_strdup("");
	map_put(&p->by_name, e->name, e);
	at = place_of(p, e);
	vec_insert_at(&p->entries, at);
	p->entries.items[at] = e;
	return e;
}

static void move_entry(struct part *p, struct entry *e, const char *order)
{
	size_t at = place_of(p, e);

	assert(p->entries.items[at] == e);
	vec_remove_at(&p->entries, at);
	replace_text(&e->order, str_of(order));
	at = place_of(p, e);
	vec_insert_at(&p->entries, at);
	p->entries.items[at] = e;
}

bool document_set(struct document *d, enum document_part part, const char *name, const char *order,
		  struct str text)
{
	struct part *p = &d->parts[part];
	struct entry *e = map_get(&p->by_name, name);

	if (e && strcmp(e->order, order) == 0 && has_text(e->text, text))
		return false;
	if (e && e->refused)
		accept_all(d);
	if (e)
		leave_digest(d, e);
	else
		e = add_entry(p, name, order);
	if (strcmp(e->order, order) != 0)
		move_entry(p, e, order);
	replace_text(&e->text, text);
	enter_digest(d, part, e);
	touch(d);
	return true;
}

bool document_set_servers(struct document *d, const char *pool, struct str text)
{
	struct entry *e = map_get(&d->parts[DOCUMENT_POOLS].by_name, pool);
	bool whole;

	assert(e);
	if (has_text(e->servers, text))
		return false;
	if (e->refused)
		accept_all(d);
	whole = !e->servers; /* routers may not have the pool yet */
	leave_digest(d, e);
	replace_text(&e->servers, text);
	enter_digest(d, DOCUMENT_POOLS, e);
	e->changed = ++d->version;
	if (whole)
		d->whole = d->version;
	if (e->listed)
		TAILQ_REMOVE(&d->recent, e, recent);
	TAILQ_INSERT_TAIL(&d->recent, e, recent);
	e->listed = true;
	return true;
}

bool document_remove(struct document *d, enum document_part part, const char *name)
{
	struct part *p = &d->parts[part];
	struct entry *e = map_remove(&p->by_name, name);

	if (!e)
		return false;
	if (e->refused)
		accept_all(d);
	vec_remove_at(&p->entries, place_of(p, e));
	leave_digest(d, e);
	if (e->listed)
		TAILQ_REMOVE(&d->recent, e, recent);
	free_entry(e);
	touch(d);
	return true;
}

bool document_has(const struct document *d, enum document_part part, const char *name)
{
	return map_get(&d->parts[part].by_name, name);
}

size_t document_count(const struct document *d, enum document_part part)
{
	return d->parts[part].entries.n;
}

const char *document_name(const struct document *d, enum document_part part, size_t i)
{
	return d->parts[part].entries.items[i]->name;
}

uint64_t document_version(const struct document *d)
{
	return d->version;
}

/* ---- texts ---- */

/* The text of a pool has an empty list of servers, in whose place they are put. */
static void write_entry(const struct entry *e, struct buf *out)
{
	static const char none[] = "\"upstreams\":[]";
	const char *at = e->servers ? strstr(e->text, none) : NULL;

	if (!at) {
		buf_adds(out, e->text);
		return;
	}
	buf_add(out, e->text, (size_t)(at - e->text));
	buf_add(out, e->servers + 1, strlen(e->servers) - 2);
	buf_adds(out, at + sizeof(none) - 1);
}

/* One entry in a line, and lines without entries only between parts. */
static void write_part(const struct document *d, enum document_part part, struct buf *out)
{
	const struct part *p = &d->parts[part];
	bool first = true;

	buf_printf(out, "%s\"%s\":[\n", part ? "," : "", part_names[part]);
	for (size_t i = 0; i < p->entries.n; i++) {
		if (p->entries.items[i]->refused)
			continue;
		buf_adds(out, first ? "" : ",\n");
		write_entry(p->entries.items[i], out);
		first = false;
	}
	buf_adds(out, first ? "]" : "\n]");
}

void document_write(const struct document *d, struct buf *out)
{
	buf_addc(out, '{');
	for (enum document_part part = 0; part < DOCUMENT_PARTS; part++)
		write_part(d, part, out);
	buf_add_lit(out, "}\n");
}

void document_write_servers(const struct document *d, const char *pool, struct buf *out)
{
	const struct entry *e = map_get(&d->parts[DOCUMENT_POOLS].by_name, pool);

	buf_adds(out, e->servers);
}

/* ---- what changed ---- */

static const struct entry *first_stale(const struct document *d, uint64_t version)
{
	const struct entry *found = NULL, *e;

	TAILQ_FOREACH_REVERSE(e, &d->recent, recent_pools, recent)
	{
		if (e->changed <= version)
			break;
		found = e;
	}
	return found;
}

enum document_need document_since(const struct document *d, uint64_t version, const char **ret_pool,
				  uint64_t *ret_version)
{
	const struct entry *e;

	if (version >= d->version)
		return DOCUMENT_NOTHING;
	if (version < d->whole)
		return DOCUMENT_WHOLE;
	e = first_stale(d, version);
	*ret_pool = e->name;
	*ret_version = e->changed;
	return DOCUMENT_SERVERS;
}

size_t document_stale_pools(const struct document *d, uint64_t version)
{
	const struct entry *e;
	size_t n = 0;

	TAILQ_FOREACH_REVERSE(e, &d->recent, recent_pools, recent)
	{
		if (e->changed <= version)
			break;
		n++;
	}
	return n;
}

/* ---- refusals ---- */

static struct entry *entry_of_line(const struct part *p, size_t number)
{
	for (size_t i = 0; i < p->entries.n; i++)
		if (!p->entries.items[i]->refused && number-- == 0)
			return p->entries.items[i];
	return NULL;
}

static size_t accepted(const struct part *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->entries.n; i++)
		n += !p->entries.items[i]->refused;
	return n;
}

/* The part that a line is of: its first line has only the key, and *line becomes a number in it. */
static bool part_of_line(const struct document *d, size_t *line, enum document_part *ret)
{
	size_t first = 1;

	for (enum document_part part = 0; part < DOCUMENT_PARTS; part++) {
		size_t n = accepted(&d->parts[part]);

		if (*line > first && *line <= first + n) {
			*line -= first + 1;
			*ret = part;
			return true;
		}
		first += n + 1;
	}
	return false;
}

bool document_refuse(struct document *d, size_t line, const char *why, enum document_part *ret_part,
		     const char **ret_name)
{
	enum document_part part;
	struct entry *e;

	if (!part_of_line(d, &line, &part))
		return false;
	e = entry_of_line(&d->parts[part], line);
	assert(e);
	leave_digest(d, e);
	e->refused = mem_strdup(why);
	d->refused++;
	touch(d);
	*ret_part = part;
	*ret_name = e->name;
	return true;
}

const char *document_refusal(const struct document *d, enum document_part part, const char *name)
{
	const struct entry *e = map_get(&d->parts[part].by_name, name);

	return e ? e->refused : NULL;
}

size_t document_refused(const struct document *d)
{
	return d->refused;
}

/* ---- life ---- */

struct document *document_new(void)
{
	struct document *d = mem_zalloc(sizeof(*d));

	touch(d); /* so that a router gets it also if it is empty */
	TAILQ_INIT(&d->recent);
	return d;
}

void document_free(struct document *d)
{
	if (!d)
		return;
	for (enum document_part part = 0; part < DOCUMENT_PARTS; part++) {
		struct part *p = &d->parts[part];

		for (size_t i = 0; i < p->entries.n; i++)
			free_entry(p->entries.items[i]);
		vec_free(&p->entries);
		map_free(&p->by_name);
	}
	free(d);
}
