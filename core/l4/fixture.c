/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture: entries are collected as pointers, so that returned pointers stay valid while the
 * lists grow. fixture_config() copies them into the sorted arrays of a configuration.
 */
#include "core/l4/fixture.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "base/vec.h"
#include "core/l4/names.h"

struct member {
	const char *backend;
	unsigned weight;
};

struct pool {
	const char *name;
	VEC(struct member) members;
};

struct backend {
	struct l4_backend config;
	const char *check;
};

struct frontend {
	struct l4_frontend config;
	VEC(struct pool) pools;
};

struct fixture {
	struct arena *arena;
	VEC(struct l4_check *) checks;
	VEC(struct backend *) backends;
	VEC(struct frontend *) frontends;
	struct l4_config config;
};

struct fixture *fixture_new(void)
{
	struct fixture *f = mem_zalloc(sizeof(*f));

	f->arena = arena_new();
	return f;
}

void fixture_free(struct fixture *f)
{
	for (size_t i = 0; i < f->frontends.n; i++) {
		struct frontend *front = f->frontends.items[i];

		for (size_t p = 0; p < front->pools.n; p++)
			vec_free(&front->pools.items[p].members);
		vec_free(&front->pools);
	}
	vec_free(&f->checks);
	vec_free(&f->backends);
	vec_free(&f->frontends);
	arena_free(f->arena);
	free(f);
}

void fixture_freep(struct fixture **f)
{
	if (*f)
		fixture_free(*f);
}

static struct addr address_of(const char *text)
{
	struct addr a = { 0 };
	int r = addr_parse(text, &a);

	assert(r == 0);
	(void)r;
	return a;
}

struct l4_check *fixture_check(struct fixture *f, const char *name, unsigned rise, unsigned fall)
{
	struct l4_check *c = arena_new_of(f->arena, struct l4_check);

	*c = (struct l4_check){
		.name = arena_strdup(f->arena, name),
		.type = L4_CHECK_TCP,
		.port = 80,
		.schedule = { 2 * NSEC_PER_SEC, NSEC_PER_SEC, 5 * NSEC_PER_SEC },
		.rule = { rise, fall },
		.timeout = NSEC_PER_SEC,
	};
	vec_push(&f->checks, c);
	return c;
}

struct l4_backend *fixture_backend(struct fixture *f, const char *name, const char *address,
				   const char *check)
{
	struct backend *b = arena_new_of(f->arena, struct backend);

	b->config.name = arena_strdup(f->arena, name);
	b->config.address = address_of(address);
	b->config.enabled = true;
	b->check = check ? arena_strdup(f->arena, check) : NULL;
	vec_push(&f->backends, b);
	return &b->config;
}

struct l4_frontend *fixture_frontend(struct fixture *f, const char *name, const char *address,
				     uint16_t port)
{
	struct frontend *front = arena_new_of(f->arena, struct frontend);

	front->config.name = arena_strdup(f->arena, name);
	front->config.description = "";
	front->config.address = address_of(address);
	front->config.protocol = port ? IPPROTO_TCP : L4_PROTOCOL_ANY;
	front->config.port = port;
	front->config.flush_on_down = true;
	vec_push(&f->frontends, front);
	return &front->config;
}

void fixture_pool(struct fixture *f, const char *name)
{
	struct frontend *front = f->frontends.items[f->frontends.n - 1];

	vec_push(&front->pools, (struct pool){ .name = arena_strdup(f->arena, name) });
}

void fixture_member(struct fixture *f, const char *backend, unsigned weight)
{
	struct frontend *front = f->frontends.items[f->frontends.n - 1];
	struct pool *p = &front->pools.items[front->pools.n - 1];

	vec_push(&p->members, (struct member){ arena_strdup(f->arena, backend), weight });
}

/* Works for checks, backends and frontends, because the name is the first member of all three. */
static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static int by_backend(const void *a, const void *b)
{
	const struct l4_member *x = a, *y = b;

	return (x->backend > y->backend) - (x->backend < y->backend);
}

