/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns: a lookup tries candidates one after another: the name as it is, and with each domain of the
 * search list behind it. For each candidate it has two asks under way, one for IPv4 and one for
 * IPv6 addresses. An ask goes from server to server until one gives a verdict; each try has a
 * socket of its own, and with it a random port and a random number, which a forged answer has to
 * guess.
 *
 *	lookup -> candidate -> ask -> try at a server (UDP) -> [the same over TCP]
 *
 * A candidate that does not exist leads to the next one. One that no server could judge ends the
 * lookup, because the next might be another machine.
 */
#include "lib/net/dns.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"
#include "lib/net/dns_message.h"

#define FILE_MAX ((size_t)1024 * 1024)
#define UDP_MAX 4096   /* bytes; without EDNS an answer has at most 512 */
#define TCP_MAX 65535U /* bytes of an answer */
#define ASKS 2

/* A file, as it was when it was read. */
struct file {
	char *path;
	struct stat seen;
	struct buf text;
};

struct dns {
	struct ev_loop *loop;
	struct file resolv_conf, hosts;
	struct endpoint servers[DNS_SERVERS]; /* instead of those of resolv_conf */
	size_t n_servers;
	unsigned lookups;
};

struct ask {
	struct dns_lookup *lookup;
	struct dns_question question;
	ev_io io;
	ev_timer limit;
	int fd;
	unsigned tries;
	uint8_t *in; /* over TCP: the answer with its length; NULL: over UDP */
	size_t n_in;
	bool sent; /* over TCP */
	bool done;
	struct dns_answer answer; /* if done; verdict DNS_FAILED: no server has judged */
};

struct dns_lookup {
	struct dns *dns;
	char *name;
	struct dns_settings settings;
	bool is_absolute; /* ends with a dot */
	size_t candidate; /* number of the present one */
	struct ask asks[ASKS];
	ev_timer soon; /* reports what was known at once */
	struct addr found[ASKS * DNS_ADDRESSES];
	size_t n;
	int64_t ttl;
	const char *why;
	dns_done_fn done;
	void *user;
};

/* ---- files ---- */

static void read_file(struct file *f)
{
	_cleanup_(cleanup_fd) int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = 1;

	f->text.n = 0;
	while (fd >= 0 && n > 0 && f->text.n < FILE_MAX) {
		buf_reserve(&f->text, 4096);
		n = read(fd, f->text.p + f->text.n, 4096);
		f->text.n += n > 0 ? (size_t)n : 0;
	}
}

/* The text of the file; empty if it cannot be read. */
static struct str text_of(struct file *f)
{
	struct stat now;

	memset(&now, 0, sizeof(now));
	if (stat(f->path, &now) < 0)
		memset(&now, 0, sizeof(now));
	if (now.st_ino != f->seen.st_ino || now.st_size != f->seen.st_size ||
	    now.st_mtim.tv_sec != f->seen.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != f->seen.st_mtim.tv_nsec)
		read_file(f);
	f->seen = now;
	return (struct str){ f->text.p, f->text.n };
}

/* ---- the end of a lookup ---- */

static void stop_try(struct ask *a)
{
	ev_io_stop(a->lookup->dns->loop, &a->io);
	ev_timer_stop(a->lookup->dns->loop, &a->limit);
	cleanup_fd(&a->fd);
	a->fd = -1;
	free(TAKE_PTR(a->in));
}

void dns_cancel(struct dns_lookup *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < ASKS; i++)
		stop_try(&l->asks[i]);
	ev_timer_stop(l->dns->loop, &l->soon);
	l->dns->lookups--;
	free(l->name);
	free(l);
}

static int by_address(const void *a, const void *b)
{
	return addr_cmp(a, b);
}

static void report(struct dns_lookup *l)
{
	struct addr found[ASKS * DNS_ADDRESSES];
	const struct dns_result result = { found, l->n, l->ttl, l->n ? NULL : l->why };
	dns_done_fn done = l->done;
	void *user = l->user;

	memcpy(found, l->found, sizeof(found));
	qsort(found, l->n, sizeof(*found), by_address);
	dns_cancel(l);
	done(&result, user);
}

static void on_soon(struct ev_loop *loop, ev_timer *timer, int revents)
{
	report(container_of(timer, struct dns_lookup, soon));
}

/* ---- candidates ---- */

static bool begin_candidate(struct dns_lookup *l);

/* Adds what an ask has found. */
static void add_found(struct dns_lookup *l, const struct dns_answer *a)
{
	int64_t ttl = (int64_t)a->ttl * NSEC_PER_SEC;

	if (a->verdict != DNS_FOUND)
		return;
	if (!l->n || ttl < l->ttl)
		l->ttl = ttl;
	memcpy(l->found + l->n, a->found, a->n * sizeof(*a->found));
	l->n += a->n;
}

