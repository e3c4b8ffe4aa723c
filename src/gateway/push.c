/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push: one small machine for each router.
 *
 * advance() looks at what the router has and starts the one request that is due: a question, the
 * whole document, or the servers of one pool. Every answer ends in advance() again, or in a delay.
 *
 * Two replicas drive the same routers. Both compute the same document, so the digest that a router
 * shows as its tag is soon the one of both. When a router has a tag that is not ours, either we are
 * behind, and our informers bring the same change in a moment, or the other one is: so a foreign
 * configuration stands for FOREIGN_TIME before it is replaced, except one that we had before.
 */
#include "src/gateway/push.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/http/client.h"
#include "lib/json/cursor.h"
#include "lib/log/log.h"
#include "lib/loop/backoff.h"
#include "lib/tls/tls.h"

#define TIMEOUT (10 * NSEC_PER_SEC)
#define CONNECT_TIMEOUT NSEC_PER_SEC
#define FOREIGN_TIME (300 * NSEC_PER_MSEC)
#define SMALL_MAX 32	/* pools that are sent one by one; above, the whole document */
#define REFUSALS_MAX 64 /* entries that one answer leaves out */
#define HISTORY 64	/* digests that we had */
#define TOKEN_MAX 4096	/* bytes */

static const struct backoff_policy retry_policy = { .first = 100 * NSEC_PER_MSEC,
						    .last = 5 * NSEC_PER_SEC };

struct answer {
	uint64_t generation;
	char instance[24], tag[DOCUMENT_DIGEST];
};

struct router {
	struct push *push;
	char *name, *host;
	uint16_t port;
	bool known;	 /* what it has was asked; false: it must be */
	bool connected;	 /* the last question was answered */
	uint64_t have;	 /* version of the document that it has; 0: something else */
	uint64_t sent;	 /* the version that it has if the request under way succeeds */
	bool whole;	 /* that request has the whole document */
	int64_t began;	 /* when that was sent, monotonic */
	int64_t foreign; /* since when it has something that is not ours; 0: it has not */
	struct answer state;
	struct http_call *call;
	struct backoff retry;
	ev_timer poll;
	char *error;
	uint64_t pushes, small, failures;
};

struct push {
	struct push_config config;
	struct http_client *client;
	struct tls_context *tls;
	char *authorization; /* NULL: none */
	bool open;
	VEC(struct router *) routers;		/* by name */
	char history[HISTORY][DOCUMENT_DIGEST]; /* a ring */
	size_t latest;
	struct push_stats stats;
};

static void advance(struct router *r);

/* ---- credentials ---- */

