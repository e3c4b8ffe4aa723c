/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vpp/stats.h"

#include <stdio.h>
#include <string.h>

#define UNKNOWN_TYPE 42
#define FIRST_CAPACITY 8
#define HEARTBEAT_ENTRY 0
#define BOOT_TIME_ENTRY 2

static const uint64_t memory[] = { 33554432, 1048576, 32505856 }; /* total, used, free */
static const char *const interfaces[] = { "local0", NULL, "memif0/0" };

static struct segment_entry *add(struct stats *s, enum segment_type type, const char *name)
{
	struct segment_entry e = { .type = type };

	snprintf(e.name, sizeof(e.name), "%s", name);
	vec_push(&s->entries, e);
	return &s->entries.items[s->entries.n - 1];
}

static void add_value(struct stats *s, enum segment_type type, const char *name, uint64_t value)
{
	add(s, type, name)->value = value;
}

static void add_link(struct stats *s, const char *name, size_t entry, size_t column)
{
	add_value(s, SEGMENT_SYMLINK, name, (uint64_t)column << 32 | entry);
}

/* VPP allocates room for more columns. The epoch changes only when that is used up. */
static void set_counters(struct segment_entry *e, const uint64_t *words, size_t columns)
{
	e->words = words;
	e->columns = columns;
	e->capacity = mem_grown(0, FIRST_CAPACITY, columns);
}

static void add_counters(struct stats *s, enum segment_type type, const char *name,
			 const uint64_t *words, size_t columns)
{
	set_counters(add(s, type, name), words, columns);
}

static void add_system(struct stats *s)
{
	struct segment_entry *names;

	add_value(s, SEGMENT_SCALAR, "/sys/heartbeat", s->heartbeat);
	add_value(s, SEGMENT_SCALAR, "/sys/last_stats_clear", 0);
	add_value(s, SEGMENT_SCALAR, "/sys/boottime", s->boot_time);
	add_counters(s, SEGMENT_SIMPLE, "/mem/stat segment", memory, 3);
	add_link(s, "/mem/stat segment/used", 3, 1);
	add_value(s, SEGMENT_GAUGE, "/sys/num_worker_threads", SEGMENT_THREADS - 1);
	names = add(s, SEGMENT_NAMES, "/if/names");
	names->names = interfaces;
	names->columns = names->capacity = 3;
	add_value(s, SEGMENT_FREE, "", 0);
	add_value(s, SEGMENT_RING, "/ring", 0xdeadbeef);
	add_value(s, UNKNOWN_TYPE, "/tomorrow", 0xdeadbeef);
	add_value(s, 0, "", 0);
}

static void add_nodes(struct stats *s)
{
	size_t clocks = s->entries.n;
	char name[SEGMENT_NAME_LEN];

	while (s->clocks.n < s->links)
		vec_push(&s->clocks, 1000);
	add_counters(s, SEGMENT_SIMPLE, "/sys/node/clocks", s->clocks.items, s->links);
	for (size_t i = 0; i < s->links; i++) {
		snprintf(name, sizeof(name), "/nodes/node-%zu/clocks", i);
		add_link(s, name, clocks, i);
	}
}

static void add_routes(struct stats *s, const struct fib *f)
{
	add_counters(s, SEGMENT_COMBINED, "/net/route/to", &f->to.items->packets, f->to.n);
	add_counters(s, SEGMENT_COMBINED, "/net/route/via", &f->via.items->packets, f->via.n);
}

/* Builds the entries that always exist. Their numbers are set at each collection. */
static void build(struct stats *s, const struct machine *m)
{
	s->entries.n = 0;
	add_system(s);
	s->routes = s->entries.n;
	add_routes(s, &m->plugin.fib);
	add_nodes(s);
	s->fixed = s->entries.n;
	s->built = s->links;
}

void stats_free(struct stats *s)
{
	vec_free(&s->entries);
	vec_free(&s->clocks);
}

void stats_collect(struct stats *s, const struct machine *m)
{
	const struct fib *f = &m->plugin.fib;

	if (!s->fixed || s->built != s->links)
		build(s, m);
	s->entries.n = s->fixed;
	s->entries.items[HEARTBEAT_ENTRY].value = s->heartbeat;
	s->entries.items[BOOT_TIME_ENTRY].value = s->boot_time;
	set_counters(&s->entries.items[s->routes], &f->to.items->packets, f->to.n);
	set_counters(&s->entries.items[s->routes + 1], &f->via.items->packets, f->via.n);
	for (size_t i = 0; i < PLUGIN_COUNTERS; i++)
		if (m->plugin.counters[i].n)
			add_counters(s, SEGMENT_SIMPLE, plugin_counter_names[i],
				     m->plugin.counters[i].items, m->plugin.counters[i].n);
}
