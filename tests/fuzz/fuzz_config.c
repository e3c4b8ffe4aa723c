/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a configuration file, read both ways, and through both phases: an answer, within the
 * bounds; what is refused is refused with words that can be printed; what is taken keeps what
 * core/l4/config.h promises, and a reload to itself changes nothing.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "core/l4/changes.h"
#include "core/l4/validate.h"
#include "lib/regex/regex.h"
#include "wire/config_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): the check must not depend on how the harness was built. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_words(const struct errs *errors)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	size_t lines = 0;

	errs_print(errors, "fuzz", &out);
	require(utf8_valid(out.p, out.n));
	for (size_t i = 0; i < out.n; i++)
		lines += out.p[i] == '\n';
	require(lines == errors->n + !!errors->dropped);
}

static bool regexp_ok(const char *pattern, char *reason, size_t reason_size)
{
	_cleanup_(regex_freep) struct regex *re = NULL;

	return regex_compile(pattern, &re, reason, reason_size) == 0;
}

static void check_checks(const struct l4_config *c)
{
	for (size_t i = 0; i < c->n_checks; i++) {
		const struct l4_check *check = &c->checks[i];
		bool http = check->type == L4_CHECK_HTTP || check->type == L4_CHECK_HTTPS;

		require(!i || strcmp(check[-1].name, check->name) < 0);
		require((check->port == 0) ==
			(check->type == L4_CHECK_ICMP || check->ports == L4_PORTS_VIP));
		require(check->type != L4_CHECK_DNS || check->dns.name);
		require(check->type != L4_CHECK_UDP || check->talk.send || check->talk.send_hex);
		require(check->schedule.interval > 0 && check->schedule.fast_interval > 0);
		require(check->schedule.down_interval > 0 && check->timeout > 0);
		require(check->rule.rise > 0 && check->rule.fall > 0);
		require(http ? check->http.codes.n && *check->http.path == '/'
			     : !check->http.path && !check->http.codes.n);
	}
}

static void check_pool(const struct l4_config *c, const struct l4_pool *pool)
{
	require(pool->name && pool->n_members > 0);
	for (size_t i = 0; i < pool->n_members; i++) {
		const struct l4_member *m = &pool->members[i];

		require(m->backend < c->n_backends && m->weight <= 100);
		require(!i || m[-1].backend < m->backend);
	}
}

static void check_entries(const struct l4_config *c)
{
	for (size_t i = 0; i < c->n_backends; i++) {
		const struct l4_backend *b = &c->backends[i];

		require(!i || strcmp(b[-1].name, b->name) < 0);
		require(addr_is_set(&b->address));
		require(!b->check || (b->check >= c->checks && b->check < c->checks + c->n_checks));
		require((b->n_ports > 0) == (b->check && b->check->ports == L4_PORTS_VIP));
		require(b->n_ports <= L4_PORTS_MAX);
	}
	for (size_t i = 0; i < c->n_frontends; i++) {
		const struct l4_frontend *f = &c->frontends[i];

		require(!i || strcmp(f[-1].name, f->name) < 0);
		require(addr_is_set(&f->address));
		require((f->port == 0) == (f->protocol == L4_PROTOCOL_ANY));
		for (size_t p = 0; p < f->n_pools; p++)
			check_pool(c, &f->pools[p]);
	}
}

static void check_reload(const struct l4_config *c, struct arena *arena)
{
	struct l4_reload reload;
	struct l4_model m;

	l4_model_init(&m, c, 1);
	require(l4_changes(&m, c, arena).n == 0);
	l4_model_reload(&m, c, 2, &reload);
	require(reload.changes.n == 0);
	vec_free(&reload.changes);
	l4_model_free(&m);
}

static void build(const struct l4_doc *doc, struct arena *arena)
{
	const struct l4_rules rules = { .regexp_ok = regexp_ok };
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct l4_config config;
	int r = l4_config_build(doc, &rules, arena, &config, &errors, &warnings);

	require(r == 0 || r == -EINVAL);
	require((r == 0) == (errors.n == 0));
	check_words(&errors);
	check_words(&warnings);
	if (r < 0)
		return;
	check_checks(&config);
	check_entries(&config);
	check_reload(&config, arena);
}

static int parse(const uint8_t *data, size_t size, enum config_mode mode)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct l4_doc doc = { 0 };
	int r = config_yaml_parse((const char *)data, size, mode, arena, &doc, &errors);

	require(r == 0 || r == -EINVAL);
	require((r == 0) == (errors.n == 0));
	check_words(&errors);
	if (r == 0)
		build(&doc, arena);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int strict = parse(data, size, CONFIG_STRICT);
	int lenient = parse(data, size, CONFIG_LENIENT);

	/* Whoever passes the strict reader passes the lenient one. */
	require(strict < 0 || lenient == 0);
	return 0;
}