static int read_token(struct push *p)
{
	_cleanup_(cleanup_fd) int fd = open(p->config.token_file, O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_free) struct buf value = { 0 };
	char token[TOKEN_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, token, sizeof(token));
	struct str text;

	if (n < 0) {
		log_error("token-unreadable", LOG_S("file", p->config.token_file),
			  LOG_S("error", strerror(errno)));
		return -EINVAL;
	}
	text = (struct str){ token, (size_t)n };
	while (text.n && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
		text.n--;
	text = str_trim(text);
	buf_add_lit(&value, "Bearer ");
	buf_add(&value, text.p, text.n);
	free(p->authorization);
	p->authorization = mem_strdup(buf_cstr(&value));
	return 0;
}

static int read_certificates(struct push *p)
{
	const struct push_config *c = &p->config;
	const struct tls_pair pair = { .certificate = c->certificate, .key = c->key };
	const struct tls_config config = {
		.role = TLS_CLIENT, .ca = c->ca, .pairs = &pair, .n_pairs = *c->certificate ? 1 : 0
	};
	struct tls_context *made;
	struct tls_refusal why;

	if (tls_context_new(&config, &made, &why) < 0) {
		log_error("certificates-unusable", LOG_S("error", why.reason));
		return -EINVAL;
	}
	http_client_close_idle(p->client);
	tls_context_free(p->tls);
	p->tls = made;
	return 0;
}

/* Files may have been replaced. What cannot be read is logged, and what was read before stays. */
static int read_credentials(struct push *p)
{
	int r = *p->config.token_file ? read_token(p) : 0;

	if (r == 0 && *p->config.ca)
		r = read_certificates(p);
	return r;
}

/* ---- what is ours ---- */

static void remember(struct push *p)
{
	char digest[DOCUMENT_DIGEST];

	document_digest(p->config.document, digest);
	if (strcmp(p->history[p->latest], digest) == 0)
		return;
	p->latest = (p->latest + 1) % HISTORY;
	memcpy(p->history[p->latest], digest, sizeof(digest));
}

static bool was_ours(const struct push *p, const char *tag)
{
	for (size_t i = 0; i < HISTORY; i++)
		if (strcmp(p->history[i], tag) == 0)
			return *tag;
	return false;
}

static bool is_ours(const struct push *p, const char *tag)
{
	return *tag && strcmp(p->history[p->latest], tag) == 0;
}

/* ---- trouble ---- */

/* The only place where the state of a connection changes. */
static void set_connected(struct router *r, bool connected, const char *why)
{
	bool news = connected != r->connected || (!connected && !r->error);

	free(r->error);
	r->error = connected ? NULL : mem_strdup(why);
	r->connected = connected;
	if (!news)
		return;
	if (connected)
		log_info("router-connected", LOG_S("router", r->name),
			 LOG_U("generation", r->state.generation));
	else
		log_warn("router-lost", LOG_S("router", r->name), LOG_S("error", why));
}

static void poll_later(struct router *r)
{
	ev_timer_stop(r->push->config.loop, &r->poll);
	ev_timer_set(&r->poll, loop_seconds(PUSH_POLL), 0.);
	ev_timer_start(r->push->config.loop, &r->poll);
}

/* No answer: what it has is not known any more. */
static void lose(struct router *r, const char *why)
{
	r->known = false;
	r->failures++;
	set_connected(r, false, why);
	poll_later(r);
}

/* An answer that is a failure: what it has must be asked before the next try. */
static void fail(struct router *r, const char *why)
{
	int64_t delay;

	r->known = false;
	r->failures++;
	free(r->error);
	r->error = mem_strdup(why);
	delay = backoff_start(&r->retry);
	log_warn("push-failed", LOG_S("router", r->name), LOG_S("error", why),
		 LOG_I("retry_ms", delay / NSEC_PER_MSEC));
}

/* ---- answers ---- */

static void copy_member(const struct json_node *root, const char *key, char *to, size_t size)
{
	const struct json_node *node = json_find(root, key);
	struct str text = node && node->kind == JSON_KIND_STRING ? json_text(node) : STR("");

	snprintf(to, size, "%.*s", (int)(text.n < size ? text.n : size - 1), text.p);
}

/* {"generation":5,"tag":"...","instance":"..."}; also the answers to changes, which have less. */
static int parse_answer(struct str body, struct arena *arena, struct answer *ret)
{
	struct errs errors = { .arena = arena };
	const struct json_node *root;
	struct json_cursor top, member;

	if (json_parse(body, NULL, arena, &root, &errors) < 0)
		return -EBADMSG;
	top = json_cursor_of(root, &errors);
	member = json_member(&top, "generation");
	if (json_require(&member) < 0 || json_get_u64(&member, 0, UINT64_MAX, &ret->generation) < 0)
		return -EBADMSG;
	copy_member(root, "instance", ret->instance, sizeof(ret->instance));
	copy_member(root, "tag", ret->tag, sizeof(ret->tag));
	return 0;
}

/* What it has, and since when that is not ours. */
static void compare(struct router *r, const struct answer *now)
{
	bool restarted = strcmp(now->instance, r->state.instance) != 0 ||
			 now->generation < r->state.generation;
	bool same = r->known && !restarted && now->generation == r->state.generation;
	int64_t clock = loop_monotonic();

	r->state = *now;
	if (same)
		return;
	if (is_ours(r->push, now->tag)) {
		r->have = document_version(r->push->config.document);
		r->foreign = 0;
		return;
	}
	r->have = 0;
	if (restarted || !*now->tag || was_ours(r->push, now->tag))
		r->foreign = 0;
	else if (!r->foreign)
		r->foreign = clock;
}

static void on_generation(const struct http_result *result, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct router *r = user;
	struct answer now = { 0 };
	char why[64];

	r->call = NULL;
	if (result->error < 0) {
		lose(r, result->reason);
		return;
	}
	if (result->head->status != 200 || parse_answer(result->body, arena, &now) < 0) {
		snprintf(why, sizeof(why), "GET /generation is answered with %u",
			 (unsigned)result->head->status);
		if (result->head->status == 401)
			read_credentials(r->push);
		lose(r, why);
		return;
	}
	compare(r, &now);
	r->known = true;
	set_connected(r, true, "");
	advance(r);
}

/* ---- refusals ---- */

static void refuse_entry(struct push *p, size_t line, const char *why)
{
	enum document_part part;
	const char *name;

	if (!document_refuse(p->config.document, line, why, &part, &name))
		return;
	p->stats.refused++;
	log_error("entry-refused", LOG_S("part", document_part_name(part)), LOG_S("name", name),
		  LOG_S("error", why));
	if (p->config.refused)
		p->config.refused(part, name, why, p->config.user);
}

static int by_line_down(const void *a, const void *b)
{
	const struct json_node *x = *(const struct json_node *const *)a;
	const struct json_node *y = *(const struct json_node *const *)b;
	struct str lx = json_text(json_find(x, "line")), ly = json_text(json_find(y, "line"));

	return (int)(strtoul(ly.p, NULL, 10) > strtoul(lx.p, NULL, 10)) -
	       (int)(strtoul(ly.p, NULL, 10) < strtoul(lx.p, NULL, 10));
}

/* From the last line on, because leaving out an entry moves those after it. */
static bool refuse_lines(struct push *p, const struct json_node *errors)
{
	const struct json_node *rows[REFUSALS_MAX];
	size_t n = 0, last = 0;

	for (uint32_t i = 0; i < errors->n && n < REFUSALS_MAX; i++)
		if (json_find(&errors->items[i], "line") && json_find(&errors->items[i], "message"))
			rows[n++] = &errors->items[i];
	qsort(rows, n, sizeof(rows[0]), by_line_down);
	for (size_t i = 0; i < n; i++) {
		size_t line = strtoul(json_text(json_find(rows[i], "line")).p, NULL, 10);

		if (line != last)
			refuse_entry(p, line, json_text(json_find(rows[i], "message")).p);
		last = line;
	}
	return n;
}

/* "cannot listen on ADDRESS:PORT: why" */
static void report_address(struct push *p, const char *message)
{
	static const struct str start = { "cannot listen on ", 17 };
	const char *end = strstr(message, ": ");
	char address[ENDPOINT_STRLEN];

	if (!p->config.unusable || !end || !str_starts(str_of(message), start))
		return;
	snprintf(address, sizeof(address), "%.*s", (int)(end - message - (long)start.n),
		 message + start.n);
	p->config.unusable(address, end + 2, p->config.user);
}

/* An answer of 4xx or 5xx. */
static void take_refusal(struct router *r, const struct http_result *result)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *root = NULL, *list;
	char error[40] = "", message[256] = "";
	_cleanup_(buf_free) struct buf why = { 0 };
	struct push *p = r->push;

	if (json_parse(result->body, NULL, arena, &root, &errors) == 0) {
		copy_member(root, "error", error, sizeof(error));
		copy_member(root, "message", message, sizeof(message));
	}
	buf_printf(&why, "%u %s: %s", (unsigned)result->head->status, error, message);
	list = root ? json_find(root, "errors") : NULL;
	if (strcmp(error, "OtherGeneration") == 0) {
		r->known = false; /* another replica was first */
		advance(r);
	} else if (r->whole && list && list->kind == JSON_KIND_ARRAY && refuse_lines(p, list)) {
		r->known = false;
		push_changed(p);
		advance(r);
	} else {
		if (strcmp(error, "ListenFailed") == 0)
			report_address(p, message);
		if (strcmp(error, "InvalidToken") == 0)
			read_credentials(p);
		fail(r, buf_cstr(&why));
	}
}

