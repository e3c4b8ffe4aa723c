/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy-peer: one end of a connection with the PROXY protocol, for tests.
 *
 *	proxy-peer listen [CERTIFICATE KEY]	prints its address; tells each client in a line of
 *						JSON what its header said, then echoes what it says
 *	proxy-peer connect TO VERSION SOURCE DESTINATION AUTHORITY ID
 *						sends a header, then its standard input, and prints
 *						what comes back; AUTHORITY or ID "-": none
 *
 * If a header is not valid, the reason is printed on standard output, as JSON as well.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/stream/listener.h"
#include "lib/stream/proxy.h"
#include "lib/stream/stream.h"
#include "lib/tls/tls.h"

#define TIMEOUT (20 * NSEC_PER_SEC)
#define INPUT_MAX ((size_t)64 * 1024)

static struct ev_loop *loop;
static struct tls_context *context; /* NULL: plaintext */

/* ---- the content of a header ---- */

static void add_key(struct buf *out, const char *key)
{
	if (out->p[out->n - 1] != '{')
		buf_adds(out, ", ");
	json_write_string(out, key, strlen(key));
	buf_adds(out, ": ");
}

static void add_text(struct buf *out, const char *key, struct str value)
{
	if (!value.p)
		return;
	add_key(out, key);
	json_write_string(out, value.p, value.n);
}

static void add_number(struct buf *out, const char *key, uint64_t value)
{
	add_key(out, key);
	buf_addu(out, value);
}

static void add_endpoint(struct buf *out, const char *key, const struct endpoint *e)
{
	char text[ENDPOINT_STRLEN];

	add_text(out, key, str_of(endpoint_format(e, text)));
}

static void add_header(struct buf *out, const struct stream_proxy *h)
{
	add_number(out, "version", h->version);
	add_number(out, "local", h->local);
	add_number(out, "checksum", h->checksum);
	add_text(out, "authority", h->authority);
	add_text(out, "alpn", h->alpn);
	add_text(out, "unique_id", h->unique_id);
	if (!h->ssl.present)
		return;
	add_number(out, "ssl_client", h->ssl.client);
	add_number(out, "ssl_verify", h->ssl.verify);
	add_text(out, "ssl_version", h->ssl.version);
	add_text(out, "ssl_cn", h->ssl.cn);
	add_text(out, "ssl_cipher", h->ssl.cipher);
	add_text(out, "ssl_signature", h->ssl.signature);
	add_text(out, "ssl_key", h->ssl.key);
}

/*
 * The addresses are those of the stream: with a header they are the ones that the header gives.
 */
static void describe(const struct stream *s, struct buf *out)
{
	struct endpoint e;

	buf_addc(out, '{');
	if (stream_peer(s, &e) == 0)
		add_endpoint(out, "peer", &e);
	if (stream_local(s, &e) == 0)
		add_endpoint(out, "local_address", &e);
	add_header(out, stream_proxy_header(s));
	buf_adds(out, "}\n");
}

/* Also called for the health checks of HAProxy, which do not read the answer. */
static void print(struct buf *line)
{
	fwrite(line->p, 1, line->n, stdout);
	fflush(stdout);
	buf_free(line);
}

/* ---- listening ---- */

static void end_client(struct stream *s)
{
	stream_end(s);
	free(s);
}

static void on_client_opened(struct stream *s)
{
	struct buf line = { 0 };

	describe(s, &line);
	stream_want(s, STREAM_READ);
	if (stream_send(s, line.p, line.n) < 0)
		stream_fail(s, -EPIPE);
	print(&line);
}

static void on_client_ready(struct stream *s, unsigned what)
{
	char bytes[4096];
	ssize_t n = stream_read(s, bytes, sizeof(bytes));

	if (n == -EAGAIN)
		return;
	if (n <= 0 || stream_send(s, bytes, (size_t)n) < 0)
		end_client(s);
}

static void on_client_closed(struct stream *s, int error)
{
	struct buf line = { 0 };

	buf_addc(&line, '{');
	add_text(&line, "error", str_of(stream_reason(s, error)));
	buf_adds(&line, "}\n");
	print(&line);
	end_client(s);
}

static void on_client_expired(struct stream *s)
{
	end_client(s);
}

static const struct stream_events client_events = { .opened = on_client_opened,
						    .ready = on_client_ready,
						    .closed = on_client_closed,
						    .expired = on_client_expired };

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	struct stream *s = mem_zalloc(sizeof(*s));

	stream_init(s, loop, TASK_ORDINARY, &client_events);
	stream_adopt(s, fd);
	stream_expect_proxy(s);
	if (context)
		stream_secure(s, tls_accept(context, fd));
	stream_set_deadline(s, TIMEOUT);
}

