/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/vault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/tls/digest.h"

struct vault {
	struct tls_tickets *tickets;
	struct tls_context *door;
	struct map by_parts;
	VEC(struct vault_item *) items;
};

struct vault *vault_new(struct tls_context *(*choose)(void *user, struct str name))
{
	struct vault *v = mem_zalloc(sizeof(*v));
	const struct tls_config door = { .role = TLS_SERVER,
					 .tickets = v->tickets = tls_tickets_new(),
					 .choose = choose };
	struct tls_refusal why;

	if (tls_context_new(&door, &v->door, &why) == 0)
		return v;
	tls_tickets_free(v->tickets);
	free(v);
	return NULL;
}

static void free_item(struct vault_item *item)
{
	tls_context_free(item->context);
	free(item->made_of);
	free(item);
}

void vault_free(struct vault *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->items.n; i++)
		free_item(v->items.items[i]);
	vec_free(&v->items);
	map_free(&v->by_parts);
	tls_context_free(v->door);
	tls_tickets_free(v->tickets);
	free(v);
}

struct tls_context *vault_door(const struct vault *v)
{
	return v->door;
}

struct tls_tickets *vault_tickets(const struct vault *v)
{
	return v->tickets;
}

/* ---- what a context is made of ---- */

static void add_text(struct buf *out, const char *text)
{
	uint8_t digest[TLS_SHA256];

	tls_sha256(text, strlen(text), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		buf_printf(out, "%02x", digest[i]);
}

/* A file that is replaced has another inode, and one that is written another time. */
static void add_file(struct buf *out, const char *path)
{
	struct stat st;

	buf_adds(out, path);
	if (stat(path, &st) < 0)
		return;
	buf_printf(out, " %ju %ju %jd %jd.%09ld %jd.%09ld", (uintmax_t)st.st_dev,
		   (uintmax_t)st.st_ino, (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec,
		   st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
}

static void add_source(struct buf *out, const char *source)
{
	buf_addc(out, '\n');
	if (source && tls_is_pem(source))
		add_text(out, source);
	else if (source)
		add_file(out, source);
}

static void add_word(struct buf *out, const char *word)
{
	buf_printf(out, "\n%s", word ? word : "");
}

static void list_parts(const struct tls_config *c, struct buf *out)
{
	buf_printf(out, "%u %u %u %d %d %d", c->role, c->minimum, c->clients, c->insecure,
		   c->resume, c->tickets != NULL);
	add_word(out, c->protocols);
	add_word(out, c->ciphers);
	add_word(out, c->scope);
	for (size_t i = 0; i < c->n_names; i++)
		buf_printf(out, "\n%u %s", c->names[i].kind, c->names[i].value);
	add_source(out, c->ca);
	for (size_t i = 0; i < c->n_pairs; i++) {
		add_source(out, c->pairs[i].certificate);
		add_source(out, c->pairs[i].key);
		add_source(out, c->pairs[i].ocsp);
	}
}

/* ---- items ---- */

static struct vault_item *add_item(struct vault *v, struct tls_context *context, struct buf *parts)
{
	struct vault_item *item = mem_zalloc(sizeof(*item));

	item->context = context;
	item->made_of = mem_strdup(buf_cstr(parts));
	vec_push(&v->items, item);
	map_put(&v->by_parts, item->made_of, item);
	return item;
}

/*
 * The parts are listed before the files are read: a file that is replaced in between is read again
 * the next time.
 */
int vault_take(struct vault *v, const struct tls_config *config, struct vault_item **ret,
	       struct tls_refusal *why)
{
	_cleanup_(buf_free) struct buf parts = { 0 };
	struct tls_context *context;
	struct vault_item *item;
	int r;

	list_parts(config, &parts);
	item = map_get(&v->by_parts, buf_cstr(&parts));
	if (!item) {
		r = tls_context_new(config, &context, why);
		if (r < 0)
			return r;
		item = add_item(v, context, &parts);
	}
	*ret = vault_hold(item);
	return 0;
}

struct vault_item *vault_hold(struct vault_item *item)
{
	if (item)
		item->users++;
	return item;
}

void vault_give(struct vault_item *item)
{
	if (item)
		item->users--;
}

void vault_sweep(struct vault *v)
{
	for (size_t i = v->items.n; i--;) {
		struct vault_item *item = v->items.items[i];

		if (item->users)
			continue;
		map_remove(&v->by_parts, item->made_of);
		vec_remove_at(&v->items, i);
		free_item(item);
	}
}

/* ---- listeners ---- */

static const char *const parts[] = {
	[TLS_PART_NONE] = "tls",	  [TLS_PART_CERTIFICATE] = "certificate",
	[TLS_PART_KEY] = "key",		  [TLS_PART_OCSP] = "ocsp",
	[TLS_PART_CA] = "tls.clients.ca", [TLS_PART_CIPHERS] = "tls.ciphers",
	[TLS_PART_PROTOCOLS] = "tls",
};

/* Names the key as the document has it. */
static void complain(size_t listener, const struct tls_refusal *why, struct buf *out)
{
	buf_printf(out, "listeners[%zu].", listener);
	if (why->part == TLS_PART_CERTIFICATE || why->part == TLS_PART_KEY ||
	    why->part == TLS_PART_OCSP)
		buf_printf(out, "tls.certificates[%zu].", why->pair);
	buf_printf(out, "%s: %s", parts[why->part], why->reason);
}

static const enum tls_clients clients[] = {
	[L7_TLS_CLIENTS_OFF] = TLS_CLIENTS_OFF,
	[L7_TLS_CLIENTS_REQUIRE] = TLS_CLIENTS_REQUIRED,
	[L7_TLS_CLIENTS_OPTIONAL] = TLS_CLIENTS_OPTIONAL,
	[L7_TLS_CLIENTS_FALLBACK] = TLS_CLIENTS_ANY,
};

/* What is spoken inside TLS, in the order of preference; NULL: anything. */
static const char *protocols_of(const struct l7_listener *l)
{
	if (l->protocol != L7_HTTP)
		return NULL;
	return l->http2 ? "h2,http/1.1,http/1.0" : "http/1.1,http/1.0";
}

static int take_listener(struct vault *v, const struct l7_listener *l, struct vault_item **ret,
			 struct tls_refusal *why)
{
	const struct l7_listener_tls *t = &l->tls;
	struct tls_pair pairs[L7_CERTIFICATES_MAX];
	const struct tls_config config = {
		.role = TLS_SERVER,
		.minimum = t->newest ? TLS_1_3 : TLS_1_2,
		.pairs = pairs,
		.n_pairs = t->n_certificates,
		.ca = t->ca,
		.protocols = protocols_of(l),
		.ciphers = t->ciphers,
		.clients = clients[t->clients],
		.tickets = t->tickets ? v->tickets : NULL,
		.scope = l->name,
	};

	for (size_t i = 0; i < t->n_certificates; i++)
		pairs[i] = (struct tls_pair){ t->certificates[i].certificate,
					      t->certificates[i].key, t->certificates[i].ocsp };
	return vault_take(v, &config, ret, why);
}

int vault_take_all(struct vault *v, const struct l7_config *c, struct vault_item **ret,
		   struct buf *why)
{
	struct tls_refusal refusal;

	for (size_t i = 0; i < c->n_listeners; i++) {
		ret[i] = NULL;
		if (c->listeners[i].tls.mode != L7_TLS_TERMINATE ||
		    take_listener(v, &c->listeners[i], &ret[i], &refusal) == 0)
			continue;
		complain(i, &refusal, why);
		while (i--)
			vault_give(ret[i]);
		return -EINVAL;
	}
	return 0;
}

int vault_check(struct vault *v, const struct l7_config *c, struct buf *why)
{
	struct vault_item **items = mem_zalloc((c->n_listeners + 1) * sizeof(struct vault_item *));
	int r = vault_take_all(v, c, items, why);

	for (size_t i = 0; r == 0 && i < c->n_listeners; i++)
		vault_give(items[i]);
	free(items);
	return r;
}
