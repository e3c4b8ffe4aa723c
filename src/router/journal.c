/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: the access log. The thread that served a request writes its line, through the ring that
 * lib/log has for each thread: it takes no lock and never waits. A line that finds the ring full is
 * dropped and counted.
 *
 * Whether a request has a line is decided when it has ended; until then it costs nothing. The head
 * is read again from the client's buffer, where it still is in most cases.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "lib/log/log.h"
#include "src/router/relay.h"

#define FIELDS 21 /* of a line, without headers */
#define HEADER "header_"
#define HEADER_MAX 64 /* bytes of the name of a header in a line */

struct line {
	struct log_field fields[FIELDS + L7_LOGGED_MAX + 1];
	size_t n;
	char client[ADDR_STRLEN], trace[L7_TRACE_ID_SIZE];
	char headers[L7_LOGGED_MAX][HEADER_MAX + sizeof(HEADER)];
};

static void add(struct line *l, struct log_field field)
{
	l->fields[l->n++] = field;
}

static void add_str(struct line *l, const char *key, struct str s)
{
	if (s.n)
		add(l, (struct log_field)LOG_SN(key, s.p, s.n));
}

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

/* ---- which requests ---- */

static bool in_sample(const struct l7_access_log *log, struct worker *w)
{
	if (log->numerator == log->denominator)
		return true;
	return random_next(&w->random) % log->denominator < log->numerator;
}

static bool is_wanted(const struct exchange *x, const struct l7_access_log *log)
{
	if (log->failed && exchange__has_failed(x))
		return true;
	if (log->slow && !x->tunnel && x->ended - x->began >= log->slow)
		return true;
	return in_sample(log, exchange__worker(x));
}

/* ---- what they say ---- */

/* Parses the head again. NULL if it is gone. */
static const struct http_head *read_head(const struct exchange *x)
{
	const struct buffer *in = x->client->in;
	const char *p = x->kept_head ?: (in ? in->p + x->start : NULL);
	struct http_head *h = &exchange__worker(x)->head;

	return p && http_parse_request(p, x->head, NULL, h) == (int)x->head ? h : NULL;
}

static void add_trace(struct line *l, const struct exchange *x, const struct http_head *h)
{
	struct l7_trace t = x->trace;

	if (x->traced || l7_trace_parse(http_header(h, STR("traceparent")), &t))
		add(l, (struct log_field)LOG_S("trace", l7_trace_id(&t, l->trace)));
}

/* "header_" and the name in lower case, whatever its case in the configuration is. */
static const char *header_key(struct str name, char *to)
{
	size_t n = name.n < HEADER_MAX ? name.n : HEADER_MAX;
	char *p = to + sizeof(HEADER) - 1;

	memcpy(to, HEADER, sizeof(HEADER) - 1);
	for (size_t i = 0; i < n; i++)
		*p++ = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] | 32 : name.p[i]);
	*p = '\0';
	return to;
}

static void add_headers(struct line *l, const struct l7_access_log *log, const struct http_head *h)
{
	for (size_t i = 0; i < log->n_headers; i++)
		add_str(l, header_key(log->headers[i], l->headers[i]),
			http_header(h, log->headers[i]));
}

/* The path is logged as it was sent, with its query. */
static void add_head(struct line *l, const struct exchange *x, const struct http_head *h)
{
	struct str host, target;

	add_str(l, "method", h->method);
	add(l, (struct log_field)LOG_S("protocol", x->client->is_stream ? "HTTP/2.0"
						   : h->minor		? "HTTP/1.1"
									: "HTTP/1.0"));
	if (head_read_target(h, &host, &target) == 0) {
		add_str(l, "host", host);
		add_str(l, "path", target);
	} else {
		add_str(l, "path", h->target);
	}
	add_trace(l, x, h);
	add_headers(l, &x->era->generation->config.log, h);
}

