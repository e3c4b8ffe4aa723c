/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/dataplane/vpp/testkit.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define PATIENCE 20.0 /* s */
#define MS NSEC_PER_MSEC
/* "_12345678" at the end of a message name */
#define CHECKSUM_SIZE 9

#define IMAGE_SIZE ((size_t)128 * 1024)
/* the address of the segment in VPP, to which the pointers in it refer */
#define BASE ((uint64_t)0x7f0000000000)

static const char *const counter_names[] = {
	"packet from existing sessions", "first session packet", "untracked packet",
	"no server configured",		 "/net/route/to",	 "/net/route/via",
};
#define BOOT_TIME 1700000000

/* ---- the segment: a directory, and one thread's vector for each of the counters ---- */

#define DIRECTORY_AT 64
#define THREADS_AT(i) (2048 + 64 * (size_t)(i))
#define COLUMNS_AT(i) (4096 + 1024 * (size_t)(i))
#define MANY_THREADS_AT(i) (16384 + 16384 * (size_t)(i) + 8)

/* Offsets are in bytes from the start of the image. */
static void put_u64(struct kit *k, size_t at, uint64_t v)
{
	memcpy((char *)k->image + at, &v, sizeof(v));
}

static void put_entry(struct kit *k, size_t i, uint32_t type, uint64_t value, const char *name)
{
	char *at = (char *)k->image + DIRECTORY_AT + 144 * i;

	memcpy(at, &type, sizeof(type));
	memcpy(at + 8, &value, sizeof(value));
	snprintf(at + 16, 128, "%s", name);
}

/* Version 2, epoch 1, no change in progress. A vector has its length in the 8 bytes before it. */
static void make_segment(struct kit *k)
{
	const uint64_t header[] = { 2, BASE, 1, 0, BASE + DIRECTORY_AT };

	k->segment = memfd_create("stats", MFD_CLOEXEC);
	assert_int_equal(ftruncate(k->segment, IMAGE_SIZE), 0);
	k->image = mmap(NULL, IMAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, k->segment, 0);
	assert_true(k->image != MAP_FAILED);
	memcpy(k->image, header, sizeof(header));
	put_u64(k, DIRECTORY_AT - 8, 1 + ARRAY_SIZE(counter_names));
	put_entry(k, 0, 1, BOOT_TIME, "/sys/boottime");
	for (size_t i = 0; i < ARRAY_SIZE(counter_names); i++) {
		put_entry(k, 1 + i, i < 4 ? 2 : 3, BASE + THREADS_AT(i), counter_names[i]);
		put_u64(k, THREADS_AT(i) - 8, 1);
		put_u64(k, THREADS_AT(i), BASE + COLUMNS_AT(i));
		put_u64(k, COLUMNS_AT(i) - 8, KIT_COLUMNS);
	}
}

/* All threads share the same columns, so the sum is n times as much. */
void kit_set_threads(struct kit *k, unsigned n)
{
	for (size_t i = 0; i < ARRAY_SIZE(counter_names); i++) {
		put_entry(k, 1 + i, i < 4 ? 2 : 3, BASE + MANY_THREADS_AT(i), counter_names[i]);
		put_u64(k, MANY_THREADS_AT(i) - 8, n);
		for (size_t t = 0; t < n; t++)
			put_u64(k, MANY_THREADS_AT(i) + 8 * t, BASE + COLUMNS_AT(i));
	}
}

void kit_set_packets(struct kit *k, unsigned kind, unsigned column, uint64_t packets)
{
	put_u64(k, COLUMNS_AT(kind) + 8 * (size_t)column, packets);
}

void kit_set_route(struct kit *k, bool via, unsigned column, uint64_t packets, uint64_t bytes)
{
	put_u64(k, COLUMNS_AT(via ? 5 : 4) + 16 * (size_t)column, packets);
	put_u64(k, COLUMNS_AT(via ? 5 : 4) + 16 * (size_t)column + 8, bytes);
}

/* ---- answers ---- */