/* ---- changes ---- */

static void count_push(struct router *r)
{
	struct push_stats *s = &r->push->stats;
	int64_t took = loop_monotonic() - r->began;

	if (r->whole) {
		r->pushes++;
		s->whole++;
		s->whole_time += took;
	} else {
		r->small++;
		s->servers++;
		s->servers_time += took;
	}
	log_debug("pushed", LOG_S("router", r->name), LOG_U("generation", r->state.generation),
		  LOG_S("what", r->whole ? "document" : "servers"),
		  LOG_I("us", took / NSEC_PER_USEC));
}

static void on_change(const struct http_result *result, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct router *r = user;
	struct answer now = r->state;

	r->call = NULL;
	if (result->error < 0) {
		lose(r, result->reason);
		return;
	}
	if (result->head->status != 200) {
		take_refusal(r, result);
		return;
	}
	if (parse_answer(result->body, arena, &now) < 0) {
		fail(r, "the answer cannot be understood");
		return;
	}
	r->state.generation = now.generation;
	r->have = r->sent;
	r->foreign = 0;
	backoff_reset(&r->retry);
	set_connected(r, true, "");
	count_push(r);
	if (r->whole && r->push->config.applied)
		r->push->config.applied(r->have, r->push->config.user);
	advance(r);
}

