/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/tables.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/l7/spread.h"

struct entry {
	struct table table;
	struct tables *of;
	char *key;
	unsigned references;
	uint16_t slots[];
};

struct tables {
	struct map by_key;
	uint64_t built;
};

struct tables *tables_new(void)
{
	return mem_zalloc(sizeof(struct tables));
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	assert(t->by_key.n == 0);
	map_free(&t->by_key);
	free(t);
}

/* All that a table depends on. A host has no blank. */
static void write_key(const struct l7_server *servers, size_t n, struct buf *key)
{
	for (size_t i = 0; i < n; i++) {
		buf_adds(key, servers[i].host);
		buf_addc(key, ' ');
		buf_addu(key, servers[i].port);
		buf_addc(key, ' ');
		buf_addu(key, servers[i].drain ? 0 : servers[i].weight);
		buf_addc(key, '\n');
	}
}

static struct entry *make(struct tables *t, const struct l7_server *servers, size_t n,
			  const char *key)
{
	size_t size = l7_spread_size(n);
	struct entry *e = mem_alloc(sizeof(*e) + size * sizeof(*e->slots));

	*e = (struct entry){ .table = { e->slots, size }, .of = t, .key = mem_strdup(key) };
	l7_spread_build(servers, n, e->slots, size);
	map_put(&t->by_key, e->key, e);
	t->built++;
	return e;
}

struct table *tables_take(struct tables *t, const struct l7_server *servers, size_t n)
{
	_cleanup_(buf_free) struct buf key = { 0 };
	struct entry *e;

	write_key(servers, n, &key);
	e = map_get(&t->by_key, buf_cstr(&key));
	if (!e)
		e = make(t, servers, n, buf_cstr(&key));
	e->references++;
	return &e->table;
}

void tables_release(struct table *table)
{
	struct entry *e = table ? container_of(table, struct entry, table) : NULL;

	if (!e || --e->references)
		return;
	map_remove(&e->of->by_key, e->key);
	free(e->key);
	free(e);
}

uint64_t tables_built(const struct tables *t)
{
	return t->built;
}