static void build_checks(struct fixture *f)
{
	struct l4_check *list = arena_array_of(f->arena, f->checks.n, struct l4_check);

	for (size_t i = 0; i < f->checks.n; i++)
		list[i] = *f->checks.items[i];
	qsort(list, f->checks.n, sizeof(*list), by_name); /* name is the first field */
	f->config.checks = list;
	f->config.n_checks = f->checks.n;
}

static struct l4_backend *build_backends(struct fixture *f)
{
	struct l4_backend *list = arena_array_of(f->arena, f->backends.n, struct l4_backend);

	for (size_t i = 0; i < f->backends.n; i++) {
		const struct backend *b = f->backends.items[i];

		list[i] = b->config;
		list[i].check = b->check ? l4_config_check(&f->config, b->check) : NULL;
		assert(!b->check || list[i].check);
	}
	qsort(list, f->backends.n, sizeof(*list), by_name);
	f->config.backends = list;
	f->config.n_backends = f->backends.n;
	return list;
}

static struct l4_pool build_pool(struct fixture *f, const struct pool *p)
{
	struct l4_member *list = arena_array_of(f->arena, p->members.n, struct l4_member);

	for (size_t i = 0; i < p->members.n; i++) {
		list[i].backend = l4_config_backend(&f->config, p->members.items[i].backend);
		list[i].weight = p->members.items[i].weight;
		assert(list[i].backend != SIZE_MAX);
	}
	qsort(list, p->members.n, sizeof(*list), by_backend);
	return (struct l4_pool){ .name = p->name, .members = list, .n_members = p->members.n };
}

static void build_frontends(struct fixture *f)
{
	struct l4_frontend *list = arena_array_of(f->arena, f->frontends.n, struct l4_frontend);

	for (size_t i = 0; i < f->frontends.n; i++) {
		const struct frontend *front = f->frontends.items[i];
		struct l4_pool *pools = arena_array_of(f->arena, front->pools.n, struct l4_pool);

		for (size_t p = 0; p < front->pools.n; p++)
			pools[p] = build_pool(f, &front->pools.items[p]);
		list[i] = front->config;
		list[i].pools = pools;
		list[i].n_pools = front->pools.n;
	}
	qsort(list, f->frontends.n, sizeof(*list), by_name);
	f->config.frontends = list;
	f->config.n_frontends = f->frontends.n;
	l4_names_build(&f->config, list, f->arena);
}

static bool is_referenced(const struct l4_frontend *front, size_t backend)
{
	for (size_t p = 0; p < front->n_pools; p++)
		for (size_t i = 0; i < front->pools[p].n_members; i++)
			if (front->pools[p].members[i].backend == backend)
				return true;
	return false;
}

static void build_references(struct fixture *f, struct l4_backend *backends)
{
	for (size_t b = 0; f->config.n_frontends && b < f->config.n_backends; b++) {
		size_t *list = arena_array_of(f->arena, f->config.n_frontends, size_t);

		backends[b].frontends = list;
		for (size_t i = 0; i < f->config.n_frontends; i++)
			if (is_referenced(&f->config.frontends[i], b))
				list[backends[b].n_frontends++] = i;
	}
}

struct l4_config *fixture_config(struct fixture *f)
{
	struct l4_backend *backends;

	f->config = (struct l4_config){
		.transition_history = 5,
		.all_down_guard = true,
		.lb = {
			.sync_interval = 30 * NSEC_PER_SEC,
			.flow_timeout = 40 * NSEC_PER_SEC,
			.startup_min_delay = 5 * NSEC_PER_SEC,
			.startup_max_delay = 30 * NSEC_PER_SEC,
			.sticky_buckets_per_core = 1024,
			.new_flows_table_length = 16384,
		},
	};
	build_checks(f);
	backends = build_backends(f);
	build_frontends(f);
	build_references(f, backends);
	return &f->config;
}
