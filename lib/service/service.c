/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service: the listener, certificates, the rule for which clients may change anything, and counters
 * of calls. Long answers are in answer.c.
 */
#include "lib/service/service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/log/log.h"
#include "lib/service/internal.h"

#define FLAG "--grpc-addr"

/* Called at the end of each call. Health and reflection are not in the table and not counted. */
static void on_trace(const struct grpc_trace *trace, void *user)
{
	struct service *s = user;
	char peer[ENDPOINT_STRLEN];

	for (size_t i = 0; i < s->config.n_methods; i++)
		if (strcmp(s->config.methods[i].path, trace->path) == 0)
			s->calls[i][trace->status]++;
	log_debug("grpc-call", LOG_S("peer", endpoint_format(&trace->peer, peer)),
		  LOG_S("method", trace->path), LOG_S("status", grpc_status_name(trace->status)),
		  LOG_T("duration", trace->duration));
}

/* *ret is NULL if the API is plaintext. */
static int load_tls(const struct service *s, struct tls_context **ret, struct tls_refusal *why)
{
	const struct service_options *o = s->config.options;
	const struct tls_config config = {
		.role = TLS_SERVER,
		.pairs = &(struct tls_pair){ o->certificate, o->key, NULL },
		.n_pairs = 1,
		.ca = o->client_ca,
		.clients = o->client_ca ? TLS_CLIENTS_REQUIRED : TLS_CLIENTS_OFF,
		.protocols = "h2",
	};

	*ret = NULL;
	return o->certificate ? tls_context_new(&config, ret, why) : 0;
}

static int open_server(struct service *s, const struct endpoint *listen)
{
	const struct service_config *c = &s->config;
	const struct grpc_server_config config = {
		.listen = *listen,
		.inherited = c->inherited,
		.routes = s->routes,
		.n_routes = c->n_methods,
		.user = c->user,
		.tls = s->tls,
		.max_per_source = c->options->max_per_client,
		.max_message = c->max_message,
		.max_queued = c->max_queued,
		.descriptor_set = c->options->reflection ? c->descriptor_set : NULL,
		.descriptor_set_size = c->options->reflection ? c->descriptor_set_size : 0,
		.metadata = { WHO_METADATA, WHO_METADATA_ADDRESS },
		.trace = on_trace,
		.trace_user = s,
	};

	for (size_t i = 0; i < c->n_methods; i++)
		s->routes[i] = (struct grpc_route){ c->methods[i], c->handlers[i] };
	return grpc_server_new(s->loop, &config, &s->server);
}

static int open_all(struct service *s, char *reason, size_t reason_size)
{
	struct tls_refusal why;
	struct endpoint listen;
	int r = endpoint_parse(s->config.options->addr, &listen);

	if (r < 0) {
		snprintf(reason, reason_size, "not an address");
		return r;
	}
	r = load_tls(s, &s->tls, &why);
	if (r < 0) {
		snprintf(reason, reason_size, "%s", why.reason);
		return r;
	}
	r = open_server(s, &listen);
	if (r < 0)
		snprintf(reason, reason_size, "%s", strerror(-r));
	return r;
}

bool service_is_open(const struct service *s)
{
	struct endpoint at = grpc_server_endpoint(s->server);

	return !s->config.options->client_ca && !addr_is_loopback(&at.addr);
}

/*
 * Client certificates are off by default, but a client that reaches the API can drain everything.
 */
static void warn_if_open(const struct service *s)
{
	if (!service_is_open(s))
		return;
	log_warn("grpc-open", LOG_S("addr", s->config.options->addr),
		 LOG_S("reason", "every client that reaches it may change everything: see "
				 "--grpc-client-ca, or listen on loopback"));
}

int service_new(struct ev_loop *loop, const struct service_config *config, struct service **ret)
{
	struct service *s = mem_zalloc(sizeof(*s));
	char reason[256], text[ENDPOINT_STRLEN];
	struct endpoint at;
	int r;

	s->loop = loop;
	s->config = *config;
	s->routes = mem_zalloc(config->n_methods * sizeof(*s->routes));
	s->calls = mem_zalloc(config->n_methods * sizeof(*s->calls));
	s->scratch = arena_new();
	service__answers_init(s);
	r = open_all(s, reason, sizeof(reason));
	if (r < 0) {
		log_error("listen-failed", LOG_S("flag", FLAG),
			  LOG_S("addr", config->options->addr), LOG_S("error", reason));
		service_free(s);
		return r;
	}
	at = grpc_server_endpoint(s->server);
	log_info("listening", LOG_S("for", "grpc"), LOG_S("addr", endpoint_format(&at, text)));
	warn_if_open(s);
	*ret = s;
	return 0;
}

void service_free(struct service *s)
{
	if (!s)
		return;
	grpc_server_free(s->server);
	service__answers_stop(s);
	tls_context_free(s->tls);
	arena_free(s->scratch);
	free(s->calls);
	free(s->routes);
	free(s);
}

/* Open connections keep the certificates that they began with. */
void service_renew(struct service *s)
{
	struct tls_context *fresh;
	struct tls_refusal why;

	if (load_tls(s, &fresh, &why) < 0) {
		log_error("grpc-tls-failed", LOG_S("error", why.reason));
		return;
	}
	if (!fresh)
		return;
	grpc_server_set_tls(s->server, fresh);
	tls_context_free(s->tls);
	s->tls = fresh;
}

int service_socket(const struct service *s)
{
	return grpc_server_socket(s->server);
}

void service_hand_over(struct service *s)
{
	grpc_server_hand_over(s->server);
}

void service_drain(struct service *s, void (*done)(void *user), void *user)
{
	grpc_server_drain(s->server, done, user);
}

static bool is_in(const struct cli_list *list, const char *name)
{
	for (size_t i = 0; name && i < list->n; i++)
		if (strcmp(list->items[i], name) == 0)
			return true;
	return false;
}

struct who service_who(const struct service *s, const struct grpc_call *call)
{
	const char *certificate = grpc_peer_name(call);

	return who_judge(&(struct who_evidence){
		.certificate = certificate,
		.delegate = is_in(&s->config.options->delegates, certificate),
		.says = grpc_metadata(call, 0),
		.says_address = grpc_metadata(call, 1),
		.peer = grpc_peer(call).addr,
	});
}

/* Without mutual TLS there are no names; operators without a client CA are refused at the start. */
bool service_may_change(const struct service *s, struct grpc_call *call)
{
	const struct cli_list *operators = &s->config.options->operators;
	const char *name = grpc_peer_name(call);
	char address[ADDR_STRLEN];
	struct who who;

	if (!operators->n || is_in(operators, name))
		return true;
	who = service_who(s, call);
	log_warn("operator-refused", LOG_WHO(&who, address));
	grpc_fail(call, GRPC_PERMISSION_DENIED,
		  "\"%s\" may read but not change anything: it is not among --grpc-operators",
		  name ? name : "");
	return false;
}

struct arena *service_scratch(struct service *s)
{
	arena_reset(s->scratch);
	return s->scratch;
}

uint64_t service_calls(const struct service *s, size_t method, enum grpc_status status)
{
	return s->calls[method][status];
}

const struct grpc_server_stats *service_stats(const struct service *s)
{
	return grpc_server_stats(s->server);
}
