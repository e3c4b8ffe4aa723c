/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/net/udp.h"

static struct endpoint at(const char *text)
{
	struct endpoint e;

	assert_int_equal(endpoint_parse(text, &e), 0);
	return e;
}

static int open_at(const char *text, struct endpoint *ret_at)
{
	const struct udp_config c = { .at = at(text), .reuse_port = true };
	int fd = udp_open(&c, ret_at);

	assert_true(fd >= 0);
	return fd;
}

/* A client that sends to one address of the socket. */
static int client_of(const char *host, uint16_t port)
{
	struct endpoint to = at(host);
	int fd;

	to.port = port;
	fd = udp_connect(&to);
	assert_true(fd >= 0);
	return fd;
}

static void say(int fd, const char *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, 0), n);
}

/* Waits; loopback has delivered what was sent, but the kernel may still be at it. */
static size_t receive(struct udp_batch *b, int fd, size_t first, size_t most)
{
	struct pollfd p = { fd, POLLIN, 0 };
	ssize_t n;

	assert_int_equal(poll(&p, 1, 5000), 1);
	n = udp_receive(b, fd, first, most);
	assert_true(n > 0);
	return (size_t)n;
}

static void expect(int fd, const char *text)
{
	struct pollfd p = { fd, POLLIN, 0 };
	char bytes[64];
	ssize_t n;

	assert_int_equal(poll(&p, 1, 5000), 1);
	n = recv(fd, bytes, sizeof(bytes), 0);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(bytes, text, (size_t)n);
}

static void check_message(const struct udp_message *m, const char *text)
{
	assert_false(m->truncated);
	assert_int_equal(m->segment, 0);
	assert_int_equal(m->n, strlen(text));
	assert_memory_equal(m->bytes, text, m->n);
}

static void a_batch_has_datagrams_in_order_and_empty_ones(void **state)
{
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at("127.0.0.1:0", &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);
	struct udp_batch *b = udp_batch_new();
	size_t n = 0;

	say(client, "one", 3);
	say(client, "", 0);
	say(client, "three", 5);
	while (n < 3)
		n += receive(b, fd, n, UDP_BATCH - n);
	check_message(udp_message(b, 0), "one");
	check_message(udp_message(b, 1), "");
	check_message(udp_message(b, 2), "three");
	assert_int_equal(udp_count(udp_message(b, 1)), 1);
	assert_memory_equal(&udp_message(b, 0)->path, &udp_message(b, 2)->path,
			    sizeof(struct udp_path));
	assert_int_equal(udp_receive(b, fd, 0, UDP_BATCH), -EAGAIN);
	udp_batch_free(b);
}

static void one_message_is_received_alone(void **state)
{
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at("127.0.0.1:0", &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);
	struct udp_batch *b = udp_batch_new();
	struct udp_outgoing out[2] = { { .bytes = "one", .n = 3 }, { .bytes = "", .n = 0 } };
	int error = 0;

	say(client, "x", 1);
	assert_int_equal(receive(b, fd, 0, 1), 1);
	out[0].to = out[1].to = &udp_message(b, 0)->path;
	assert_int_equal(udp_receive_one(b, client, 5), -EAGAIN);
	assert_int_equal(udp_send(fd, out, 2, &error), 2);
	assert_int_equal(udp_receive_one(b, client, 5), 1);
	check_message(udp_message(b, 5), "one");
	assert_int_equal(udp_receive_one(b, client, 6), 1);
	check_message(udp_message(b, 6), "");
	udp_batch_free(b);
}

static void the_largest_datagram_is_whole(void **state)
{
	enum { LARGEST = 65507 };
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at("127.0.0.1:0", &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);
	struct udp_batch *b = udp_batch_new();
	char *bytes = malloc(LARGEST);

	memset(bytes, 'x', LARGEST);
	say(client, bytes, LARGEST);
	assert_int_equal(receive(b, fd, 0, 1), 1);
	assert_int_equal(udp_message(b, 0)->n, LARGEST);
	assert_false(udp_message(b, 0)->truncated);
	assert_memory_equal(udp_message(b, 0)->bytes, bytes, LARGEST);
	free(bytes);
	udp_batch_free(b);
}

