/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of these tests are sockets on the same loop. What they do depends on the first label
 * of the name, and each one counts the queries that it has got. A story asks a real server.
 */
#include "lib/net/dns.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define BIG 50 /* addresses in an answer that is too long for UDP */

struct server {
	ev_io udp, tcp;
	struct endpoint at;
	bool is_silent, cannot;
	unsigned queries, streams;
	char last[256]; /* name of the last query, with dots */
};

struct world {
	struct ev_loop *loop;
	struct server servers[2];
	struct dns *dns;
	char folder[32];
	unsigned results;
	struct addr found[128];
	size_t n;
	int64_t ttl;
	char why[64];
};

/* ---- servers ---- */

static void read_name(struct server *s, const uint8_t *p)
{
	size_t n = 0;

	for (; *p && n + *p + 2 < sizeof(s->last); p += *p + 1) {
		memcpy(s->last + n, p + 1, *p);
		n += *p;
		s->last[n++] = '.';
	}
	s->last[n] = '\0';
}

static size_t add_records(uint8_t *out, size_t n, unsigned type, unsigned records)
{
	for (unsigned i = 0; i < records; i++) {
		uint8_t head[] = { 0xc0, 12, 0, (uint8_t)type,	   0, 1, 0, 0,
				   0,	 30, 0, type == 1 ? 4 : 16 };
		uint8_t address[16] = { 10, 0, 0, (uint8_t)(records - i) };

		memcpy(out + n, head, sizeof(head));
		memcpy(out + n + sizeof(head), address, head[11]);
		n += sizeof(head) + head[11];
	}
	return n;
}

/* Turns a query into an answer, in place; returns its length, 0 for none. */
static size_t answer(struct server *s, uint8_t *p, size_t n, bool stream)
{
	unsigned type = p[n - 3], records = 0;

	s->queries++;
	s->streams += stream;
	read_name(s, p + 12);
	if (s->is_silent || str_starts(str_of(s->last), STR("silent")))
		return 0;
	p[2] = 0x81;
	p[3] = s->cannot ? 2 : 0;
	if (str_starts(str_of(s->last), STR("nx")))
		p[3] = 3;
	else if (str_starts(str_of(s->last), STR("both")))
		records = 1;
	else if (str_starts(str_of(s->last), STR("four")))
		records = type == 1 ? 3 : 0;
	else if (str_starts(str_of(s->last), STR("big")) && type == 1 && !stream)
		p[2] = 0x83;
	else if (str_starts(str_of(s->last), STR("big")) && type == 1)
		records = BIG;
	if (s->cannot)
		return n;
	p[7] = (uint8_t)records;
	return add_records(p, n, type, records);
}

static void on_datagram(struct ev_loop *loop, ev_io *io, int revents)
{
	struct server *s = io->data;
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	uint8_t bytes[4096];
	ssize_t n = recvfrom(io->fd, bytes, 1024, 0, (struct sockaddr *)&from, &length);
	size_t size;

	assert_true(n > 12);
	size = answer(s, bytes, (size_t)n, false);
	if (str_starts(str_of(s->last), STR("forged"))) { /* another number: must be ignored */
		bytes[0] ^= 0xff;
		sendto(io->fd, bytes, size, 0, (struct sockaddr *)&from, length);
		bytes[0] ^= 0xff;
		bytes[7] = bytes[(size_t)n - 3] == 1;
		size = add_records(bytes, (size_t)n, 1, bytes[7]);
	}
	if (size)
		sendto(io->fd, bytes, size, 0, (struct sockaddr *)&from, length);
}

/* A stream is served at once: the query follows the connection on loopback. */
static void on_stream(struct ev_loop *loop, ev_io *io, int revents)
{
	struct server *s = io->data;
	int fd = accept(io->fd, NULL, NULL);
	uint8_t bytes[8192];
	ssize_t n = recv(fd, bytes, 1024, 0);
	size_t size;

	assert_true(n > 14);
	size = answer(s, bytes + 2, (size_t)n - 2, true);
	bytes[0] = (uint8_t)(size >> 8);
	bytes[1] = (uint8_t)size;
	assert_int_equal(send(fd, bytes, size + 2, 0), size + 2);
	close(fd);
}

