/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: sends or receives the PROXY header before all other bytes.
 *
 * Bytes after the header belong to TLS or to the owner and must stay in the socket, but the length
 * of the header is known only when it is complete. So the bytes are read with MSG_PEEK first. While
 * the parser needs more, everything seen belongs to the header and is removed from the socket, or
 * the socket would stay readable and the loop would spin. When the header is complete, its part is
 * removed and the rest stays.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/stream/proxy.h"
#include "lib/stream/stream_private.h"

struct stream__proxy {
	struct buf bytes; /* the header: to be sent, or what was received so far */
	size_t sent;
	bool sends, complete;
	const char *why;	    /* why it was refused; NULL: it was not */
	struct stream_proxy header; /* if complete; its slices point into bytes */
};

bool stream__proxy_sends(const struct stream *s)
{
	return s->proxy->sends;
}

static int send_rest(struct stream *s)
{
	struct stream__proxy *p = s->proxy;
	ssize_t n;

	while (p->sent < p->bytes.n) {
		n = send(s->fd, p->bytes.p + p->sent, p->bytes.n - p->sent, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		p->sent += (size_t)n;
	}
	buf_free(&p->bytes);
	p->sent = 0;
	return 0;
}

static int refuse(struct stream__proxy *p, const char *why)
{
	p->why = why;
	return -EPROTO;
}

/*
 * Removes n bytes that were peeked at. TCP urgent data can make the two calls differ; no legitimate
 * proxy sends it, so that is refused.
 */
static int take(struct stream *s, size_t n)
{
	char nowhere[STREAM_PROXY_MAX];
	ssize_t r = recv(s->fd, nowhere, n, 0);

	if (r < 0)
		return -errno;
	return (size_t)r == n ? 0 : refuse(s->proxy, "the PROXY header changed while it was read");
}

/* Parses what there is. The last fresh bytes of p->bytes were only peeked at. */
static int judge(struct stream *s, size_t fresh)
{
	struct stream__proxy *p = s->proxy;
	size_t before = p->bytes.n - fresh;
	enum stream_proxy_fault fault;
	ssize_t n;
	int r;

	n = stream_proxy_parse((struct str){ p->bytes.p, p->bytes.n }, &p->header, &fault);
	if (n == -EPROTO)
		return refuse(p, stream_proxy_fault_word(fault));
	r = take(s, n < 0 ? fresh : (size_t)n - before);
	if (r < 0 || n < 0)
		return r < 0 ? r : -EAGAIN;
	p->complete = true;
	return 0;
}

/* The parser never wants more at STREAM_PROXY_MAX bytes, so the length to peek is above 0. */
static int receive(struct stream *s)
{
	struct stream__proxy *p = s->proxy;
	char bytes[STREAM_PROXY_MAX];
	ssize_t n;

	n = recv(s->fd, bytes, sizeof(bytes) - p->bytes.n, MSG_PEEK);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n == 0)
		return refuse(p, "the connection ended before its PROXY header");
	buf_add(&p->bytes, bytes, (size_t)n);
	return judge(s, (size_t)n);
}

int stream__proxy_step(struct stream *s)
{
	return s->proxy->sends ? send_rest(s) : receive(s);
}

const char *stream__proxy_reason(const struct stream *s)
{
	return s->proxy ? s->proxy->why : NULL;
}

void stream__proxy_free(struct stream *s)
{
	if (!s->proxy)
		return;
	buf_free(&s->proxy->bytes);
	free(TAKE_PTR(s->proxy));
}

/* ---- public ---- */

void stream_expect_proxy(struct stream *s)
{
	assert(s->state == STREAM_OPEN && !s->tls && !s->proxy && s->events->opened);
	s->proxy = mem_zalloc(sizeof(*s->proxy));
	s->state = STREAM_PROXY;
	task_wake(&s->task);
}

int stream_send_proxy(struct stream *s, const struct stream_proxy *header)
{
	struct buf bytes = { 0 };
	int r;

	assert(s->state == STREAM_CONNECTING && !s->proxy);
	r = stream_proxy_format(header, &bytes);
	if (r < 0)
		return r;
	s->proxy = mem_zalloc(sizeof(*s->proxy));
	s->proxy->bytes = bytes;
	s->proxy->sends = true;
	return 0;
}

const struct stream_proxy *stream_proxy_header(const struct stream *s)
{
	return s->proxy && s->proxy->complete ? &s->proxy->header : NULL;
}

typedef int (*name_fn)(int fd, struct sockaddr *sa, socklen_t *len);

static int ask_socket(const struct stream *s, name_fn name, struct endpoint *ret)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);

	if (name(s->fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	return endpoint_from_sockaddr((struct sockaddr *)&sa, ret);
}

int stream_peer(const struct stream *s, struct endpoint *ret)
{
	const struct stream_proxy *h = stream_proxy_header(s);

	if (!h || h->kind == STREAM_PROXY_NONE)
		return ask_socket(s, getpeername, ret);
	if (h->kind != STREAM_PROXY_IP)
		return -EAFNOSUPPORT;
	*ret = h->source;
	return 0;
}

int stream_local(const struct stream *s, struct endpoint *ret)
{
	const struct stream_proxy *h = stream_proxy_header(s);

	if (!h || h->kind == STREAM_PROXY_NONE)
		return ask_socket(s, getsockname, ret);
	if (h->kind != STREAM_PROXY_IP)
		return -EAFNOSUPPORT;
	*ret = h->destination;
	return 0;
}
