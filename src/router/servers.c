/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/servers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/l7/key.h"

struct entry {
	struct server server;
	char *key, *pool;
};

/* The quota of a pool, as long as a generation has the pool or one of its servers is known. */
struct entrance {
	char *pool;
	struct quota *quota;
	unsigned references;
};

struct servers {
	struct map by_key;
	struct map entrances; /* by the name of the pool */
	unsigned threads;
	quota_call_fn *call;
	void *user;
	VEC(struct entry *) all; /* by number; NULL: free */
	VEC(uint32_t) spare;	 /* free numbers */
	uint64_t last_id;
	struct tables *tables;
};

struct servers *servers_new(unsigned threads, quota_call_fn *call, void *user)
{
	struct servers *s = mem_zalloc(sizeof(*s));

	s->threads = threads;
	s->call = call;
	s->user = user;
	s->tables = tables_new();
	return s;
}

void servers_free(struct servers *s)
{
	if (!s)
		return;
	assert(s->by_key.n == 0 && s->entrances.n == 0);
	map_free(&s->by_key);
	map_free(&s->entrances);
	vec_free(&s->all);
	vec_free(&s->spare);
	tables_free(s->tables);
	free(s);
}

static uint32_t take_number(struct servers *s)
{
	if (s->spare.n)
		return s->spare.items[--s->spare.n];
	vec_push(&s->all, NULL);
	return (uint32_t)s->all.n - 1;
}

/* An IPv6 address has brackets. */
static char *format_authority(const char *host, uint16_t port)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_printf(&text, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	return mem_strdup(buf_cstr(&text));
}

static struct entry *make(struct servers *s, const char *host, uint16_t port, bool tls,
			  const char *key)
{
	struct entry *e = mem_zalloc(sizeof(*e));
	struct addr address;

	e->key = mem_strdup(key);
	e->server.of = s;
	e->server.host = mem_strdup(host);
	e->server.port = port;
	e->server.tls = tls;
	e->server.authority = format_authority(host, port);
	e->server.number = take_number(s);
	e->server.id = ++s->last_id;
	e->server.at.port = port;
	if (addr_parse(host, &address) == 0)
		e->server.at.addr = address;
	s->all.items[e->server.number] = e;
	map_put(&s->by_key, e->key, e);
	return e;
}

struct quota *servers_take_quota(struct servers *s, const char *pool)
{
	struct entrance *e = map_get(&s->entrances, pool);

	if (!e) {
		e = mem_zalloc(sizeof(*e));
		e->pool = mem_strdup(pool);
		e->quota = quota_new(s->threads, s->call, s->user);
		map_put(&s->entrances, e->pool, e);
	}
	e->references++;
	return e->quota;
}

void servers_release_quota(struct servers *s, const char *pool)
{
	struct entrance *e = map_get(&s->entrances, pool);

	if (--e->references)
		return;
	map_remove(&s->entrances, pool);
	quota_release(e->quota);
	free(e->pool);
	free(e);
}

struct server *servers_take(struct servers *s, const char *pool, const char *host, uint16_t port,
			    bool tls)
{
	_cleanup_(buf_free) struct buf key = { 0 };
	struct entry *e;

	/* neither a host nor a port has a blank */
	buf_printf(&key, "%s %u %d %s", host, port, tls, pool);
	e = map_get(&s->by_key, buf_cstr(&key));
	if (!e) {
		e = make(s, host, port, tls, buf_cstr(&key));
		e->server.key = l7_key_of_server(pool, host, port);
		e->pool = mem_strdup(pool);
		e->server.seats = seats_new(servers_take_quota(s, pool));
	}
	e->server.references++;
	return &e->server;
}

void servers_release(struct server *server)
{
	struct entry *e = container_of(server, struct entry, server);
	struct servers *s = server->of;

	if (--server->references)
		return;
	assert(!server->charge);
	map_remove(&s->by_key, e->key);
	s->all.items[server->number] = NULL;
	vec_push(&s->spare, server->number);
	seats_release(server->seats);
	servers_release_quota(s, e->pool);
	free(e->pool);
	free(e->key);
	free(server->host);
	free(server->authority);
	free(e);
}

uint32_t servers_bound(const struct servers *s)
{
	return (uint32_t)s->all.n;
}

struct tables *servers_tables(const struct servers *s)
{
	return s->tables;
}

struct server *servers_at(const struct servers *s, uint32_t number)
{
	assert(number < s->all.n);
	return s->all.items[number] ? &s->all.items[number]->server : NULL;
}