static void open_server(struct world *w, struct server *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(tcp, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(tcp, (struct sockaddr *)&at, &length), 0);
	assert_int_equal(listen(tcp, 8), 0);
	assert_int_equal(bind(udp, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&at, &s->at), 0);
	ev_io_init(&s->udp, on_datagram, udp, EV_READ);
	ev_io_init(&s->tcp, on_stream, tcp, EV_READ);
	s->udp.data = s->tcp.data = s;
	ev_io_start(w->loop, &s->udp);
	ev_io_start(w->loop, &s->tcp);
}

static void close_server(struct world *w, struct server *s)
{
	ev_io_stop(w->loop, &s->udp);
	ev_io_stop(w->loop, &s->tcp);
	close(s->udp.fd);
	close(s->tcp.fd);
}

/* ---- the world ---- */

static void write_file(const struct world *w, const char *name, const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", w->folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int start(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char resolv[64], hosts[64];
	struct dns_config config = { .resolv_conf = resolv, .hosts = hosts, .n_servers = 2 };

	w->loop = ev_loop_new(0);
	for (size_t i = 0; i < 2; i++) {
		open_server(w, &w->servers[i]);
		config.servers[i] = w->servers[i].at;
	}
	snprintf(w->folder, sizeof(w->folder), "/tmp/dns-test.XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	write_file(w, "resolv.conf", "search one.example two.example\noptions timeout:1\n");
	write_file(w, "hosts", "192.0.2.7 known.example\n");
	snprintf(resolv, sizeof(resolv), "%s/resolv.conf", w->folder);
	snprintf(hosts, sizeof(hosts), "%s/hosts", w->folder);
	w->dns = dns_new(w->loop, &config);
	*state = w;
	return 0;
}

static int end(void **state)
{
	static const char *const files[] = { "resolv.conf", "hosts" };
	struct world *w = *state;
	char path[64];

	dns_free(w->dns);
	for (size_t i = 0; i < 2; i++)
		close_server(w, &w->servers[i]);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", w->folder, files[i]);
		unlink(path);
	}
	rmdir(w->folder);
	ev_loop_destroy(w->loop);
	free(w);
	return 0;
}

static void on_result(const struct dns_result *r, void *user)
{
	struct world *w = user;

	w->results++;
	w->n = r->n;
	w->ttl = r->ttl;
	memcpy(w->found, r->found, r->n * sizeof(*r->found));
	snprintf(w->why, sizeof(w->why), "%s", r->why ?: "");
	ev_break(w->loop, EVBREAK_ALL);
}

static void look_up(struct world *w, const char *name)
{
	unsigned before = w->results;

	dns_look_up(w->dns, name, on_result, w);
	assert_int_equal(w->results, before); /* never from within */
	ev_run(w->loop, 0);
	assert_int_equal(w->results, before + 1);
}

static const char *text_of(const struct addr *a)
{
	static char text[ADDR_STRLEN];

	return addr_format(a, text);
}

/* ---- tests ---- */

static void addresses_of_both_families_are_sorted(void **state)
{
	struct world *w = *state;

	look_up(w, "both.example.com");
	assert_int_equal(w->n, 2);
	assert_string_equal(text_of(&w->found[0]), "10.0.0.1");
	assert_string_equal(text_of(&w->found[1]), "a00:1::");
	assert_int_equal(w->ttl, 30 * NSEC_PER_SEC);
	look_up(w, "four.example.com");
	assert_int_equal(w->n, 3);
	assert_string_equal(text_of(&w->found[0]), "10.0.0.1");
	assert_string_equal(text_of(&w->found[2]), "10.0.0.3");
	assert_int_equal(w->servers[1].queries, 0);
}

static void what_is_too_long_comes_over_tcp(void **state)
{
	struct world *w = *state;

	look_up(w, "big.example.com");
	assert_int_equal(w->n, BIG);
	assert_int_equal(w->servers[0].streams, 1);
	assert_string_equal(text_of(&w->found[BIG - 1]), "10.0.0.50");
}