/* Both asks are done. */
static void conclude(struct dns_lookup *l)
{
	const struct dns_answer *one = &l->asks[0].answer, *two = &l->asks[1].answer;

	for (size_t i = 0; i < ASKS; i++)
		add_found(l, &l->asks[i].answer);
	if (l->n) {
		report(l);
		return;
	}
	if (one->verdict == DNS_FAILED || two->verdict == DNS_FAILED) {
		l->ttl = 0;
		l->why = one->code || two->code ? "the server cannot answer"
						: "no server has answered";
		report(l);
		return;
	}
	l->ttl = (int64_t)(one->ttl > two->ttl ? one->ttl : two->ttl) * NSEC_PER_SEC;
	l->why = one->verdict == DNS_NO_NAME ? "the name does not exist"
					     : "the name has no addresses";
	l->candidate++;
	if (!begin_candidate(l))
		report(l);
}

/* ---- asks ---- */

static void start_try(struct ask *a);

static void finish(struct ask *a)
{
	stop_try(a);
	a->done = true;
	if (a->lookup->asks[0].done && a->lookup->asks[1].done)
		conclude(a->lookup);
}

/* This server has no verdict. */
static void try_next(struct ask *a)
{
	const struct dns_settings *s = &a->lookup->settings;

	stop_try(a);
	if (++a->tries < s->attempts * s->n_servers)
		start_try(a);
	else
		finish(a);
}

/* Judges the bytes of an answer. Those that answer something else are ignored. */
static void take_answer(struct ask *a, const uint8_t *p, size_t n)
{
	struct dns_answer answer;

	if (dns_read_answer(p, n, &a->question, &answer) < 0) {
		if (a->in)
			try_next(a);
		return;
	}
	a->answer = answer;
	if (answer.verdict == DNS_TRUNCATED)
		a->answer.verdict = DNS_FAILED; /* unless TCP gives the whole */
	if (answer.verdict == DNS_TRUNCATED && !a->in) {
		stop_try(a);
		a->in = mem_alloc(TCP_MAX + 2);
		a->n_in = 0;
		start_try(a);
	} else if (a->answer.verdict == DNS_FAILED) {
		try_next(a);
	} else {
		finish(a);
	}
}

static void read_datagram(struct ask *a)
{
	uint8_t bytes[UDP_MAX];
	ssize_t n = recv(a->fd, bytes, sizeof(bytes), 0);

	if (n >= 0)
		take_answer(a, bytes, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		try_next(a);
}

static void read_stream(struct ask *a)
{
	ssize_t n = recv(a->fd, a->in + a->n_in, TCP_MAX + 2 - a->n_in, 0);
	size_t length;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		try_next(a);
		return;
	}
	a->n_in += (size_t)n;
	length = a->n_in < 2 ? TCP_MAX : (size_t)a->in[0] << 8 | a->in[1];
	if (a->n_in >= length + 2)
		take_answer(a, a->in + 2, length);
}

