/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect: the connection of a question, with few system calls and few packets. A socket for
 * datagrams is connected, too: it then gets only what the server sends, and its ICMP errors.
 *
 * The last ACK of the handshake is delayed (TCP_QUICKACK off). A TCP probe sends RST in its place:
 * the server's kernel has answered, and its program never accepts an empty connection. In an HTTP
 * probe the request carries the ACK; after it, ACKs are sent at once again, because servers that
 * respond in several small writes wait for them (Nagle). Every connection is closed with RST
 * (SO_LINGER 0), which leaves no socket in TIME_WAIT.
 *
 * close() is the most expensive part of the end of a probe. A question that ends closes its own
 * connection. Connections that are dropped otherwise, possibly thousands at once after a reload,
 * are closed by a task of the environment.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/probe/internal.h"
#include "lib/stream/proxy.h"

/* Without free descriptors the namespace cannot be opened either; that is not its fault. */
void probe__fail_socket(struct probe *p, bool entered, int err)
{
	if (!entered && err != EMFILE && err != ENFILE)
		probe__fail(p, PROBE_STAGE_LOCAL, PROBE_ERR_NETNS, err, "enter netns %s: %s",
			    p->env->ns.name, net_error_word(err));
	else
		probe__fail(p, PROBE_STAGE_LOCAL, PROBE_ERR_SOCKET, err, "open socket: %s",
			    net_error_word(err));
}

/* The source is named as well, because it may be the cause. */
void probe__fail_local(struct probe *p, const char *doing, int err)
{
	bool no_way = err == ENETUNREACH || err == EHOSTUNREACH || err == EADDRNOTAVAIL;
	bool chosen = addr_is_set(&p->spec.source);
	char target[ENDPOINT_STRLEN], source[ADDR_STRLEN];

	if (p->spec.kind == PROBE_ICMP)
		addr_format(&p->spec.target.addr, target);
	else
		endpoint_format(&p->spec.target, target);
	probe__fail(p, PROBE_STAGE_LOCAL, no_way ? PROBE_ERR_UNREACHABLE : PROBE_ERR_SOCKET, err,
		    "%s %s%s%s: %s", doing, target, chosen ? " from " : "",
		    chosen ? addr_format(&p->spec.source, source) : "", net_error_word(err));
}

/* The handshake has failed; err is positive. */
static void fail_connect(struct probe *p, int err)
{
	static const struct {
		int err;
		enum probe_error error;
	} answers[] = {
		{ ECONNREFUSED, PROBE_ERR_REFUSED },
		{ ETIMEDOUT, PROBE_ERR_TIMEOUT },
	};
	enum probe_error error = PROBE_ERR_UNREACHABLE; /* reported by ICMP */
	char text[ENDPOINT_STRLEN];

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i].err == err)
			error = answers[i].error;
	probe__fail(p, PROBE_STAGE_CONNECT, error, err, "connect to %s: %s",
		    endpoint_format(&p->spec.target, text), net_error_word(err));
}

/*
 * The kernel reports RST during the handshake as ECONNREFUSED. ECONNRESET and EPIPE therefore mean
 * that the handshake had succeeded before the loop noticed, so the failure belongs to the next
 * stage.
 */
static void fail_after_handshake(struct probe *p, int err)
{
	static const struct {
		enum probe_stage stage;
		const char *doing;
	} next[] = {
		[PROBE_TCP] = { PROBE_STAGE_CONNECT, "connect to" },
		[PROBE_HTTP] = { PROBE_STAGE_HTTP, "send request to" },
		[PROBE_HTTPS] = { PROBE_STAGE_TLS, "TLS handshake with" },
		[PROBE_GRPC] = { PROBE_STAGE_HTTP, "send request to" }, /* also with TLS */
		[PROBE_TLS] = { PROBE_STAGE_TLS, "TLS handshake with" },
	};
	char text[ENDPOINT_STRLEN];

	probe__fail(p, next[p->spec.kind].stage, PROBE_ERR_RESET, err, "%s %s: %s",
		    next[p->spec.kind].doing, endpoint_format(&p->spec.target, text),
		    net_error_word(err));
}

/*
 * TCP self-connect: for a target on this machine without a listener, the kernel may choose the
 * target's port as the source port, and the simultaneous open succeeds.
 */
static bool is_own_echo(const struct probe *p)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	struct endpoint e;

	if (getsockname(p->stream.fd, (struct sockaddr *)&own, &len) < 0 ||
	    endpoint_from_sockaddr((struct sockaddr *)&own, &e) < 0)
		return false;
	return e.port == p->spec.target.port && addr_cmp(&e.addr, &p->spec.target.addr) == 0;
}

/* It comes before TLS. With plain HTTP the request and it are one write. */
static void send_proxy(struct probe *p)
{
	static const struct stream_proxy local = { .version = 2, .local = true };
	struct buf *out = &p->env->request;

	if (!p->spec.send_proxy)
		return;
	out->n = 0;
	stream_proxy_format(&local, out);
	stream_send(&p->stream, out->p, out->n); /* an error comes again with the next write */
}

/* Only TCP probes check for a self-connect; others would not get a valid answer from it. */
static void on_connected(struct probe *p)
{
	switch (p->spec.kind) {
	case PROBE_TCP:
		if (is_own_echo(p))
			fail_connect(p, ECONNREFUSED);
		else
			probe__talk_start(p);
		break;
	case PROBE_UDP:
	case PROBE_DNS:
		probe__talk_start(p);
		break;
	case PROBE_HTTP:
		probe__http_send(p);
		break;
	case PROBE_HTTPS:
	case PROBE_TLS:
		send_proxy(p);
		probe__tls_start(p);
		break;
	case PROBE_GRPC:
		send_proxy(p);
		if (p->spec.tls)
			probe__tls_start(p);
		else
			probe__grpc_send(p);
		break;
	case PROBE_ICMP:
		assert(!"echoes have no connection");
	}
}

