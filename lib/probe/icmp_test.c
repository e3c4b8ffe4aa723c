/* SPDX-License-Identifier: Apache-2.0 */
/* Echoes on loopback, forged ones among them, and namespaces that come and go. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/net/privilege.h"
#include "lib/probe/internal.h"
#include "lib/probe/test_server.h"

#define MS INT64_C(1000000)
#define SHORT (100 * MS)

static char name[64];

static void needs_raw_sockets(void)
{
	if (!privilege_held(CAP_NET_RAW)) {
		print_message("# needs CAP_NET_RAW\n");
		skip();
	}
}

static struct probe_spec echo_spec(struct bench *b, const char *target)
{
	struct probe_spec spec = bench_spec(b, PROBE_ICMP);

	spec.target = (struct endpoint){ 0 };
	assert_int_equal(addr_parse(target, &spec.target.addr), 0);
	return spec;
}

static void echoes_come_back_over_both_families(void **state)
{
	const char *const targets[] = { "127.0.0.1", "127.1.2.3", "::1" };
	struct bench *b = *state;

	needs_raw_sockets();
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct probe_spec spec = echo_spec(b, targets[i]);
		struct probe *p = bench_probe(b, &spec);

		for (int n = 0; n < 3; n++)
			bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		probe_free(p);
	}
}

/* FR-5.3: a reload sets the namespace again, even if it is the same */
static void naming_the_same_namespace_again_loses_no_echo(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	needs_raw_sockets();
	spec = echo_spec(b, "127.0.0.1");
	p = bench_probe(b, &spec);
	probe_start(p); /* the reply is in the socket already */
	probe_env_set_netns(b->env, NULL);
	probe_env_set_netns(b->env, "");
	bench_run_until(b, &b->answers, 1);
	bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
	probe_free(p);
}

static void a_source_address_is_used_or_refused(void **state)
{
	static const struct {
		const char *target, *source;
		bool ours;
	} rows[] = {
		{ "127.0.0.1", "127.9.9.9", true },
		{ "::1", "::1", true },
		{ "127.0.0.1", "192.0.2.9", false },
		{ "::1", "2001:db8::9", false },
	};
	struct bench *b = *state;

	needs_raw_sockets();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_spec spec = echo_spec(b, rows[i].target);
		struct probe *p;

		addr_parse(rows[i].source, &spec.source);
		p = bench_probe(b, &spec);
		bench_ask(b, p);
		if (rows[i].ours) {
			bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
		} else {
			bench_expect(&b->outcome, PROBE_STAGE_LOCAL, PROBE_ERR_UNREACHABLE);
			assert_non_null(strstr(b->outcome.reason, rows[i].source));
			assert_true(probe_outcome_is_local(&b->outcome));
		}
		probe_free(p);
	}
}

static void more_echoes_than_the_table_held_at_first(void **state)
{
	enum { MANY = 200 };
	struct bench *b = *state;
	struct probe *probes[MANY];
	struct probe_spec spec;

	needs_raw_sockets();
	spec = echo_spec(b, "127.0.0.1");
	for (size_t i = 0; i < MANY; i++) {
		probes[i] = bench_probe(b, &spec);
		probe_start(probes[i]);
	}
	assert_int_equal(b->env->echoes.used, MANY);
	for (size_t i = 0; i < MANY; i += 2)
		probe_cancel(probes[i]);
	bench_run_until(b, &b->answers, MANY / 2);
	assert_int_equal(b->env->echoes.used, 0);
	for (size_t i = 0; i < MANY; i++)
		probe_free(probes[i]);
	assert_int_equal(b->answers, MANY / 2);
}

static void a_full_table_is_a_local_failure(void **state)
{
	struct bench *b = *state;
	struct probe__echoes *e = &b->env->echoes;
	struct probe_spec spec;
	struct probe *p;

	needs_raw_sockets();
	spec = echo_spec(b, "127.0.0.1");
	p = bench_probe(b, &spec);
	bench_ask(b, p);
	free(e->pending);
	e->pending = calloc(PROBE_ECHOES_MAX, sizeof(struct probe *));
	e->used = e->cap = PROBE_ECHOES_MAX;
	bench_ask(b, p);
	e->used = 0;
	bench_expect(&b->outcome, PROBE_STAGE_LOCAL, PROBE_ERR_SOCKET);
	assert_int_equal(b->outcome.sys_errno, ENOBUFS);
	assert_true(probe_outcome_is_local(&b->outcome));
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	probe_free(p);
}

/* ---- forged packets ---- */

struct forged {
	uint8_t type, code;
	uint16_t checksum, id, sequence;
	uint8_t rest[48];
};

