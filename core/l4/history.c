/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/l4/names.h"

#define READING_MAX (3 * HISTORY_STEP) /* between two readings; a rate over more says little */

/* From best to worst, so that the largest value of a group is the worst state. */
static const enum health_state ranks[] = { HEALTH_UP, HEALTH_DISABLED, HEALTH_PAUSED,
					   HEALTH_UNKNOWN, HEALTH_DOWN };

static uint8_t rank_of(enum health_state state)
{
	uint8_t rank = 0;

	while (rank < ARRAY_SIZE(ranks) - 1 && ranks[rank] != state)
		rank++;
	return rank;
}

enum health_state l4_history_state(float value)
{
	size_t rank = (size_t)value;

	assert(value >= 0 && rank < ARRAY_SIZE(ranks));
	return ranks[rank];
}

const char *l4_history_frontend_line(size_t line)
{
	return line == L4_HISTORY_VIP_BYTES ? "bytes" : lb_packets_name((enum lb_packets)line);
}

const char *l4_history_backend_line(size_t line)
{
	static const char *const names[L4_HISTORY_BACKEND_LINES] = {
		[L4_HISTORY_PACKETS] = "packets",
		[L4_HISTORY_BYTES] = "bytes",
		[L4_HISTORY_LATENCY] = "latency",
		[L4_HISTORY_STATE] = "state",
	};

	return names[line];
}

/* ---- names ---- */

static void free_item(struct l4_history_item *item)
{
	for (size_t i = 0; i < L4_HISTORY_FRONTEND_LINES; i++)
		history_free(&item->lines[i]);
	free(item->name);
}

static void free_items(struct l4_history_items *list)
{
	for (size_t i = 0; i < list->n; i++)
		free_item(&list->items[i]);
	free(list->items);
}

static const char *frontend_name(const struct l4_config *c, size_t i)
{
	return c->frontends[i].name;
}

static const char *backend_name(const struct l4_config *c, size_t i)
{
	return c->backends[i].name;
}

/* Both lists are sorted by name, so one walk over both finds the names that stay. */
static void reload(struct l4_history_items *list, const struct l4_config *c, size_t n,
		   const char *(*name_of)(const struct l4_config *c, size_t i))
{
	struct l4_history_item *next = mem_zalloc(n * sizeof(*next));
	size_t old = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = name_of(c, i);

		while (old < list->n && strcmp(list->items[old].name, name) < 0)
			free_item(&list->items[old++]);
		if (old < list->n && strcmp(list->items[old].name, name) == 0)
			next[i] = list->items[old++];
		else
			next[i].name = mem_strdup(name);
	}
	while (old < list->n)
		free_item(&list->items[old++]);
	free(list->items);
	*list = (struct l4_history_items){ next, n };
}

void l4_history_reload(struct l4_history *h, const struct l4_config *config)
{
	reload(&h->frontends, config, config->n_frontends, frontend_name);
	reload(&h->backends, config, config->n_backends, backend_name);
	l4_history_begin(h, NULL);
}

void l4_history_free(struct l4_history *h)
{
	free_items(&h->frontends);
	free_items(&h->backends);
	*h = (struct l4_history){ 0 };
}

/* ---- between two steps ---- */

void l4_history_note_probe(struct l4_history *h, size_t backend, int64_t duration)
{
	struct l4_history_item *b = &h->backends.items[backend];

	b->latency += (double)duration;
	b->passed++;
}

void l4_history_note_state(struct l4_history *h, size_t backend, enum health_state state)
{
	struct l4_history_item *b = &h->backends.items[backend];
	uint8_t rank = rank_of(state);

	if (rank > b->worst)
		b->worst = rank;
}

/* ---- a reading ---- */

static void begin(struct l4_history_items *list)
{
	for (size_t i = 0; i < list->n; i++) {
		list->items[i].counted = false;
		memset(list->items[i].now, 0, sizeof(list->items[i].now));
	}
}

void l4_history_begin(struct l4_history *h, const struct lb_counters *counters)
{
	h->reading = counters ? counters->at : 0;
	h->has = counters ? counters->has : 0;
	begin(&h->frontends);
	begin(&h->backends);
}

