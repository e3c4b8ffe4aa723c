/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/secures.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "lib/tls/tls.h"

struct entry {
	struct secure secure;
	struct secures *of;
	char *key, *name;
	unsigned references;
	bool broken; /* a context could not be made */
	struct tls_refusal why;
};

struct secures {
	struct map by_key;
	uint64_t last; /* id */
};

/* ---- contexts ---- */

static int make_context(const struct l7_pool *pool, enum l7_server_protocol speech,
			struct tls_context **ret, struct tls_refusal *why)
{
	static const char *const protocols[] = {
		[L7_HTTP1] = NULL, /* also for streams */[L7_H2] = "h2", [L7_AUTO] = "h2,http/1.1"
	};
	const struct l7_pool_tls *t = &pool->tls;
	const struct tls_pair pair = { .certificate = t->certificate.text, .key = t->key.text };
	struct tls_name names[L7_TLS_NAMES_MAX];
	const struct tls_config config = { .role = TLS_CLIENT,
					   .minimum = t->newest ? TLS_1_3 : TLS_1_2,
					   .pairs = &pair,
					   .n_pairs = pair.certificate != NULL,
					   .protocols = protocols[speech],
					   .ca = t->ca.text,
					   .insecure = !t->verify,
					   .resume = true,
					   .names = names,
					   .n_names = t->n_names };

	for (size_t i = 0; i < t->n_names; i++)
		names[i] = (struct tls_name){ t->names[i].uri ? TLS_NAME_URI : TLS_NAME_DNS,
					      t->names[i].value };
	return tls_context_new(&config, ret, why);
}

static bool has_tls(const struct l7_pool *pool)
{
	for (size_t i = 0; i < pool->n_servers; i++)
		if (pool->servers[i].tls)
			return true;
	return false;
}

/* ---- the set ---- */

struct secures *secures_new(void)
{
	return mem_zalloc(sizeof(struct secures));
}

void secures_free(struct secures *s)
{
	if (!s)
		return;
	assert(s->by_key.n == 0);
	map_free(&s->by_key);
	free(s);
}

static void add_text(struct buf *key, const char *text)
{
	buf_addu(key, text ? strlen(text) + 1 : 0);
	buf_addc(key, ':');
	buf_adds(key, text ?: "");
}

/* All that a context depends on, and the name that it is used with. */
static void write_key(const struct l7_pool *pool, struct buf *key)
{
	const struct l7_pool_tls *t = &pool->tls;

	buf_printf(key, "%d%d%d%d ", (int)pool->protocol, t->verify, t->newest,
		   pool->probe.enabled ? 1 + (int)pool->probe.type : 0);
	add_text(key, t->ca.text);
	add_text(key, t->certificate.text);
	add_text(key, t->key.text);
	add_text(key, t->name);
	for (size_t i = 0; i < t->n_names; i++)
		add_text(key, t->names[i].value);
}

static int make_both(const struct l7_pool *pool, struct secure *ret, struct tls_refusal *why)
{
	enum l7_server_protocol probed = pool->probe.type == L7_PROBE_GRPC ? L7_H2 : L7_HTTP1;
	int r = make_context(pool, pool->protocol, &ret->context, why);

	return r < 0 || !pool->probe.enabled ? r : make_context(pool, probed, &ret->probes, why);
}

/* Also if there is no context: secures_complain() tells why. */
static struct entry *make(struct secures *s, const struct l7_pool *pool, const char *key)
{
	struct entry *e = mem_zalloc(sizeof(*e));

	e->of = s;
	e->key = mem_strdup(key);
	e->name = pool->tls.name ? mem_strdup(pool->tls.name) : NULL;
	e->secure.id = ++s->last;
	e->secure.name = e->name;
	e->broken = make_both(pool, &e->secure, &e->why) < 0;
	map_put(&s->by_key, e->key, e);
	return e;
}

struct secure *secures_take(struct secures *s, const struct l7_pool *pool)
{
	_cleanup_(buf_free) struct buf key = { 0 };
	struct entry *e;