static void inject(struct forged f, size_t n, const char *from)
{
	struct endpoint source = { 0 }, target = { 0 };
	struct sockaddr_storage sa;
	socklen_t len;
	uint32_t sum = 0;
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);

	for (size_t i = 0; i < n; i += 2)
		sum += (uint32_t)(((const uint8_t *)&f)[i] << 8 | ((const uint8_t *)&f)[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	f.checksum = htons((uint16_t) ~(sum + (sum >> 16)));
	addr_parse(from, &source.addr);
	addr_parse("127.0.0.1", &target.addr);
	len = endpoint_to_sockaddr(&source, &sa);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	len = endpoint_to_sockaddr(&target, &sa);
	assert_int_equal(sendto(fd, &f, n, 0, (struct sockaddr *)&sa, len), (ssize_t)n);
	close(fd);
}

/*
 * A question in flight to 127.0.0.2 that can be answered only by forged packets: its cookie is
 * changed after the echo was sent, so the real reply does not match.
 */
static struct probe *unanswered(struct bench *b)
{
	struct probe_spec spec = echo_spec(b, "127.0.0.2");
	struct probe *p;

	spec.timeout = SHORT;
	p = bench_probe(b, &spec);
	probe_start(p);
	p->cookie ^= 1;
	return p;
}

static struct forged reply_to(const struct probe *p)
{
	struct forged f = { .type = ICMP_ECHOREPLY,
			    .id = p->env->echoes.id,
			    .sequence = htons(p->sequence) };

	memcpy(f.rest, &p->cookie, sizeof(p->cookie));
	return f;
}

static void only_the_right_reply_counts(void **state)
{
	enum { RIGHT, NO_COOKIE, WRONG_COOKIE, WRONG_ID, WRONG_SEQUENCE, WRONG_SENDER, ALL };
	struct bench *b = *state;

	needs_raw_sockets();
	for (int what = RIGHT; what < ALL; what++) {
		struct probe *p = unanswered(b);
		struct forged f = reply_to(p);

		f.rest[0] ^= what == WRONG_COOKIE;
		f.id ^= what == WRONG_ID;
		f.sequence ^= htons(what == WRONG_SEQUENCE ? 1 : 0);
		b->answers = 0;
		inject(f, what == NO_COOKIE ? 8 : 16,
		       what == WRONG_SENDER ? "127.0.0.3" : "127.0.0.2");
		bench_run_until(b, &b->answers, 1);
		if (what == RIGHT)
			bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
		else
			bench_expect(&b->outcome, PROBE_STAGE_CONNECT, PROBE_ERR_TIMEOUT);
		probe_free(p);
	}
}

static struct forged error_for(const struct probe *p)
{
	struct forged f = { .type = ICMP_DEST_UNREACH, .code = ICMP_HOST_UNREACH };
	struct forged request = reply_to(p);
	struct iphdr ip = { .version = 4, .ihl = 5, .protocol = IPPROTO_ICMP };

	memcpy(&ip.daddr, p->spec.target.addr.bytes, 4);
	request.type = ICMP_ECHO;
	memcpy(f.rest, &ip, sizeof(ip));
	memcpy(f.rest + sizeof(ip), &request, 16);
	return f;
}

/* An error whose quote ends before the cookie can be forged and must not fail the probe. */
static void only_an_error_that_quotes_the_whole_echo_counts(void **state)
{
	enum {
		WHOLE,
		WITHOUT_COOKIE,
		HALF_A_COOKIE,
		WRONG_COOKIE,
		WRONG_TARGET,
		WRONG_ID,
		CUT,
		NOT_ICMP,
		ALL
	};
	static const size_t quoted[ALL] = { [WITHOUT_COOKIE] = 8, [HALF_A_COOKIE] = 14, [CUT] = 4 };
	struct bench *b = *state;

	needs_raw_sockets();
	for (int what = WHOLE; what < ALL; what++) {
		struct probe *p = unanswered(b);
		struct forged f = error_for(p);
		size_t n = 8 + 20 + (quoted[what] ? quoted[what] : 16);

		f.rest[16] ^= what == WRONG_TARGET;
		f.rest[9] ^= what == NOT_ICMP;
		f.rest[20 + 4] ^= what == WRONG_ID;
		f.rest[20 + 8] ^= what == WRONG_COOKIE;
		b->answers = 0;
		inject(f, n, "127.0.0.9");
		bench_run_until(b, &b->answers, 1);
		if (what == WHOLE) {
			bench_expect(&b->outcome, PROBE_STAGE_CONNECT, PROBE_ERR_UNREACHABLE);
			assert_string_equal(b->outcome.reason,
					    "ping 127.0.0.2: unreachable, says 127.0.0.9 "
					    "(type 3 code 1)");
			assert_false(probe_outcome_is_local(&b->outcome));
		} else {
			bench_expect(&b->outcome, PROBE_STAGE_CONNECT, PROBE_ERR_TIMEOUT);
		}
		probe_free(p);
	}
}

static int without_rights(struct bench *b)
{
	struct probe_spec spec = echo_spec(b, "127.0.0.1");
	struct probe *p = bench_probe(b, &spec);

	if (privilege_keep(0) != 0)
		return 1;
	bench_ask(b, p);
	if (b->outcome.error != PROBE_ERR_SOCKET || b->outcome.sys_errno != EPERM)
		return 2;
	return probe_outcome_is_local(&b->outcome) ? 0 : 3;
}

static void without_the_right_to_ask_it_is_a_local_failure(void **state)
{
	struct bench *b = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ev_loop_fork(b->loop);
		_exit(without_rights(b));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- namespaces ---- */

static bool ip(const char *command)
{
	char text[160];

	snprintf(text, sizeof(text), "ip %s %s 2>/dev/null", command, name);
	return system(text) == 0;
}

static bool loopback_up(void)
{
	char text[160];

	snprintf(text, sizeof(text), "ip -n %s link set lo up 2>/dev/null", name);
	return system(text) == 0;
}

static void needs_namespaces(void)
{
	needs_raw_sockets();
	if (geteuid() != 0 || !ip("netns add")) {
		print_message("# needs root and ip netns\n");
		skip();
	}
}

static int namespace_teardown(void **state)
{
	char path[96];

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	if (access(path, F_OK) == 0)
		ip("netns del");
	return bench_teardown(state);
}

static void expect_missing(struct bench *b, struct probe *p)
{
	char wanted[128];

	bench_expect(bench_ask(b, p), PROBE_STAGE_LOCAL, PROBE_ERR_NETNS);
	assert_int_equal(b->outcome.sys_errno, ENOENT);
	snprintf(wanted, sizeof(wanted), "enter netns %s: no such file or directory", name);
	assert_string_equal(b->outcome.reason, wanted);
	assert_true(probe_outcome_is_local(&b->outcome));
}

static void a_namespace_that_vanishes_fails_and_one_that_returns_heals(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec = echo_spec(b, "127.0.0.1");
	struct probe *p, *q;

	needs_namespaces();
	p = bench_probe(b, &spec);
	spec.kind = PROBE_TCP;
	spec.target.port = 9;
	q = bench_probe(b, &spec);

	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK); /* of our own */
	probe_env_set_netns(b->env, name);
	bench_expect(bench_ask(b, p), PROBE_STAGE_LOCAL, PROBE_ERR_UNREACHABLE); /* lo is down */
	assert_true(loopback_up());
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	bench_expect(bench_ask(b, q), PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED);

	assert_true(ip("netns del"));
	expect_missing(b, p);
	expect_missing(b, q);
	assert_int_equal(b->env->echoes.sockets[0].io.fd, -1);

	assert_true(ip("netns add"));
	assert_true(loopback_up());
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	bench_expect(bench_ask(b, q), PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED);

	/* another namespace with the same name, without a question in between */
	assert_true(ip("netns del"));
	assert_true(ip("netns add"));
	bench_expect(bench_ask(b, p), PROBE_STAGE_LOCAL, PROBE_ERR_UNREACHABLE);
	probe_free(p);
	probe_free(q);
}

static void a_kept_connection_does_not_outlive_its_namespace(void **state)
{
	static const struct step script[] = { STEP(REQUEST),
					      STEP_WITH(SEND, "HTTP/1.1 204 x\r\n\r\n"),
					      STEP(AGAIN) };
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	needs_namespaces();
	server_start(&b->server, b->loop, AF_INET, script);
	spec = bench_spec(b, PROBE_HTTP);
	spec.keep_alive = true;
	p = bench_probe(b, &spec);
	bench_ask(b, p);
	bench_ask(b, p);
	assert_true(b->outcome.reused);
	assert_true(loopback_up());
	probe_env_set_netns(b->env, name);
	bench_expect(bench_ask(b, p), PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED);
	probe_free(p);
}

#define ON_BENCH(f) cmocka_unit_test_setup_teardown(f, bench_setup, bench_teardown)
#define IN_NAMESPACE(f) cmocka_unit_test_setup_teardown(f, bench_setup, namespace_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BENCH(echoes_come_back_over_both_families),
		ON_BENCH(naming_the_same_namespace_again_loses_no_echo),
		ON_BENCH(a_source_address_is_used_or_refused),
		ON_BENCH(more_echoes_than_the_table_held_at_first),
		ON_BENCH(a_full_table_is_a_local_failure),
		ON_BENCH(only_the_right_reply_counts),
		ON_BENCH(only_an_error_that_quotes_the_whole_echo_counts),
		ON_BENCH(without_the_right_to_ask_it_is_a_local_failure),
		IN_NAMESPACE(a_namespace_that_vanishes_fails_and_one_that_returns_heals),
		IN_NAMESPACE(a_kept_connection_does_not_outlive_its_namespace),
	};

	snprintf(name, sizeof(name), "probe-test-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