/* Numbers: requests 2i+100, answers 2i+101. */
static uint16_t id_of(size_t message, bool answer)
{
	return (uint16_t)(100 + 2 * message + answer);
}

static bool is_known(const struct kit *k, const char *name)
{
	return !k->leave_out || strncmp(name, k->leave_out, strlen(k->leave_out)) != 0;
}

static void watch(struct kit *k)
{
	ev_io_stop(k->loop, &k->conn);
	ev_io_set(&k->conn, k->conn.fd, EV_READ | (k->out.n ? EV_WRITE : 0));
	ev_io_start(k->loop, &k->conn);
}

/* Writes as much as the socket takes. */
static void flush(struct kit *k)
{
	ssize_t n = send(k->conn.fd, k->out.p, k->out.n, MSG_NOSIGNAL);

	if (n > 0)
		buf_consume(&k->out, (size_t)n);
	else if (n < 0 && errno != EAGAIN)
		k->out.n = 0; /* the driver has closed the connection */
	watch(k);
}

static void send_all(struct kit *k, const struct buf *out)
{
	buf_add(&k->out, out->p, out->n);
	flush(k);
}

/* The answer to sockclnt_create: the table of messages that this VPP offers. */
static void answer_greeting(struct kit *k, uint32_t context)
{
	struct buf out = { 0 }, table = { 0 };
	uint16_t n = 0;
	size_t begin;

	for (size_t i = 0; i < (size_t)2 * VPPLB_MESSAGES; i++) {
		const struct vpp_message *m = &vpplb_messages[i / 2];
		const char *name = i % 2 ? m->answer : m->request;

		if (!is_known(k, name))
			continue;
		n++;
		vpp_put_u16(&table, id_of(i / 2, i % 2));
		vpp_put_name(&table, name, VPP_NAME_SIZE);
	}
	begin = vpp_frame_begin(&out);
	vpp_put_u16(&out, 16);
	vpp_put_u32(&out, 0);
	vpp_put_u32(&out, context);
	vpp_put_u32(&out, 0);
	vpp_put_u32(&out, 0x80000001);
	vpp_put_u16(&out, n);
	buf_add(&out, table.p, table.n);
	vpp_frame_end(&out, begin);
	send_all(k, &out);
	buf_free(&out);
	buf_free(&table);
}

/* The fields of an answer after its return value. */
static void put_fields(struct kit *k, size_t message, struct vpp_reader *request, struct buf *out)
{
	uint8_t length;
	struct addr host;

	switch ((enum vpplb_message)message) {
	case VPPLB_CONF_GET:
		buf_add(out, k->conf.p, k->conf.n);
		break;
	case VPPLB_PING:
		vpp_put_u32(out, 0);
		vpp_put_u32(out, 4711 + k->accepted);
		break;
	case VPPLB_VERSION:
		vpp_put_name(out, "vpe", 32);
		vpp_put_name(out, "26.10", 32);
		vpp_put_name(out, "today", 32);
		vpp_put_name(out, "/build", 256);
		break;
	case VPPLB_CLI:
		vpp_put_text(out, str_of(k->text));
		break;
	case VPPLB_ROUTE: /* the last byte of the address is its column */
		vpp_get_bytes(request, 5);
		host = vpp_get_prefix(request, &length);
		vpp_put_u32(out, 0);
		vpp_put_u32(out, host.bytes[host.family == AF_INET6 ? 15 : 3]);
		break;
	case VPPLB_SET_WEIGHT:
	case VPPLB_CONF:
	case VPPLB_VIP:
	case VPPLB_AS:
	case VPPLB_VIP_DUMP:
	case VPPLB_AS_DUMP:
		break;
	}
}

/* The return value that the test demands for this request. */
static int32_t retval_for(struct kit *k, const char *name)
{
	if (!k->no || strcmp(name, k->no) != 0)
		return 0;
	if (k->yes) {
		k->yes--;
		return 0;
	}
	return k->retval;
}

static void close_conn(struct kit *k)
{
	ev_io_stop(k->loop, &k->conn);
	cleanup_fd(&k->conn.fd);
	k->conn.fd = -1;
	k->in.n = k->out.n = 0;
}