/* ---- requests ---- */

static void start(struct router *r, const char *method, const char *path, struct str body,
		  void (*done)(const struct http_result *result, void *user))
{
	struct push *p = r->push;
	const struct field headers[] = {
		{ STR("content-type"), STR("application/json") },
		{ STR("authorization"), p->authorization ? str_of(p->authorization) : STR("") },
	};
	const struct http_call_config config = {
		.target = { .host = r->host,
			    .port = r->port,
			    .tls = p->tls,
			    .server_name = *p->config.server_name ? p->config.server_name : NULL },
		.method = method,
		.path = path,
		.headers = headers,
		.n_headers = p->authorization ? 2 : 1,
		.body = body,
		.connect_timeout = CONNECT_TIMEOUT,
		.timeout = TIMEOUT,
		.done = done,
		.user = r,
	};

	r->began = loop_monotonic();
	if (http_call(p->client, &config, &r->call) < 0)
		lose(r, "the request cannot be made");
}

static void ask(struct router *r)
{
	r->push->stats.polls++;
	start(r, "GET", "/generation", STR(""), on_generation);
}

static void add_parameters(struct router *r, const char *tag, struct buf *path)
{
	buf_printf(path, "?generation=%" PRIu64 "&tag=%s", r->state.generation, tag);
}

static void send_whole(struct router *r)
{
	_cleanup_(buf_free) struct buf body = { 0 }, path = { 0 };
	struct push *p = r->push;

	buf_adds(&path, "/routes/update");
	add_parameters(r, p->history[p->latest], &path);
	buf_adds(&path, "&errors=all");
	document_write(p->config.document, &body);
	r->whole = true;
	r->sent = document_version(p->config.document);
	start(r, "POST", buf_cstr(&path), (struct str){ body.p, body.n }, on_change);
}

static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_printf(out, "%%%02x", (unsigned char)*text);
}

/* Only the last of several has the tag: before it the router has what nobody has planned. */
static void send_servers(struct router *r, const char *pool, uint64_t version)
{
	_cleanup_(buf_free) struct buf body = { 0 }, path = { 0 };
	struct push *p = r->push;
	bool last = version == document_version(p->config.document);

	buf_adds(&path, "/pools/");
	add_escaped(&path, pool);
	buf_adds(&path, "/endpoints");
	add_parameters(r, last ? p->history[p->latest] : "", &path);
	document_write_servers(p->config.document, pool, &body);
	r->whole = false;
	r->sent = version;
	start(r, "POST", buf_cstr(&path), (struct str){ body.p, body.n }, on_change);
}

/* Whether a foreign configuration may still become ours without a push. */
static bool waits(struct router *r)
{
	if (!r->foreign)
		return false;
	if (loop_monotonic() - r->foreign >= FOREIGN_TIME) {
		log_warn("router-taken-back", LOG_S("router", r->name), LOG_S("tag", r->state.tag));
		r->foreign = 0;
		return false;
	}
	if (is_ours(r->push, r->state.tag)) {
		r->have = document_version(r->push->config.document);
		r->foreign = 0;
		return false;
	}
	return true;
}

static void advance(struct router *r)
{
	struct push *p = r->push;
	const char *pool;
	uint64_t version;

	if (!p->open || r->call || backoff_waits(&r->retry))
		return;
	ev_timer_stop(p->config.loop, &r->poll);
	if (!r->known) {
		ask(r);
		return;
	}
	if (waits(r)) {
		poll_later(r);
		return;
	}
	switch (document_since(p->config.document, r->have, &pool, &version)) {
	case DOCUMENT_NOTHING:
		poll_later(r);
		break;
	case DOCUMENT_SERVERS:
		if (document_stale_pools(p->config.document, r->have) <= SMALL_MAX)
			send_servers(r, pool, version);
		else
			send_whole(r);
		break;
	case DOCUMENT_WHOLE:
		send_whole(r);
		break;
	}
}

static void on_poll(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct router *r = container_of(timer, struct router, poll);

	if (!r->call && r->push->open)
		ask(r);
}

static void on_retry(void *user)
{
	advance(user);
}

/* ---- routers ---- */