static int call_connect(const struct probe *p)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&p->spec.target, &sa);

	return connect(p->stream.fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

/* A second connect() returns the result of the first: 0, EALREADY while it runs, or its error. */
void probe__on_connecting(struct probe *p)
{
	int r = call_connect(p);

	if (r == 0 || r == -EISCONN)
		on_connected(p);
	else if (r == -EALREADY || r == -EINPROGRESS || r == -EINTR)
		stream_want(&p->stream, STREAM_WRITE);
	else if (r == -ECONNRESET || r == -EPIPE)
		fail_after_handshake(p, -r);
	else
		fail_connect(p, -r);
}

/* connect() chooses the port, because it can use one for several targets; bind() cannot. */
static int bind_source(const struct probe *p)
{
	const struct endpoint source = { .addr = p->spec.source };
	struct sockaddr_storage sa;
	socklen_t len;

	if (!addr_is_set(&p->spec.source))
		return 0;
	setsockopt(p->stream.fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){ 1 }, sizeof(int));
	len = endpoint_to_sockaddr(&source, &sa);
	return bind(p->stream.fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

/* tcp(7): the mode is not permanent, the kernel may switch back later. */
static void set_quick_ack(const struct probe *p, int on)
{
	setsockopt(p->stream.fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

/* The first question of a connection has done it for the later ones; TLS never turns it off. */
void probe__on_asked(const struct probe *p)
{
	if (p->spec.kind == PROBE_HTTP && !p->reused)
		set_quick_ack(p, 1);
}

static void prepare(const struct probe *p)
{
	bool talks = p->spec.kind == PROBE_HTTPS || p->spec.kind == PROBE_GRPC ||
		     p->spec.kind == PROBE_TLS || probe__talks(&p->spec);

	if (probe__is_datagram(&p->spec))
		return;
	if (!talks)
		set_quick_ack(p, 0);
	/*
	 * what follows the first message must not wait for its ACK, and a server that speaks first
	 * waits for that of the handshake
	 */
	else
		setsockopt(p->stream.fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

/* The namespace of a connection opened now: its inode, 0 for our own, -1 if it is missing. */
static ino_t place(const struct probe *p)
{
	struct net_ns_id id;

	return net_ns_identify(&p->env->ns, &id) < 0 ? (ino_t)-1 : id.ino;
}

bool probe__connection_is_here(const struct probe *p)
{
	return p->stream.fd >= 0 && p->place == place(p);
}

/* No TLS close_notify is sent: the server would see RST after it anyway. */
static void close_by_reset(int fd, struct tls *tls)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	tls_free(tls);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

void probe__disconnect(struct probe *p)
{
	if (p->stream.fd >= 0)
		stream_reset(&p->stream);
}

void probe__let_go(struct probe *p)
{
	struct probe__left left;

	if (p->stream.fd < 0)
		return;
	left.fd = stream_release(&p->stream, &left.tls);
	vec_push(&p->env->left, left);
	task_wake(&p->env->closer);
}

static void close_one_left(struct probe_env *env)
{
	const struct probe__left *left = &env->left.items[--env->left.n];

	close_by_reset(left->fd, left->tls);
	if (!env->left.n)
		vec_free(&env->left);
}

/* An ordinary task: closing old connections must not delay probes, which are urgent. */
static bool on_close_left(struct task *t)
{
	struct probe_env *env = container_of(t, struct probe_env, closer);

	while (env->left.n) {
		close_one_left(env);
		if (!task_has_time(env->loop))
			break;
	}
	return env->left.n > 0;
}

void probe__left_init(struct probe_env *env)
{
	task_init(&env->closer, env->loop, TASK_ORDINARY, on_close_left);
}

void probe__left_free(struct probe_env *env)
{
	task_cancel(&env->closer);
	while (env->left.n)
		close_one_left(env);
}

/* Out of descriptors: closes connections that are waiting for it anyway, then tries again. */
static int open_socket(struct probe *p, bool *ret_entered)
{
	for (;;) {
		int type = probe__is_datagram(&p->spec) ? SOCK_DGRAM : SOCK_STREAM;
		int r = net_socket(&p->env->ns, p->spec.target.addr.family, type, 0, ret_entered);

		if (r != -EMFILE || !p->env->left.n)
			return r;
		close_one_left(p->env);
	}
}

/* ECONNREFUSED at once is an answer (loopback), all other immediate errors are local. */
void probe__connect(struct probe *p)
{
	bool entered;
	int r;

	assert(p->stream.fd < 0);
	if (p->spec.keep_alive)
		p->place = place(p);
	r = open_socket(p, &entered);
	if (r < 0) {
		probe__fail_socket(p, entered, -r);
		return;
	}
	stream_adopt(&p->stream, r);
	p->state = STATE_CONNECT;
	p->served = 1;
	prepare(p);
	r = bind_source(p);
	if (r < 0) {
		probe__fail_local(p, "connect to", -r);
		return;
	}
	r = call_connect(p);
	if (r == 0)
		on_connected(p);
	else if (r == -ECONNREFUSED)
		fail_connect(p, -r);
	else if (r != -EINPROGRESS && r != -EINTR)
		probe__fail_local(p, "connect to", -r);
	else
		stream_want(&p->stream, STREAM_WRITE);
}
