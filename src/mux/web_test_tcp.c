/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web: /api/test-tcp?host=&port= connects to an address and says whether that worked.
 *
 * Such a request could be used to scan a network from inside the cluster. So it exists only if the
 * operator enables it, reaches only what muxes and channels already publish (show_find_target()),
 * at most WEB__TESTS_MAX at once, each for three seconds, and not from pages of other sites.
 *
 * A test belongs to its exchange: it ends with the answer, or when the client goes away.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/net/lookup.h"
#include "lib/page/reply.h"
#include "lib/probe/probe.h"
#include "src/mux/web_private.h"

#define TEST_TIMEOUT (3 * NSEC_PER_SEC)

struct test {
	struct web *web;
	struct http_exchange *x;
	char *namespace, *name; /* of the Service, for the event */
	char *host;
	uint16_t port;
	struct net_lookup *lookup; /* NULL: not running */
	struct probe *probe;	   /* NULL: not started */
};

static void reply(struct http_exchange *x, unsigned status, bool success, const char *text)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_adds(&out,
		 success ? "{\"success\":true,\"message\":" : "{\"success\":false,\"error\":");
	json_write_string(&out, text, strlen(text));
	buf_add_lit(&out, "}\n");
	http_reply(x, status, "application/json", (struct str){ out.p, out.n });
}

static void refuse(struct http_exchange *x, unsigned status, const char *text)
{
	reply(x, status, false, text);
}

/* ---- a test that is under way ---- */

static void free_test(struct test *t)
{
	t->web->n_tests--;
	net_lookup_cancel(t->lookup);
	probe_free(t->probe);
	free(t->namespace);
	free(t->name);
	free(t->host);
	free(t);
}

static void on_gone(void *user)
{
	free_test(user);
}

/* The result is also an event, so that other viewers of the page see it. */
static void end(struct test *t, bool success, const char *text)
{
	_cleanup_(buf_free) struct buf note = { 0 };
	struct http_exchange *x = t->x;

	buf_printf(&note, "%s:%u: %s", t->host, t->port, text);
	show_event(t->web->show,
		   &(struct mux_event){ .namespace = t->namespace,
					.name = t->name,
					.warning = !success,
					.reason = "ConnectionTest",
					.note = buf_cstr(&note) },
		   loop_realtime());
	free_test(t);
	reply(x, 200, success, text);
}

static void on_probed(struct probe *p, const struct probe_outcome *o, void *user)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct test *t = user;
	bool success = o->error == PROBE_OK;
	int code = o->sys_errno ? o->sys_errno : ETIMEDOUT;

	if (success)
		buf_printf(&text, "Connected to %s:%u", t->host, t->port);
	else
		buf_printf(&text, "Connection failed with error code %d", code);
	end(t, success, buf_cstr(&text));
}

static void start_probe(struct test *t, const struct endpoint *target)
{
	const struct probe_spec spec = { .kind = PROBE_TCP,
					 .target = *target,
					 .timeout = TEST_TIMEOUT };

	t->probe = probe_new(t->web->probes, &spec, on_probed, t);
	probe_start(t->probe);
}

static void on_resolved(const struct endpoint *found, size_t n, const char *why, void *user)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct test *t = user;

	t->lookup = NULL;
	if (n) {
		start_probe(t, found);
		return;
	}
	buf_printf(&text, "DNS resolution failed: %s", why);
	end(t, false, buf_cstr(&text));
}

static void start(struct web *w, struct http_exchange *x, const char *host, uint16_t port,
		  const struct show_target *target)
{
	struct test *t = mem_zalloc(sizeof(*t));
	struct endpoint at = { .port = port };
	int r = 0;

	w->n_tests++;
	*t = (struct test){ .web = w,
			    .x = x,
			    .namespace = mem_strdup(target->namespace),
			    .name = mem_strdup(target->name),
			    .host = mem_strdup(host),
			    .port = port };
	http_reply_later(x, on_gone, t);
	if (addr_parse(host, &at.addr) == 0)
		start_probe(t, &at);
	else
		r = net_lookup_start(w->loop,
				     &(struct net_lookup_query){ t->host, port, TEST_TIMEOUT,
								 on_resolved, t },
				     &t->lookup);
	if (r < 0)
		end(t, false, strerror(-r));
}

/* ---- the request ---- */

/* A page of another site can make a browser send a GET; it cannot forge this header. */
static bool is_foreign(const struct http_request *request)
{
	struct str site = http_header(request->head, STR("Sec-Fetch-Site"));

	return site.n && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none"));
}

static const char *parse_port(struct str text, uint16_t *ret)
{
	uint64_t port;
	int r = str_to_u64(text, UINT64_MAX, &port);

	if (r == -EINVAL)
		return "Invalid port";
	if (r < 0 || port < 1 || port > UINT16_MAX)
		return "Port out of range";
	*ret = (uint16_t)port;
	return NULL;
}

void web__on_test_tcp(struct web *w, struct http_exchange *x, const struct http_request *request)
{
	_cleanup_(buf_free) struct buf host = { 0 };
	struct str port_text = page_query(request->query, STR("port"));
	struct show_target target;
	const char *wrong;
	uint16_t port = 0;

	if (!w->options->actions) {
		refuse(x, 403, "Debug actions are disabled");
	} else if (is_foreign(request)) {
		refuse(x, 403, "The request comes from another site");
	} else if (page_decode(page_query(request->query, STR("host")), &host) < 0 || !host.n ||
		   !port_text.n) {
		refuse(x, 400, "Missing host or port");
	} else if ((wrong = parse_port(port_text, &port))) {
		refuse(x, 400, wrong);
	} else if (show_find_target(w->show, buf_cstr(&host), port, &target) < 0) {
		refuse(x, 403, "Neither an address of a mux nor an endpoint of a channel");
	} else if (w->n_tests >= WEB__TESTS_MAX) {
		refuse(x, 429, "Too many tests at once");
	} else {
		start(w, x, buf_cstr(&host), port, &target);
	}
}