static void on_starved(int error, void *user)
{
	abort();
}

static int serve(const char *certificate, const char *key)
{
	const struct stream_listener_config at = { .at.addr = { AF_INET, { 127, 0, 0, 1 } } };
	const struct stream_listener_events events = { on_accepted, on_starved, NULL, NULL };
	const struct tls_config config = {
		.role = TLS_SERVER,
		.pairs = &(struct tls_pair){ certificate, key, NULL },
		.n_pairs = 1,
		.protocols = "http/1.1,http/1.0",
	};
	struct tls_refusal why;
	char text[ENDPOINT_STRLEN];
	struct stream_listener l;

	if (certificate && tls_context_new(&config, &context, &why) < 0) {
		fprintf(stderr, "%s\n", why.reason);
		return 1;
	}
	if (stream_listener_open(&l, loop, &at, &events) < 0)
		return 1;
	printf("%s\n", endpoint_format(&l.bound, text));
	fflush(stdout);
	ev_run(loop, 0); /* until it is killed */
	return 0;
}

/* ---- connecting ---- */

struct caller {
	struct stream stream;
	struct buf input;
	int status;
};

static void finish(struct stream *s, int status)
{
	container_of(s, struct caller, stream)->status = status;
	stream_end(s);
	ev_break(loop, EVBREAK_ALL);
}

static void on_caller_opened(struct stream *s)
{
	struct caller *c = container_of(s, struct caller, stream);

	stream_want(s, STREAM_READ);
	if (stream_send(s, c->input.p, c->input.n) < 0)
		finish(s, 1);
}

static void on_caller_ready(struct stream *s, unsigned what)
{
	char bytes[4096];
	ssize_t n = stream_read(s, bytes, sizeof(bytes));

	if (n > 0)
		fwrite(bytes, 1, (size_t)n, stdout);
	else if (n != -EAGAIN)
		finish(s, n < 0);
}

static void on_caller_closed(struct stream *s, int error)
{
	fprintf(stderr, "%s\n", stream_reason(s, error));
	finish(s, 1);
}

static void on_caller_expired(struct stream *s)
{
	finish(s, 1);
}

static const struct stream_events caller_events = { .opened = on_caller_opened,
						    .ready = on_caller_ready,
						    .closed = on_caller_closed,
						    .expired = on_caller_expired };

static struct str text_or_none(const char *s)
{
	return strcmp(s, "-") == 0 ? (struct str){ 0 } : str_of(s);
}

/* Reads a header from the arguments; false if they are not one. */
static bool read_header(char **argv, struct stream_proxy *h)
{
	*h = (struct stream_proxy){ .version = argv[1][0] == '1' ? 1 : 2,
				    .kind = STREAM_PROXY_IP,
				    .checksum = true,
				    .authority = text_or_none(argv[4]),
				    .unique_id = text_or_none(argv[5]) };
	return endpoint_parse(argv[2], &h->source) == 0 &&
	       endpoint_parse(argv[3], &h->destination) == 0;
}

static int call(char **argv)
{
	struct caller c = { 0 };
	struct sockaddr_storage sa;
	struct stream_proxy h;
	struct endpoint to;
	socklen_t len;

	if (endpoint_parse(argv[0], &to) < 0 || !read_header(argv, &h))
		return 2;
	buf_reserve(&c.input, INPUT_MAX);
	c.input.n = fread(c.input.p, 1, INPUT_MAX, stdin);
	len = endpoint_to_sockaddr(&to, &sa);
	stream_init(&c.stream, loop, TASK_ORDINARY, &caller_events);
	stream_connect(&c.stream, (struct sockaddr *)&sa, len);
	if (stream_send_proxy(&c.stream, &h) < 0)
		return 2;
	stream_set_deadline(&c.stream, TIMEOUT);
	ev_run(loop, 0);
	buf_free(&c.input);
	return c.status;
}

int main(int argc, char **argv)
{
	loop = ev_default_loop(0);
	if (argc >= 2 && strcmp(argv[1], "listen") == 0 && (argc == 2 || argc == 4))
		return serve(argc == 4 ? argv[2] : NULL, argc == 4 ? argv[3] : NULL);
	if (argc == 8 && strcmp(argv[1], "connect") == 0)
		return call(argv + 2);
	fprintf(stderr, "usage: proxy-peer listen [CERTIFICATE KEY]\n"
			"       proxy-peer connect TO VERSION SOURCE DESTINATION AUTHORITY ID\n");
	return 2;
}