/* One message per record, as VPP answers a dump; the ping that follows marks the end. */
static void put_records(const struct buf *records, size_t size, size_t message, uint32_t context,
			struct buf *out)
{
	for (size_t at = 0; at < records->n; at += size) {
		size_t begin = vpp_frame_begin(out);

		vpp_put_u16(out, id_of(message, true));
		vpp_put_u32(out, context);
		buf_add(out, records->p + at, size);
		vpp_frame_end(out, begin);
	}
}

static void answer(struct kit *k, size_t message, uint32_t context, struct vpp_reader *request,
		   const char *name)
{
	struct buf out = { 0 };

	if (message == VPPLB_VIP_DUMP) {
		put_records(&k->vips, 34, message, context, &out);
	} else if (message == VPPLB_AS_DUMP) {
		put_records(&k->servers, 48, message, context, &out);
	} else {
		size_t begin = vpp_frame_begin(&out);

		vpp_put_u16(&out, id_of(message, true));
		vpp_put_u32(&out, context);
		vpp_put_u32(&out, (uint32_t)retval_for(k, name));
		put_fields(k, message, request, &out);
		vpp_frame_end(&out, begin);
	}
	if (k->cut && strcmp(name, k->cut) == 0) {
		k->cut = NULL;
		out.n /= 2;
		send_all(k, &out);
		close_conn(k);
	} else if (!k->silent || strcmp(name, k->silent) != 0) {
		send_all(k, &out);
	}
	buf_free(&out);
}

static void on_request(struct kit *k, struct vpp_reader *r)
{
	uint16_t id = vpp_get_u16(r);
	size_t message = (size_t)(id - 100) / 2;
	uint32_t context;
	char name[VPP_NAME_SIZE];

	if (id == 15) {
		answer_greeting(k, vpp_get_u32(r));
		return;
	}
	assert_true(message < VPPLB_MESSAGES);
	assert_int_equal(vpp_get_u32(r), 0x80000001);
	context = vpp_get_u32(r);
	snprintf(name, sizeof(name), "%.*s",
		 (int)(strlen(vpplb_messages[message].request) - CHECKSUM_SIZE),
		 vpplb_messages[message].request);
	buf_printf(&k->heard, "%s ", name);
	answer(k, message, context, r, name);
}

/* Counts all complete requests before any is answered: this shows what is sent without waiting. */
static size_t frames_in(const struct buf *in)
{
	size_t at = 0, n = 0;

	while (in->n - at >= VPP_HEADER_SIZE) {
		struct vpp_reader r = vpp_reader_of(in->p + at + 8, 4);
		size_t size = VPP_HEADER_SIZE + vpp_get_u32(&r);

		if (size > in->n - at)
			break;
		at += size;
		n++;
	}
	return n;
}

/* Everything that has arrived is counted first, then answered in order. */
static void on_conn(struct ev_loop *loop, ev_io *w, int revents)
{
	struct kit *k = container_of(w, struct kit, conn);
	size_t under_way, at = 0;
	struct buf in;
	ssize_t n;

	if (revents & EV_WRITE)
		flush(k);
	if (!(revents & EV_READ))
		return;
	buf_reserve(&k->in, 65536);
	n = recv(w->fd, k->in.p + k->in.n, 65536, 0);
	if (n <= 0) {
		close_conn(k);
		return;
	}
	k->in.n += (size_t)n;
	under_way = frames_in(&k->in);
	k->most_under_way = under_way > k->most_under_way ? under_way : k->most_under_way;
	in = k->in;
	k->in = (struct buf){ 0 };
	for (; under_way; under_way--) {
		struct vpp_reader r = vpp_reader_of(in.p + at + 8, 4);
		size_t size = vpp_get_u32(&r);

		r = vpp_reader_of(in.p + at + VPP_HEADER_SIZE, size);
		if (k->conn.fd >= 0)
			on_request(k, &r);
		at += VPP_HEADER_SIZE + size;
	}
	if (k->conn.fd >= 0)
		buf_add(&k->in, in.p + at, in.n - at);
	buf_free(&in);
}