/* The client is connected, so it drops an answer that comes from another address. */
static void check_answer(const char *listen, const char *asked, const char *local)
{
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at(listen, &bound);
	_cleanup_(cleanup_fd) int client = client_of(asked, bound.port);
	struct udp_batch *b = udp_batch_new();
	struct udp_outgoing out = { .bytes = "hello", .n = 5 };
	struct udp_path copy;
	struct endpoint peer;
	struct addr mine;
	char text[ADDR_STRLEN];
	int error = 0;

	say(client, "x", 1);
	receive(b, fd, 0, UDP_BATCH);
	mine = udp_local(&udp_message(b, 0)->path);
	assert_string_equal(addr_format(&mine, text), local);
	peer = udp_peer(&udp_message(b, 0)->path);
	assert_int_equal(udp_path_make(udp_family(fd), &peer, &mine, 0, &copy), 0);
	assert_memory_equal(&copy, &udp_message(b, 0)->path, sizeof(copy));
	out.to = &copy;
	assert_int_equal(udp_send(fd, &out, 1, &error), 1);
	expect(client, "hello");
	udp_batch_free(b);
}

static void answers_leave_from_the_address_that_was_asked(void **state)
{
	check_answer("0.0.0.0:0", "127.0.0.9:1", "127.0.0.9");
	check_answer(":0", "127.0.0.9:1", "127.0.0.9");
	check_answer(":0", "[::1]:1", "::1");
	check_answer("127.0.0.9:0", "127.0.0.9:1", "-");
	check_answer("[::1]:0", "[::1]:1", "-");
}

static void several_clients_get_their_answers_in_one_call(void **state)
{
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at(":0", &bound);
	_cleanup_(cleanup_fd) int one = client_of("127.0.0.1:1", bound.port);
	_cleanup_(cleanup_fd) int two = client_of("[::1]:1", bound.port);
	struct udp_batch *b = udp_batch_new();
	struct udp_outgoing out[3];
	int error = 0;

	say(one, "1", 1);
	say(two, "2", 1);
	assert_int_equal(receive(b, fd, 0, 1), 1);
	assert_int_equal(receive(b, fd, 1, 1), 1);
	for (size_t i = 0; i < 3; i++)
		out[i] = (struct udp_outgoing){ .to = &udp_message(b, i / 2)->path,
						.bytes = &"abcdef"[i],
						.n = 3 };
	assert_int_equal(udp_send(fd, out, 3, &error), 3);
	expect(one, "abc");
	expect(one, "bcd");
	expect(two, "cde");
	udp_batch_free(b);
}

/* Of one size, the last one shorter, then others: the receiver sees each datagram. */
static void joined_datagrams_arrive_one_by_one(void **state)
{
	static const size_t sizes[] = { 5, 5, 5, 2, 7, 7, 0, 0, 3, 9 };
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at("127.0.0.1:0", &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);
	struct udp_outgoing out[10];
	int off = 0, error = 0;
	char bytes[64];

	setsockopt(fd, SOL_UDP, UDP_GRO, &off, sizeof(off));
	for (size_t i = 0; i < 10; i++)
		out[i] = (struct udp_outgoing){ .bytes = "0123456789", .n = sizes[i] };
	assert_int_equal(udp_send(client, out, 10, &error), 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), sizes[i]);
	assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), -1);
}

static void a_run_of_one_size_is_one_message(void **state)
{
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at("127.0.0.1:0", &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);
	struct udp_batch *b = udp_batch_new();
	struct udp_outgoing out[4];
	int error = 0;

	for (size_t i = 0; i < 4; i++)
		out[i] = (struct udp_outgoing){ .bytes = "0123456789", .n = i < 3 ? 10 : 4 };
	assert_int_equal(udp_send(client, out, 4, &error), 4);
	assert_int_equal(receive(b, fd, 0, UDP_BATCH), 1);
	assert_int_equal(udp_message(b, 0)->segment, 10);
	assert_int_equal(udp_message(b, 0)->n, 34);
	assert_int_equal(udp_count(udp_message(b, 0)), 4);
	/* and such a message is passed on as it is */
	out[0] = (struct udp_outgoing){ .bytes = udp_message(b, 0)->bytes, .n = 34, .segment = 10 };
	assert_int_equal(udp_send(client, out, 1, &error), 1);
	assert_int_equal(receive(b, fd, 1, 1), 1);
	assert_int_equal(udp_message(b, 1)->segment, 10);
	assert_int_equal(udp_message(b, 1)->n, 34);
	udp_batch_free(b);
}

/* Without checksums the kernel refuses to split. */
static void what_cannot_be_joined_is_sent_alone(void **state)
{
	static char bytes[40000];
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at("127.0.0.1:0", &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);
	struct udp_batch *b = udp_batch_new();
	struct udp_outgoing out = { .bytes = bytes, .n = sizeof(bytes), .segment = 15000 };
	int on = 1, error = 0;
	size_t n = 0;

	setsockopt(client, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on));
	assert_int_equal(udp_send(client, &out, 1, &error), 1);
	while (n < 3)
		n += receive(b, fd, n, UDP_BATCH - n);
	assert_int_equal(udp_message(b, 0)->n, 15000);
	assert_int_equal(udp_message(b, 1)->n, 15000);
	assert_int_equal(udp_message(b, 2)->n, 10000);
	udp_batch_free(b);
}