/* "host:port" with brackets around an IPv6 address. */
static int split(const char *name, char **ret_host, uint16_t *ret_port)
{
	const char *colon = strrchr(name, ':');
	struct str host = { name, colon ? (size_t)(colon - name) : 0 };
	uint64_t port;

	if (!colon || str_to_u64(str_of(colon + 1), UINT16_MAX, &port) < 0 || !port)
		return -EINVAL;
	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = (struct str){ host.p + 1, host.n - 2 };
	else if (memchr(host.p, ':', host.n))
		return -EINVAL;
	if (!host.n)
		return -EINVAL;
	*ret_host = mem_zalloc(host.n + 1);
	memcpy(*ret_host, host.p, host.n);
	*ret_port = (uint16_t)port;
	return 0;
}

static struct router *make(struct push *p, const char *name)
{
	struct router *r = mem_zalloc(sizeof(*r));

	if (split(name, &r->host, &r->port) < 0) {
		log_error("router-invalid", LOG_S("router", name));
		free(r);
		return NULL;
	}
	r->push = p;
	r->name = mem_strdup(name);
	backoff_init(&r->retry, p->config.loop, &retry_policy, on_retry, r);
	ev_timer_init(&r->poll, on_poll, 0., 0.);
	return r;
}

static void drop(struct router *r)
{
	http_call_cancel(r->call);
	backoff_stop(&r->retry);
	ev_timer_stop(r->push->config.loop, &r->poll);
	free(r->name);
	free(r->host);
	free(r->error);
	free(r);
}

static size_t place_of(const struct push *p, const char *name)
{
	return sorted_place(p->routers.n, i, strcmp(p->routers.items[i]->name, name) < 0);
}

static bool is_named(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void add_router(struct push *p, const char *name)
{
	size_t at = place_of(p, name);
	struct router *r;

	if (at < p->routers.n && strcmp(p->routers.items[at]->name, name) == 0)
		return;
	if (p->routers.n >= PUSH_ROUTERS_MAX) {
		log_error("too-many-routers", LOG_S("router", name));
		return;
	}
	r = make(p, name);
	if (!r)
		return;
	vec_insert_at(&p->routers, at);
	p->routers.items[at] = r;
	log_info("router-found", LOG_S("router", name));
	advance(r);
}

void push_set_routers(struct push *p, const char *const *names, size_t n)
{
	for (size_t i = p->routers.n; i--;)
		if (!is_named(names, n, p->routers.items[i]->name)) {
			log_info("router-gone", LOG_S("router", p->routers.items[i]->name));
			drop(p->routers.items[i]);
			vec_remove_at(&p->routers, i);
		}
	for (size_t i = 0; i < n; i++)
		add_router(p, names[i]);
}

/* ---- the door ---- */

/* What was refused is not what would be sent now, so the delay begins again. */
static void hasten(struct router *r)
{
	if (!backoff_waits(&r->retry) || backoff_remaining(&r->retry) <= retry_policy.first)
		return;
	backoff_reset(&r->retry);
	backoff_start(&r->retry);
}

void push_changed(struct push *p)
{
	if (!p->open)
		return;
	remember(p);
	for (size_t i = 0; i < p->routers.n; i++) {
		struct router *r = p->routers.items[i];

		if (r->sent < document_version(p->config.document))
			hasten(r);
		advance(r);
	}
}

void push_open(struct push *p)
{
	p->open = true;
	push_changed(p);
}

size_t push_count(const struct push *p)
{
	return p->routers.n;
}

struct push_view push_at(const struct push *p, size_t i)
{
	const struct router *r = p->routers.items[i];

	return (struct push_view){
		.name = r->name,
		.connected = r->connected,
		.current = r->connected && r->have == document_version(p->config.document),
		.generation = r->state.generation,
		.pushes = r->pushes,
		.small = r->small,
		.failures = r->failures,
		.error = r->error ?: "",
	};
}

const struct push_stats *push_stats(const struct push *p)
{
	return &p->stats;
}

int push_new(const struct push_config *config, struct push **ret)
{
	struct push *p = mem_zalloc(sizeof(*p));

	p->config = *config;
	p->client = http_client_new(config->loop, NULL);
	if (read_credentials(p) < 0) {
		push_free(p);
		return -EINVAL;
	}
	*ret = p;
	return 0;
}

void push_free(struct push *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->routers.n; i++)
		drop(p->routers.items[i]);
	vec_free(&p->routers);
	http_client_free(p->client);
	tls_context_free(p->tls);
	free(p->authorization);
	free(p);
}