/* ---- sockets ---- */

static void on_api_client(struct ev_loop *loop, ev_io *w, int revents)
{
	struct kit *k = container_of(w, struct kit, api);
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	assert_true(fd >= 0);
	close_conn(k);
	k->accepted++;
	ev_io_set(&k->conn, fd, EV_READ);
	ev_io_start(loop, &k->conn);
}

static void on_stats_client(struct ev_loop *loop, ev_io *w, int revents)
{
	struct kit *k = container_of(w, struct kit, stats);
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);
	struct iovec nothing = { 0 };
	struct msghdr message = { .msg_iov = &nothing,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	assert_true(fd >= 0);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &k->segment, sizeof(int));
	if (k->segment >= 0)
		sendmsg(fd, &message, MSG_NOSIGNAL); /* the driver may have closed the connection */
	close(fd);
}

static void listen_at(struct kit *k, ev_io *w, const struct sockaddr_un *at, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	unlink(at->sun_path);
	assert_int_equal(bind(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(listen(fd, 8), 0);
	ev_io_set(w, fd, EV_READ);
	ev_io_start(k->loop, w);
}

void kit_revive(struct kit *k)
{
	listen_at(k, &k->api, &k->api_at, SOCK_STREAM);
	listen_at(k, &k->stats, &k->stats_at, SOCK_SEQPACKET);
}

static void stop_listening(struct kit *k, ev_io *w)
{
	ev_io_stop(k->loop, w);
	cleanup_fd(&w->fd);
	w->fd = -1;
}

void kit_die(struct kit *k)
{
	stop_listening(k, &k->api);
	stop_listening(k, &k->stats);
	close_conn(k);
}

/* ---- callbacks of the driver ---- */

static void on_up(void *user)
{
	((struct kit *)user)->ups++;
}

static void on_down(void *user, const char *why)
{
	struct kit *k = user;

	k->downs++;
	snprintf(k->why, sizeof(k->why), "%s", why);
}

static void on_problem(void *user)
{
	((struct kit *)user)->problems++;
}

static void on_observed(void *user, int err, const struct lb_state *state)
{
	struct kit *k = user;

	k->observed++;
	k->err = err;
	lb_state_free(&k->state);
	if (state)
		lb_state_copy(state, &k->state);
}

static void on_applied(void *user, int err, size_t n_done)
{
	struct kit *k = user;

	k->applied++;
	k->err = err;
	k->n_done = n_done;
}

static void on_impatience(struct ev_loop *loop, ev_timer *w, int revents)
{
	fail_msg("waited for too long");
}

/* ---- the kit ---- */

void kit_begin(struct kit *k)
{
	*k = (struct kit){ .loop = ev_loop_new(EVFLAG_AUTO),
			   .directory = "/tmp/maglev-vpp-XXXXXX",
			   .api_at.sun_family = AF_UNIX,
			   .stats_at.sun_family = AF_UNIX,
			   .timeout = 10 * NSEC_PER_SEC,
			   .reading = 10 * MS,
			   .text = "" };
	ev_timer_init(&k->patience, on_impatience, PATIENCE, 0.);
	ev_timer_start(k->loop, &k->patience);
	assert_non_null(mkdtemp(k->directory));
	snprintf(k->api_at.sun_path, sizeof(k->api_at.sun_path), "%s/api", k->directory);
	snprintf(k->stats_at.sun_path, sizeof(k->stats_at.sun_path), "%s/stats", k->directory);
	ev_init(&k->api, on_api_client);
	ev_init(&k->stats, on_stats_client);
	ev_init(&k->conn, on_conn);
	k->conn.fd = -1;
	buf_add(&k->conf, "\x0a\x63\x00\x02", 4);
	buf_add(&k->conf, kit_addr("2001:db8:99::2").bytes, 16);
	vpp_put_u32(&k->conf, 1024);
	vpp_put_u32(&k->conf, 60);
	make_segment(k);
	kit_revive(k);
}

void kit_end(struct kit *k)
{
	if (k->dp)
		dataplane_vpp.stop(k->dp);
	kit_die(k);
	unlink(k->api_at.sun_path);
	unlink(k->stats_at.sun_path);
	rmdir(k->directory);
	ev_timer_stop(k->loop, &k->patience);
	ev_loop_destroy(k->loop);
	munmap(k->image, IMAGE_SIZE);
	cleanup_fd(&k->segment);
	buf_free(&k->in);
	buf_free(&k->out);
	buf_free(&k->conf);
	buf_free(&k->vips);
	buf_free(&k->servers);
	buf_free(&k->heard);
	lb_state_free(&k->state);
}

void kit_start(struct kit *k)
{
	const struct dataplane_events events = {
		.up = on_up, .down = on_down, .problem = on_problem, .user = k
	};
	const struct dataplane_vpp_setup setup = { .api_addr = k->api_at.sun_path,
						   .stats_addr = k->stats_at.sun_path,
						   .retry = 10 * MS,
						   .reading = k->reading,
						   .timeout = k->timeout };

	dataplane_vpp_use(&setup);
	k->dp = dataplane_vpp.start(k->loop, &k->config, &events);
	assert_int_equal(k->ups, 0);
}

void kit_start_up(struct kit *k)
{
	kit_start(k);
	kit_wait(k, &k->ups, 1);
}

void kit_wait(struct kit *k, const int *what, int n)
{
	while (*what < n)
		ev_run(k->loop, EVRUN_ONCE);
}

void kit_wait_heard(struct kit *k, const char *text)
{
	while (!strstr(buf_cstr(&k->heard), text))
		ev_run(k->loop, EVRUN_ONCE);
}

void kit_wait_counters(struct kit *k)
{
	int64_t seen = loop_realtime();
	const struct lb_counters *c;

	/* the reading under way may have begun before this call; the one after it has not */
	for (int i = 0; i < 2; i++) {
		do {
			ev_run(k->loop, EVRUN_ONCE);
			c = dataplane_vpp.counters(k->dp);
		} while (!c || c->at <= seen);
		seen = c->at;
	}
}

size_t kit_count(struct kit *k, const char *text)
{
	const char *p = buf_cstr(&k->heard);
	size_t n = 0;

	for (; (p = strstr(p, text)); p += strlen(text))
		n++;
	return n;
}

void kit_observe(struct kit *k)
{
	int before = k->observed;

	dataplane_vpp.observe(k->dp, on_observed, k);
	assert_int_equal(k->observed, before); /* not from within the verb */
}

void kit_apply(struct kit *k, const struct lb_op *ops, size_t n)
{
	int before = k->applied;

	dataplane_vpp.apply(k->dp, ops, n, on_applied, k);
	assert_int_equal(k->applied, before);
}

static void put_key(struct buf *b, const char *vip, uint16_t port, uint8_t length)
{
	struct addr a = kit_addr(vip);

	vpp_put_prefix(b, &a, length);
	vpp_put_u8(b, port ? IPPROTO_TCP : 255);
	vpp_put_u16(b, port);
}

void kit_put_vip(struct kit *k, const char *vip, uint16_t port, uint8_t length, uint32_t encap)
{
	put_key(&k->vips, vip, port, length);
	vpp_put_u32(&k->vips, encap);
	buf_add(&k->vips, "\7\7\7\7\7\7\7", 7); /* stale */
	vpp_put_u16(&k->vips, 16384);
}

void kit_put_as(struct kit *k, const char *vip, uint16_t port, const char *as, uint8_t weight,
		bool used)
{
	struct addr a = kit_addr(as);

	put_key(&k->servers, vip, port, 32);
	vpp_put_addr(&k->servers, &a);
	vpp_put_u8(&k->servers, used);
	vpp_put_u32(&k->servers, 77);
	vpp_put_u8(&k->servers, weight);
	vpp_put_u32(&k->servers, 1000);
}

struct addr kit_addr(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}