static void a_closed_port_is_reported(void **state)
{
	struct endpoint bound;
	int fd = open_at("127.0.0.1:0", &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);
	struct udp_outgoing out = { .bytes = "x", .n = 1 };
	struct udp_batch *b = udp_batch_new();
	struct pollfd p = { client, POLLIN, 0 };
	int error = 0;

	close(fd);
	assert_int_equal(udp_send(client, &out, 1, &error), 1);
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(udp_receive(b, client, 0, 1), -ECONNREFUSED);
	assert_int_equal(udp_send(client, &out, 1, &error), 1);
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(udp_send(client, &out, 1, &error), 0);
	assert_int_equal(error, -ECONNREFUSED);
	udp_batch_free(b);
}

static void the_one_that_failed_is_known(void **state)
{
	static char bytes[66000];
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = open_at("127.0.0.1:0", &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);
	const struct udp_outgoing out[] = { { .bytes = "abc", .n = 3 },
					    { .bytes = bytes, .n = sizeof(bytes) },
					    { .bytes = "d", .n = 1 } };
	int error = 0;

	assert_int_equal(udp_send(client, out, 3, &error), 1);
	assert_int_equal(error, -EMSGSIZE);
	assert_int_equal(udp_send(client, out + 2, 1, &error), 1);
	expect(fd, "abc");
	expect(fd, "d");
}

static void sockets_share_a_port_and_others_do_not_get_it(void **state)
{
	struct endpoint first, second, seen;
	_cleanup_(cleanup_fd) int one = open_at("127.0.0.1:0", &first);
	struct udp_config c = { .at = first, .reuse_port = true };
	_cleanup_(cleanup_fd) int two = udp_open(&c, &second);
	_cleanup_(cleanup_fd) int tcp = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(one >= 0 && two >= 0);
	assert_int_equal(first.port, second.port);
	c.reuse_port = false;
	assert_int_equal(udp_open(&c, &second), -EADDRINUSE);
	assert_int_equal(udp_inspect(two, &seen), 0);
	assert_int_equal(endpoint_cmp(&seen, &first), 0);
	assert_int_equal(udp_inspect(tcp, &seen), -EINVAL);
}

static void what_the_kernel_drops_is_counted(void **state)
{
	static char bytes[30000];
	const struct udp_config c = { .at = at("127.0.0.1:0"), .received = 4096 };
	struct endpoint bound;
	_cleanup_(cleanup_fd) int fd = udp_open(&c, &bound);
	_cleanup_(cleanup_fd) int client = client_of("127.0.0.1:1", bound.port);

	assert_int_equal(udp_dropped(fd), 0);
	for (int i = 0; i < 10; i++)
		say(client, bytes, sizeof(bytes));
	assert_true(udp_dropped(fd) > 0);
}

static void a_path_needs_ends_of_one_family(void **state)
{
	const struct endpoint peer = at("192.0.2.1:53"), other = at("[2001:db8::1]:53");
	const struct addr none = { 0 };
	struct udp_path p;

	assert_int_equal(udp_path_make(AF_INET, &other, &none, 0, &p), -EINVAL);
	assert_int_equal(udp_path_make(AF_INET6, &peer, &other.addr, 0, &p), -EINVAL);
	assert_int_equal(udp_path_make(AF_INET6, &(struct endpoint){ 0 }, &none, 0, &p), -EINVAL);
	assert_int_equal(udp_path_make(AF_INET6, &peer, &peer.addr, 0, &p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_has_datagrams_in_order_and_empty_ones),
		cmocka_unit_test(one_message_is_received_alone),
		cmocka_unit_test(the_largest_datagram_is_whole),
		cmocka_unit_test(answers_leave_from_the_address_that_was_asked),
		cmocka_unit_test(several_clients_get_their_answers_in_one_call),
		cmocka_unit_test(joined_datagrams_arrive_one_by_one),
		cmocka_unit_test(a_run_of_one_size_is_one_message),
		cmocka_unit_test(what_cannot_be_joined_is_sent_alone),
		cmocka_unit_test(a_closed_port_is_reported),
		cmocka_unit_test(the_one_that_failed_is_known),
		cmocka_unit_test(sockets_share_a_port_and_others_do_not_get_it),
		cmocka_unit_test(what_the_kernel_drops_is_counted),
		cmocka_unit_test(a_path_needs_ends_of_one_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