static void add_backend(struct l4_history *h, size_t backend, uint64_t packets, uint64_t bytes)
{
	struct l4_history_item *b = &h->backends.items[backend];

	b->counted = true;
	b->now[L4_HISTORY_PACKETS] += packets;
	b->now[L4_HISTORY_BYTES] += bytes;
}

static void add_servers(struct l4_history *h, const struct l4_config *c, size_t frontend,
			const struct lb_vip_counters *vip)
{
	for (size_t i = 0; i < vip->as.n; i++) {
		const struct lb_as_counters *as = &vip->as.items[i];
		size_t backend = l4_backend_of(c, frontend, &as->address);

		if (backend != SIZE_MAX)
			add_backend(h, backend, as->packets, as->bytes);
	}
}

void l4_history_add_vip(struct l4_history *h, const struct l4_config *config,
			const struct lb_vip_counters *vip)
{
	size_t frontend = l4_frontend_of(config, &vip->key);
	struct l4_history_item *f;

	if (frontend == SIZE_MAX)
		return;
	f = &h->frontends.items[frontend];
	f->counted = true;
	for (size_t kind = 0; kind < LB_PACKETS_KINDS; kind++)
		f->now[kind] += vip->packets[kind];
	f->now[L4_HISTORY_VIP_BYTES] += vip->bytes;
	if (h->has & LB_HAS_AS_TRAFFIC)
		add_servers(h, config, frontend, vip);
}

void l4_history_add_server(struct l4_history *h, const struct l4_config *config,
			   const struct lb_server_counters *server)
{
	size_t first, n;

	if (h->has & LB_HAS_AS_TRAFFIC || !(h->has & LB_HAS_SERVER_TRAFFIC))
		return;
	n = l4_backends_at(config, &server->address, &first);
	for (size_t i = 0; i < n; i++)
		add_backend(h, config->by_address[first + i], server->packets, server->bytes);
}

/* ---- a step ---- */

/* The time between two readings in s; NAN: there is no rate between them. */
static float seconds_between(int64_t last, int64_t now)
{
	int64_t ns = now - last;

	return !last || ns <= 0 || ns > READING_MAX ? NAN : (float)ns / (float)NSEC_PER_SEC;
}

/* A counter that fell belongs to something new. */
static float rate(uint64_t last, uint64_t now, float seconds)
{
	return now < last ? NAN : (float)(now - last) / seconds;
}

/* Puts the rates of the first n counters. */
static void put_rates(const struct l4_history *h, struct l4_history_item *item, size_t n,
		      int64_t step)
{
	float seconds = item->counted ? seconds_between(item->last_at, h->reading) : NAN;

	for (size_t i = 0; i < n; i++)
		history_put(&item->lines[i], step, rate(item->last[i], item->now[i], seconds),
			    HISTORY_MEAN);
	if (!item->counted)
		return;
	memcpy(item->last, item->now, sizeof(item->last));
	item->last_at = h->reading;
}

void l4_history_put_frontend(struct l4_history *h, size_t frontend, int64_t step)
{
	put_rates(h, &h->frontends.items[frontend],
		  h->has & LB_HAS_VIP_BYTES ? L4_HISTORY_FRONTEND_LINES : LB_PACKETS_KINDS, step);
}

static float mean_latency(struct l4_history_item *b)
{
	float mean = b->passed ? (float)(b->latency / b->passed) : NAN;

	b->latency = 0;
	b->passed = 0;
	return mean;
}

void l4_history_put_backend(struct l4_history *h, size_t backend, int64_t step,
			    enum health_state state)
{
	struct l4_history_item *b = &h->backends.items[backend];

	put_rates(h, b, L4_HISTORY_BACKEND_COUNTERS, step);
	history_put(&b->lines[L4_HISTORY_LATENCY], step, mean_latency(b), HISTORY_MEAN);
	l4_history_note_state(h, backend, state);
	history_put(&b->lines[L4_HISTORY_STATE], step, b->worst, HISTORY_LARGEST);
	b->worst = 0; /* the state that it is in now counts at the end of the next step */
}