/* A query fits into an empty socket buffer, so it is sent as a whole or not at all. */
static bool send_query(struct ask *a)
{
	uint8_t bytes[DNS_QUERY_MAX + 2];
	size_t n = dns_write_query(&a->question, bytes + 2), skip = a->in ? 0 : 2;

	bytes[0] = (uint8_t)(n >> 8);
	bytes[1] = (uint8_t)n;
	n += 2 - skip;
	return send(a->fd, bytes + skip, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void on_io(struct ev_loop *loop, ev_io *io, int revents)
{
	struct ask *a = container_of(io, struct ask, io);

	if (!a->in) {
		read_datagram(a);
	} else if (a->sent) {
		read_stream(a);
	} else if (send_query(a)) {
		a->sent = true;
		ev_io_stop(loop, io);
		ev_io_set(io, a->fd, EV_READ);
		ev_io_start(loop, io);
	} else {
		try_next(a);
	}
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int revents)
{
	try_next(container_of(timer, struct ask, limit));
}

static bool open_try(struct ask *a)
{
	const struct dns_settings *s = &a->lookup->settings;
	const struct endpoint *to = &s->servers[a->tries % s->n_servers];
	int type = (a->in ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
	struct sockaddr_storage address;
	socklen_t length = endpoint_to_sockaddr(to, &address);

	a->fd = socket(address.ss_family, type, 0);
	a->sent = false;
	return a->fd >= 0 &&
	       (connect(a->fd, (const struct sockaddr *)&address, length) == 0 ||
		errno == EINPROGRESS) &&
	       (a->in || send_query(a));
}

/* A try that cannot even begin is over at its next turn, so that this does not recurse. */
static void start_try(struct ask *a)
{
	struct ev_loop *loop = a->lookup->dns->loop;
	bool open;

	if (getrandom(&a->question.id, sizeof(a->question.id), GRND_NONBLOCK) < 0)
		a->question.id = (uint16_t)loop_monotonic();
	open = open_try(a);
	if (open) {
		ev_io_set(&a->io, a->fd, a->in ? EV_WRITE : EV_READ);
		ev_io_start(loop, &a->io);
	}
	ev_timer_set(&a->limit, open ? loop_seconds(a->lookup->settings.timeout) : 0., 0.);
	ev_timer_start(loop, &a->limit);
}

/* ---- the beginning ---- */

static unsigned count_dots(const char *name)
{
	unsigned n = 0;

	for (; *name; name++)
		n += *name == '.';
	return n;
}

/* Writes the candidate with that number; false after the last. */
static bool write_candidate(const struct dns_lookup *l, size_t i, struct buf *out)
{
	const struct dns_settings *s = &l->settings;
	bool plain_first = count_dots(l->name) >= s->ndots;
	size_t n_search = l->is_absolute ? 0 : s->n_search;
	size_t plain = plain_first ? 0 : n_search;

	if (i > n_search)
		return false;
	out->n = 0;
	buf_adds(out, l->name);
	if (i != plain && !l->is_absolute)
		buf_printf(out, ".%s", s->search[i - plain_first]);
	return true;
}

/* Starts the asks of the present candidate, or of the next that can be a name. */
static bool begin_candidate(struct dns_lookup *l)
{
	static const enum dns_type types[ASKS] = { DNS_A, DNS_AAAA };
	_cleanup_(buf_free) struct buf text = { 0 };
	struct dns_name name;

	for (;; l->candidate++) {
		if (!write_candidate(l, l->candidate, &text))
			return false;
		if (dns_name_parse(buf_cstr(&text), &name) == 0)
			break;
	}
	for (size_t i = 0; i < ASKS; i++) {
		struct ask *a = &l->asks[i];

		a->question = (struct dns_question){ .type = types[i], .name = name };
		a->answer = (struct dns_answer){ .verdict = DNS_FAILED };
		a->tries = 0;
		a->done = false;
	}
	for (size_t i = 0; i < ASKS; i++)
		start_try(&l->asks[i]);
	return true;
}

/* RFC 6761: this name is always this machine. */
static size_t find_at_once(struct dns_lookup *l)
{
	static const char *const loopback[] = { "127.0.0.1", "::1" };
	size_t n = dns_hosts_find(text_of(&l->dns->hosts), l->name, l->found, DNS_ADDRESSES);

	if (n || (!str_ieq(str_of(l->name), STR("localhost")) &&
		  !str_ieq(str_of(l->name), STR("localhost."))))
		return n;
	for (; n < ARRAY_SIZE(loopback); n++)
		addr_parse(loopback[n], &l->found[n]);
	return n;
}

struct dns_lookup *dns_look_up(struct dns *d, const char *name, dns_done_fn done, void *user)
{
	struct dns_lookup *l = mem_zalloc(sizeof(*l));
	size_t n = strlen(name);

	assert(d && done);
	l->dns = d;
	l->done = done;
	l->user = user;
	l->name = mem_strdup(name);
	l->is_absolute = n && name[n - 1] == '.';
	l->why = "this cannot be a name";
	ev_timer_init(&l->soon, on_soon, 0., 0.);
	for (size_t i = 0; i < ASKS; i++) {
		l->asks[i].lookup = l;
		l->asks[i].fd = -1;
		ev_init(&l->asks[i].io, on_io);
		ev_init(&l->asks[i].limit, on_limit);
	}
	d->lookups++;
	dns_settings_parse(text_of(&d->resolv_conf), &l->settings);
	if (d->n_servers) {
		memcpy(l->settings.servers, d->servers, sizeof(d->servers));
		l->settings.n_servers = d->n_servers;
	}
	l->n = find_at_once(l);
	if (l->n || !begin_candidate(l))
		ev_timer_start(d->loop, &l->soon);
	return l;
}

struct dns *dns_new(struct ev_loop *loop, const struct dns_config *config)
{
	struct dns *d = mem_zalloc(sizeof(*d));

	d->loop = loop;
	d->n_servers = config->n_servers;
	memcpy(d->servers, config->servers, sizeof(d->servers));
	d->resolv_conf.path = mem_strdup(config->resolv_conf ?: "/etc/resolv.conf");
	d->hosts.path = mem_strdup(config->hosts ?: "/etc/hosts");
	return d;
}

static void free_file(struct file *f)
{
	free(f->path);
	buf_free(&f->text);
}

void dns_free(struct dns *d)
{
	if (!d)
		return;
	assert(!d->lookups);
	free_file(&d->resolv_conf);
	free_file(&d->hosts);
	free(d);
}