	if (!has_tls(pool))
		return NULL;
	write_key(pool, &key);
	e = map_get(&s->by_key, buf_cstr(&key));
	if (!e)
		e = make(s, pool, buf_cstr(&key));
	e->references++;
	return &e->secure;
}

void secures_release(struct secure *secure)
{
	struct entry *e = secure ? container_of(secure, struct entry, secure) : NULL;

	if (!e || --e->references)
		return;
	map_remove(&e->of->by_key, e->key);
	tls_context_free(e->secure.context);
	tls_context_free(e->secure.probes);
	free(e->key);
	free(e->name);
	free(e);
}

static void complain_of(const struct tls_refusal *why, size_t pool, struct buf *out)
{
	static const char *const keys[] = { [TLS_PART_CERTIFICATE] = ".certificate",
					    [TLS_PART_KEY] = ".key",
					    [TLS_PART_CA] = ".ca" };
	const char *key = why->part < ARRAY_SIZE(keys) ? keys[why->part] : NULL;

	buf_printf(out, "pools[%zu].tls%s: %s", pool, key ?: "", why->reason);
}

int secures_complain(struct secure *secure, size_t pool, struct buf *why)
{
	const struct entry *e = container_of(secure, struct entry, secure);

	if (!e->broken)
		return 0;
	complain_of(&e->why, pool, why);
	return -EINVAL;
}

int secures_check(const struct l7_config *config, struct buf *why)
{
	struct tls_refusal refusal;
	int r = 0;

	for (size_t i = 0; i < config->n_pools && r == 0; i++) {
		struct secure secure = { 0 };

		if (!has_tls(&config->pools[i]))
			continue;
		r = make_both(&config->pools[i], &secure, &refusal);
		if (r < 0)
			complain_of(&refusal, i, why);
		tls_context_free(secure.context);
		tls_context_free(secure.probes);
	}
	return r;
}

/* ---- documents ---- */

static void complain(struct errs *errors, struct place at, size_t pool, const char *key,
		     const char *why)
{
	errs_add_coded(errors, "InvalidTls", at,
		       arena_printf(errors->arena, "pools[%zu].tls%s", pool, key),
		       arena_strdup(errors->arena, why));
}

/* Returns the text of a file; NULL with errno set. */
static const char *read_file(const char *path, struct arena *arena)
{
	_cleanup_(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	if (!S_ISREG(st.st_mode) || st.st_size > L7_PEM_MAX) {
		errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
		return NULL;
	}
	text = arena_alloc(arena, (size_t)st.st_size + 1);
	while (n < (size_t)st.st_size) {
		ssize_t r = read(fd, text + n, (size_t)st.st_size - n);

		if (r < 0)
			return NULL;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	text[n] = 0;
	return text;
}

static void load(struct l7_pem *pem, const struct doc_text *d, size_t pool, const char *key,
		 struct errs *errors)
{
	char why[512];

	if (!pem->given)
		return;
	pem->text = tls_is_pem(pem->given) ? pem->given : read_file(pem->given, errors->arena);
	if (pem->text && tls_is_pem(pem->text))
		return;
	if (pem->text)
		snprintf(why, sizeof(why), "%s: has no PEM text", pem->given);
	else
		snprintf(why, sizeof(why), "%s: %s", pem->given, strerror(errno));
	complain(errors, d->at, pool, key, why);
}

int secure_load(struct l7_config *config, const struct l7_doc *doc, struct errs *errors)
{
	struct l7_pool *pools = (void *)(uintptr_t)config->pools; /* in this arena, and new */
	size_t before = errors->n + errors->dropped;

	for (size_t i = 0; i < config->n_pools; i++) {
		const struct l7_doc_pool_tls *d = &doc->pools[i].tls;
		struct l7_pool_tls *t = &pools[i].tls;
		if (!t->given)
			continue;
		load(&t->ca, &d->ca, i, ".ca", errors);
		load(&t->certificate, &d->certificate, i, ".certificate", errors);
		load(&t->key, &d->key, i, ".key", errors);
	}
	return errors->n + errors->dropped == before ? 0 : -EINVAL;
}