static void add_places(struct line *l, const struct exchange *x)
{
	if (x->target)
		add(l, (struct log_field)LOG_S("route", account_route(x)->text));
	if (x->backend)
		add(l, (struct log_field)LOG_S(
			       "pool", x->era->generation->pools[x->backend->pool].config->name));
	if (x->server)
		add(l, (struct log_field)LOG_S("server", x->server->authority));
}

static void add_figures(struct line *l, const struct exchange *x)
{
	if (x->status)
		add(l, (struct log_field)LOG_U("status", x->status));
	if (x->code != L7_GRPC_NONE)
		add(l, (struct log_field)LOG_U("grpc_status", (unsigned)x->code));
	add(l, (struct log_field)LOG_S("why", x->why));
	add(l, (struct log_field)LOG_B("complete", x->done));
	add(l, (struct log_field)LOG_U("bytes_in", x->in));
	add(l, (struct log_field)LOG_U("bytes_out", x->out));
	add(l, (struct log_field)LOG_D("duration_ms", ms(x->ended - x->began)));
	if (x->first)
		add(l, (struct log_field)LOG_D("first_byte_ms", ms(x->first - x->began)));
	add(l, (struct log_field)LOG_U("tries", x->tries));
}

static void add_client(struct line *l, const struct client *c)
{
	add(l, (struct log_field)LOG_S("client", addr_format(&c->from, l->client)));
}

static void write_line(struct line *l)
{
	add(l, (struct log_field){ .kind = LOG_KIND_END });
	log_write(LOG_INFO, "access", l->fields);
}

/* ---- the door ---- */

void journal_write(struct exchange *x)
{
	const struct l7_access_log *log = &x->era->generation->config.log;
	const struct http_head *h;
	struct line l;

	if (!log->enabled || !log_wants(LOG_INFO) || !is_wanted(x, log))
		return;
	l.n = 0;
	h = read_head(x);
	add_client(&l, x->client);
	if (h)
		add_head(&l, x, h);
	add_places(&l, x);
	add_figures(&l, x);
	write_line(&l);
}

static bool is_relay_wanted(const struct relay *r, const struct l7_access_log *log)
{
	if (log->failed && !r->connected)
		return true;
	return in_sample(log, r->client->worker);
}

static void add_text(struct line *l, const char *key, const char *text)
{
	if (text)
		add(l, (struct log_field)LOG_S(key, text));
}

/* A connection may have outlived the configuration that it began with. */
void journal_relay(const struct relay *r)
{
	const struct worker *w = r->client->worker;
	const struct l7_access_log *log = w->era ? &w->era->generation->config.log : NULL;
	struct line l;

	if (!log || !log->enabled || !log_wants(LOG_INFO) || !is_relay_wanted(r, log))
		return;
	l.n = 0;
	add_client(&l, r->client);
	add_text(&l, "listener", r->names.listener);
	add_text(&l, "stream", r->names.stream);
	add_text(&l, "sni", r->sni);
	add_text(&l, "pool", r->names.pool);
	add_text(&l, "server", r->server ? r->server->authority : r->names.server);
	add(&l, (struct log_field)LOG_S("why", r->why));
	add(&l, (struct log_field)LOG_B("complete", r->done));
	add(&l, (struct log_field)LOG_U("bytes_in", r->in));
	add(&l, (struct log_field)LOG_U("bytes_out", r->out));
	add(&l, (struct log_field)LOG_D("duration_ms", ms(r->ended - r->began)));
	if (r->connected)
		add(&l, (struct log_field)LOG_D("connect_ms", ms(r->first - r->began)));
	add(&l, (struct log_field)LOG_U("tries", r->tries));
	write_line(&l);
}

void journal_refused(struct client *c, unsigned status, const char *why)
{
	const struct l7_access_log *log = &c->worker->era->generation->config.log;
	struct line l;

	if (!log->enabled || !log_wants(LOG_INFO))
		return;
	if (!(log->failed && status >= 500) && !in_sample(log, c->worker))
		return;
	l.n = 0;
	add_client(&l, c);
	if (status)
		add(&l, (struct log_field)LOG_U("status", status));
	add(&l, (struct log_field)LOG_S("why", why));
	write_line(&l);
}