static void a_name_that_does_not_exist_is_searched_for(void **state)
{
	struct world *w = *state;

	look_up(w, "nx.example.com");
	assert_int_equal(w->n, 0);
	assert_string_equal(w->why, "the name does not exist");
	assert_int_equal(w->servers[0].queries, 6); /* as it is, and with two domains */
	assert_string_equal(w->servers[0].last, "nx.example.com.two.example.");
	look_up(w, "nx.example.com.");
	assert_int_equal(w->servers[0].queries, 8);
	assert_string_equal(w->servers[0].last, "nx.example.com.");
}

static void a_short_name_is_first_tried_with_the_domains(void **state)
{
	struct world *w = *state;

	look_up(w, "four");
	assert_int_equal(w->n, 3);
	assert_int_equal(w->servers[0].queries, 2);
	assert_string_equal(w->servers[0].last, "four.one.example.");
	look_up(w, "nx");
	assert_string_equal(w->servers[0].last, "nx.");
}

static void changes_of_the_files_are_noticed(void **state)
{
	struct world *w = *state;

	look_up(w, "KNOWN.example");
	assert_int_equal(w->n, 1);
	assert_string_equal(text_of(&w->found[0]), "192.0.2.7");
	assert_int_equal(w->servers[0].queries, 0);
	write_file(w, "hosts", "192.0.2.70 known.example\n192.0.2.71 other known.example\n");
	write_file(w, "resolv.conf", "search three.example\n");
	look_up(w, "known.example");
	assert_int_equal(w->n, 2);
	look_up(w, "four");
	assert_string_equal(w->servers[0].last, "four.three.example.");
}

static void the_other_server_is_asked_if_one_is_silent_or_cannot(void **state)
{
	struct world *w = *state;

	w->servers[0].is_silent = true;
	look_up(w, "four.example.com");
	assert_int_equal(w->n, 3);
	w->servers[0].is_silent = false;
	w->servers[0].cannot = true;
	look_up(w, "four.example.com");
	assert_int_equal(w->n, 3);
	assert_int_equal(w->servers[1].queries, 4);
}

static void a_server_that_is_not_there_is_passed_over(void **state)
{
	struct world *w = *state;

	shutdown(w->servers[0].udp.fd, SHUT_RDWR);
	close_server(w, &w->servers[0]);
	look_up(w, "four.example.com");
	assert_int_equal(w->n, 3);
	open_server(w, &w->servers[0]);
}

static void without_an_answer_there_is_no_search(void **state)
{
	struct world *w = *state;

	w->servers[0].cannot = w->servers[1].cannot = true;
	look_up(w, "four.example.com");
	assert_int_equal(w->n, 0);
	assert_string_equal(w->why, "the server cannot answer");
	assert_int_equal(w->ttl, 0);
	assert_int_equal(w->servers[0].queries + w->servers[1].queries, 8);
	assert_string_equal(w->servers[1].last, "four.example.com.");
}

static void an_answer_with_another_number_is_ignored(void **state)
{
	struct world *w = *state;

	look_up(w, "forged.example.com");
	assert_int_equal(w->n, 1);
}

static void odd_names_are_no_names(void **state)
{
	struct world *w = *state;

	look_up(w, "a..b.");
	assert_int_equal(w->n, 0);
	assert_string_equal(w->why, "this cannot be a name");
	look_up(w, "localhost");
	assert_true(w->n == 2);
	assert_int_equal(w->servers[0].queries, 0);
}

static void a_cancelled_lookup_is_silent(void **state)
{
	struct world *w = *state;

	dns_cancel(dns_look_up(w->dns, "silent.example.com", on_result, w));
	dns_cancel(dns_look_up(w->dns, "known.example", on_result, w));
	dns_cancel(NULL);
	look_up(w, "four.example.com");
	assert_int_equal(w->results, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, start, end)
		T(addresses_of_both_families_are_sorted),
		T(what_is_too_long_comes_over_tcp),
		T(a_name_that_does_not_exist_is_searched_for),
		T(a_short_name_is_first_tried_with_the_domains),
		T(changes_of_the_files_are_noticed),
		T(the_other_server_is_asked_if_one_is_silent_or_cannot),
		T(a_server_that_is_not_there_is_passed_over),
		T(without_an_answer_there_is_no_search),
		T(an_answer_with_another_number_is_ignored),
		T(odd_names_are_no_names),
		T(a_cancelled_lookup_is_silent),
	};

	return cmocka_run_group_tests_name("lib/net/dns", tests, NULL, NULL);
}
