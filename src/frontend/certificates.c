/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certificates: those of both sides of the dashboard, towards browsers and towards maglevds.
 *
 * Each side is read separately, at the start and on SIGHUP. New certificates apply to new
 * connections; existing ones keep theirs. If a file cannot be used, that side stays as it is.
 */
#include "base/cleanup.h"
#include "lib/log/log.h"
#include "lib/tls/tls.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/upstream.h"

struct side {
	const char *name;
	/*
	 * Sets *ret, which stays NULL if this side is plaintext; -EINVAL with the file and the
	 * problem.
	 */
	int (*load)(const struct options *o, struct tls_context **ret, struct tls_refusal *why);
	/* Where the current context is kept. */
	struct tls_context **(*place)(struct dashboard *d);
	/* Passes a new context on to those that make connections. */
	void (*use)(struct dashboard *d, struct tls_context *tls);
};

static int load_http(const struct options *o, struct tls_context **ret, struct tls_refusal *why)
{
	const struct tls_config config = {
		.role = TLS_SERVER,
		.pairs = &(struct tls_pair){ o->tls.certificate, o->tls.key, NULL },
		.n_pairs = 1,
		.protocols = "http/1.1,http/1.0",
	};

	return o->tls.certificate ? tls_context_new(&config, ret, why) : 0;
}

static struct tls_context **place_http(struct dashboard *d)
{
	return &d->tls;
}

static void use_http(struct dashboard *d, struct tls_context *tls)
{
	if (d->server)
		http_server_set_tls(d->server, tls);
}

static int load_grpc(const struct options *o, struct tls_context **ret, struct tls_refusal *why)
{
	const struct tls_config config = {
		.role = TLS_CLIENT,
		.pairs = &(struct tls_pair){ o->grpc_files.certificate, o->grpc_files.key, NULL },
		.n_pairs = 1,
		.ca = o->grpc_files.ca,
		.protocols = "h2",
	};

	return o->grpc_tls ? tls_context_new(&config, ret, why) : 0;
}

static struct tls_context **place_grpc(struct dashboard *d)
{
	return &d->grpc_tls;
}

static void use_grpc(struct dashboard *d, struct tls_context *tls)
{
	for (size_t i = 0; i < d->servers.n; i++)
		upstream_set_tls(d->servers.items[i], tls);
	for (size_t i = 0; i < d->speakers.n; i++)
		upstream_set_tls(d->speakers.items[i], tls);
	for (size_t i = 0; i < d->routers.n; i++)
		upstream_set_tls(d->routers.items[i], tls);
}

static const struct side sides[] = {
	{ "http", load_http, place_http, use_http },
	{ "grpc", load_grpc, place_grpc, use_grpc },
};

/* The new context is passed on before the old one is freed, so that there is no gap. */
static int read_side(struct dashboard *d, const struct side *side, bool again)
{
	struct tls_context **place = side->place(d), *fresh = NULL;
	struct tls_refusal why = { 0 };
	int r = side->load(d->options, &fresh, &why);

	if (r < 0) {
		log_error("tls-failed", LOG_S("for", side->name), LOG_S("error", why.reason));
		return r;
	}
	if (!fresh)
		return 0;
	side->use(d, fresh);
	if (*place)
		tls_context_free(*place);
	*place = fresh;
	if (again)
		log_info("tls-reloaded", LOG_S("for", side->name));
	return 0;
}

int dashboard__check_certificates(const struct options *o, struct buf *why)
{
	struct tls_refusal refusal = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(sides); i++) {
		struct tls_context *tls = NULL;

		r = sides[i].load(o, &tls, &refusal);
		if (tls)
			tls_context_free(tls);
	}
	if (r < 0)
		buf_adds(why, refusal.reason);
	return r;
}

int dashboard__read_certificates(struct dashboard *d, bool again)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		int one = read_side(d, &sides[i], again);

		r = r < 0 ? r : one;
	}
	return r;
}

void dashboard__free_certificates(struct dashboard *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		struct tls_context **place = sides[i].place(d);

		if (*place)
			tls_context_free(*place);
	}
}
