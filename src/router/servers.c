/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/servers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/l7/key.h"
#include "src/router/names.h"

struct entry {
	struct server server;
	struct name *name;
};

struct servers {
	struct names *names; /* the user of each is an entry */
};

struct servers *servers_new(void)
{
	struct servers *s = mem_zalloc(sizeof(*s));

	s->names = names_new();
	return s;
}

void servers_free(struct servers *s)
{
	if (!s)
		return;
	names_free(s->names);
	free(s);
}

/* An IPv6 address has brackets. */
static char *format_authority(const char *host, uint16_t port)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_printf(&text, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	return mem_strdup(buf_cstr(&text));
}

static struct entry *make(struct name *name, const char *host, uint16_t port, bool tls)
{
	struct entry *e = mem_zalloc(sizeof(*e));
	struct addr address;

	e->name = name;
	e->server.host = mem_strdup(host);
	e->server.port = port;
	e->server.tls = tls;
	e->server.authority = format_authority(host, port);
	e->server.number = name->number;
	e->server.id = name->id;
	e->server.at.port = port;
	if (addr_parse(host, &address) == 0)
		e->server.at.addr = address;
	else
		atomic_init(&e->server.flags, SERVER_NOWHERE);
	pthread_mutex_init(&e->server.lock, NULL);
	name->user = e;
	return e;
}

struct server *servers_take(struct servers *s, struct quota *quota, const char *pool,
			    const char *host, uint16_t port, bool tls)
{
	_cleanup_(buf_free) struct buf key = { 0 };
	struct name *name;
	struct entry *e;

	/* neither a host nor a port has a blank */
	buf_printf(&key, "%s %u %d %s", host, port, tls, pool);
	name = names_take(s->names, buf_cstr(&key));
	e = name->user ?: make(name, host, port, tls);
	e->server.key = l7_key_of_server(pool, host, port);
	if (!e->server.seats)
		e->server.seats = seats_new(quota);
	return &e->server;
}

void servers_release(struct server *server)
{
	struct entry *e = names_release(container_of(server, struct entry, server)->name);

	if (!e)
		return;
	assert(!e->server.charge);
	pthread_mutex_destroy(&e->server.lock);
	free(e->server.addresses);
	free(e->server.host);
	free(e->server.authority);
	seats_release(e->server.seats);
	free(e);
}

void server_set_addresses(struct server *s, const struct addr *list, size_t n)
{
	n = n < SERVER_ADDRESSES ? n : SERVER_ADDRESSES;
	pthread_mutex_lock(&s->lock);
	s->addresses = mem_resize(s->addresses, n, sizeof(*list));
	memcpy(s->addresses, list, n * sizeof(*list));
	s->n_addresses = n;
	atomic_fetch_add(&s->version, 1);
	pthread_mutex_unlock(&s->lock);
}

size_t server_get_addresses(struct server *s, struct addr ret[static SERVER_ADDRESSES],
			    unsigned *ret_version)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->n_addresses;
	memcpy(ret, s->addresses, n * sizeof(*ret));
	*ret_version = atomic_load(&s->version);
	pthread_mutex_unlock(&s->lock);
	return n;
}

uint32_t servers_bound(const struct servers *s)
{
	return names_bound(s->names);
}

struct server *servers_at(const struct servers *s, uint32_t number)
{
	const struct name *name = names_at(s->names, number);

	return name ? &((struct entry *)name->user)->server : NULL;
}
