/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets with real packets: a cable between two namespaces, which this process enters only
 * while a socket is opened.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/l2/heartbeat.h"
#include "lib/l2/links.h"
#include "lib/l2/responder.h"

#define KEY STR("a key that both know")
#define PATIENCE 20.0 /* s */

static struct net_ns one, two;
static struct ev_loop *loop;

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool run(const char *format, ...)
{
	char command[256];
	va_list words;

	va_start(words, format);
	vsnprintf(command, sizeof(command), format, words);
	va_end(words);
	return system(command) == 0;
}

/* Without duplicate address detection, so that addresses can be used at once. */
static bool make_namespace(struct net_ns *ns, const char *tag)
{
	char name[64];

	snprintf(name, sizeof(name), "l2-test-%d-%s", (int)getpid(), tag);
	net_ns_init(ns, name);
	return run("ip netns add %s 2>/dev/null && ip netns exec %s sh -c "
		   "'echo 0 > /proc/sys/net/ipv6/conf/default/dad_transmits'",
		   name, name);
}

static bool set_up(const struct net_ns *ns, unsigned number)
{
	return run("ip -n %s link set eth0 up && ip -n %s addr add 10.79.0.%u/24 dev eth0 && "
		   "ip -n %s addr add fd79::%u/64 dev eth0 nodad",
		   ns->name, ns->name, number, ns->name, number);
}

static int make_cable(void **state)
{
	loop = ev_loop_new(0);
	if (geteuid() != 0 || !make_namespace(&one, "one") || !make_namespace(&two, "two"))
		return 0; /* needs_namespaces() says so */
	return run("ip link add eth0 netns %s type veth peer name eth0 netns %s", one.name,
		   two.name) && set_up(&one, 1) &&
			       set_up(&two, 2)
		       ? 0
		       : -1;
}

static int remove_cable(void **state)
{
	run("ip netns del %s 2>/dev/null", one.name);
	run("ip netns del %s 2>/dev/null", two.name);
	net_ns_free(&one);
	net_ns_free(&two);
	ev_loop_destroy(loop);
	return 0;
}

static void needs_namespaces(void)
{
	if (geteuid() != 0 || access(one.path, F_OK) != 0) {
		print_message("# needs root and ip netns\n");
		skip();
	}
}

static void on_late(struct ev_loop *l, ev_timer *w, int events)
{
	ev_break(l, EVBREAK_ALL);
}

/* Runs the loop until *n is at least wanted. */
static void wait_for(const uint64_t *n, uint64_t wanted)
{
	ev_timer guard;

	ev_timer_init(&guard, on_late, PATIENCE, 0);
	ev_now_update(loop);
	ev_timer_start(loop, &guard);
	while (*n < wanted && ev_is_active(&guard))
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &guard);
	assert_true(*n >= wanted);
}

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

/* ---- heartbeats ---- */

static uint64_t n_vips;

static void on_heard(const struct l2_beat *b, void *user)
{
	assert_string_equal(b->name, "one");
	n_vips += b->n;
}

static const struct l2_heartbeat_events heartbeat_events = { .heard = on_heard };

static int open_heartbeat(struct l2_heartbeat *h, struct net_ns *ns, uint8_t family,
			  const char *interface)
{
	const struct l2_heartbeat_config config = { .ns = ns,
						    .interface = interface,
						    .family = family,
						    .port = L2_HEARTBEAT_PORT,
						    .name = ns == &one ? "one" : "two",
						    .key = KEY,
						    .boot = 1 };

	return l2_heartbeat_open(h, loop, &config, &heartbeat_events, NULL);
}

static void many_vips_go_in_several_heartbeats(void **state)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };

	needs_namespaces();
	for (size_t f = 0; f < sizeof(families); f++) {
		struct l2_beat_vip vips[2 * L2_BEAT_VIPS + 4];
		struct l2_heartbeat from, to;
		size_t n = sizeof(vips) / sizeof(vips[0]);

		for (size_t i = 0; i < n; i++)
			vips[i] = (struct l2_beat_vip){ .vip = address("fd79::100") };
		n_vips = 0;
		assert_int_equal(open_heartbeat(&from, &one, families[f], "eth0"), 0);
		assert_int_equal(open_heartbeat(&to, &two, families[f], "eth0"), 0);
		assert_int_equal(l2_heartbeat_send(&from, vips, n, 200), 0);
		wait_for(&n_vips, n);
		assert_int_equal(n_vips, n);
		assert_int_equal(from.stats.sent, 3);
		assert_int_equal(to.stats.received, 3);
		/* one that has nothing to say about VIPs is heard as well */
		assert_int_equal(l2_heartbeat_send(&from, NULL, 0, 200), 0);
		wait_for(&to.stats.received, 4);
		assert_int_equal(from.stats.received, 0); /* not its own */
		l2_heartbeat_close(&from);
		l2_heartbeat_close(&to);
		l2_heartbeat_close(&to);
	}
}

/* The same boot: the interface was away, but the program was not started again. */
static void a_member_that_opens_its_socket_again_is_heard(void **state)
{
	struct l2_heartbeat from, to;

	needs_namespaces();
	assert_int_equal(open_heartbeat(&to, &two, AF_INET, "eth0"), 0);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(open_heartbeat(&from, &one, AF_INET, "eth0"), 0);
		l2_heartbeat_send(&from, NULL, 0, 200);
		wait_for(&to.stats.received, i);
		l2_heartbeat_close(&from);
	}
	l2_heartbeat_close(&to);
}

static void what_has_arrived_is_read_on_request(void **state)
{
	struct l2_heartbeat from, to;

	needs_namespaces();
	assert_int_equal(open_heartbeat(&from, &one, AF_INET, "eth0"), 0);
	assert_int_equal(open_heartbeat(&to, &two, AF_INET, "eth0"), 0);
	for (unsigned i = 0; i < 5; i++)
		l2_heartbeat_send(&from, NULL, 0, 200);
	l2_heartbeat_look(&to); /* a veth delivers within the call */
	assert_int_equal(to.stats.received, 5);
	l2_heartbeat_close(&from);
	l2_heartbeat_close(&to);
}

static void an_interface_that_is_not_there_is_an_error(void **state)
{
	struct l2_responder r;
	struct l2_heartbeat h;

	needs_namespaces();
	assert_int_equal(open_heartbeat(&h, &one, AF_INET, "eth7"), -ENODEV);
	l2_heartbeat_close(&h);
	assert_int_equal(l2_responder_open(&r, loop, &one, "eth7"), -ENODEV);
	assert_int_equal(l2_responder_open(&r, loop, &one, "a-name-that-is-too-long"), -ENODEV);
	assert_int_equal(l2_responder_open(&r, loop, &one, "lo"), -EOPNOTSUPP);
}

/* ---- the responder ---- */

/* The kernel of the other end has to ask for the address before it can send this. */
static void send_to(const struct addr *vip)
{
	const struct endpoint e = { *vip, 9 };
	struct sockaddr_storage to;
	socklen_t len = endpoint_to_sockaddr(&e, &to);
	bool entered;
	int fd = net_socket(&two, vip->family, SOCK_DGRAM, 0, &entered);

	assert_true(fd >= 0);
	assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len), 1);
	close(fd);
}

static void questions_for_claimed_vips_are_answered_and_counted(void **state)
{
	static const char *const vips[] = { "10.79.0.100", "fd79::100" };
	struct l2_responder r;

	needs_namespaces();
	assert_int_equal(l2_responder_open(&r, loop, &one, "eth0"), 0);
	for (size_t i = 0; i < 2; i++) {
		struct addr vip = address(vips[i]);
		const struct l2_claim *c;

		assert_int_equal(l2_responder_claim(&r, &vip), 0);
		c = l2_responder_find(&r, &vip);
		wait_for(&c->announcements, 1);
		send_to(&vip);
		wait_for(&c->answers, 1);
		assert_true(c->requests >= 1);
		assert_true(run("ip -n %s neigh show %s | grep -q lladdr", two.name, vips[i]));
		l2_responder_release(&r, &vip);
		assert_null(l2_responder_find(&r, &vip));
		l2_responder_release(&r, &vip);
	}
	assert_int_equal(r.failed, 0);
	l2_responder_close(&r);
}

static void thousands_of_vips_are_announced_in_steps(void **state)
{
	struct l2_responder r;
	struct addr vip = address("fd79::ff00:1"), last;

	needs_namespaces();
	assert_int_equal(l2_responder_open(&r, loop, &one, "eth0"), 0);
	for (unsigned i = 0; i < L2_CLAIMS_MAX; i++) {
		vip.bytes[10] = (uint8_t)(i >> 8);
		vip.bytes[11] = (uint8_t)i;
		assert_int_equal(l2_responder_claim(&r, &vip), 0);
	}
	last = address("10.79.0.100"); /* sorts first, but there is no room */
	assert_int_equal(l2_responder_claim(&r, &last), -ENOSPC);
	wait_for(&l2_responder_find(&r, &vip)->announcements, 1);
	for (size_t i = 0; i < r.claims.n; i++)
		assert_int_equal(r.claims.items[i].announcements, 1);
	assert_int_equal(l2_responder_claim(&r, &vip), 0); /* again, which needs no room */
	wait_for(&l2_responder_find(&r, &vip)->announcements, 2);
	l2_responder_close(&r);
}

static bool is_in_group(const char *group)
{
	return run("ip -n %s maddr show dev eth0 | grep -q %s", one.name, group);
}

/* These two have the same last three bytes, and so the same group. */
static void a_group_is_left_with_its_last_address(void **state)
{
	struct addr first = address("fd79::aa:1234:5678"), second = address("fd79::bb:1234:5678");
	struct l2_responder r;

	needs_namespaces();
	assert_int_equal(l2_responder_open(&r, loop, &one, "eth0"), 0);
	assert_int_equal(l2_responder_claim(&r, &first), 0);
	assert_int_equal(l2_responder_claim(&r, &second), 0);
	assert_true(is_in_group("ff02::1:ff34:5678"));
	l2_responder_release(&r, &first);
	assert_true(is_in_group("ff02::1:ff34:5678"));
	l2_responder_release(&r, &second);
	assert_false(is_in_group("ff02::1:ff34:5678"));
	l2_responder_close(&r);
}

static void on_tick(struct ev_loop *l, ev_timer *w, int events)
{
}

/* The kernel updates this flag a moment after the cable. */
static void wait_until_up(struct l2_responder *r, bool wanted)
{
	ev_timer guard, tick;

	ev_timer_init(&guard, on_late, PATIENCE, 0);
	ev_timer_init(&tick, on_tick, 0.01, 0.01);
	ev_now_update(loop);
	ev_timer_start(loop, &guard);
	ev_timer_start(loop, &tick);
	while ((l2_responder_check(r) == 0) != wanted && ev_is_active(&guard))
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &guard);
	ev_timer_stop(loop, &tick);
	assert_int_equal(l2_responder_check(r), wanted ? 0 : -ENETDOWN);
}

static void a_cable_without_the_other_end_is_not_up(void **state)
{
	struct l2_responder r;

	needs_namespaces();
	assert_int_equal(l2_responder_open(&r, loop, &one, "eth0"), 0);
	assert_true(run("ip -n %s link set eth0 down", two.name));
	wait_until_up(&r, false);
	assert_true(run("ip -n %s link set eth0 up", two.name));
	wait_until_up(&r, true);
	l2_responder_close(&r);
}

static bool add_cable(void)
{
	return run("ip -n %s link add eth1 up type veth peer name eth2", one.name) &&
	       run("ip -n %s link set eth2 up", one.name);
}

static void an_interface_that_was_created_again_is_another_one(void **state)
{
	struct l2_responder r;

	needs_namespaces();
	assert_true(add_cable());
	assert_int_equal(l2_responder_open(&r, loop, &one, "eth1"), 0);
	wait_until_up(&r, true);
	assert_true(run("ip -n %s link del eth1", one.name));
	assert_int_equal(l2_responder_check(&r), -ENODEV);
	assert_true(add_cable());
	assert_int_equal(l2_responder_check(&r), -ENODEV);
	l2_responder_close(&r);
	assert_int_equal(l2_responder_open(&r, loop, &one, "eth1"), 0);
	wait_until_up(&r, true);
	l2_responder_close(&r);
}

/* Not the loopback, a port of a bridge, or an interface that is down or resolves no addresses. */
static void links_are_those_that_can_announce(void **state)
{
	struct l2_links links = { 0 };

	needs_namespaces();
	assert_true(run("ip -n %s link add br0 type bridge && ip -n %s link set br0 up && "
			"ip -n %s link add v0 type veth peer name v1 && "
			"ip -n %s link set v0 master br0 up",
			one.name, one.name, one.name, one.name));
	assert_true(run("ip -n %s link set v1 up arp off", one.name));
	assert_int_equal(l2_links_read(&links, &one), 0);
	assert_non_null(l2_links_find(&links, "br0"));
	assert_non_null(l2_links_find(&links, "eth0"));
	assert_null(l2_links_find(&links, "v0"));
	assert_null(l2_links_find(&links, "v1"));
	assert_null(l2_links_find(&links, "lo"));
	assert_true(run("ip -n %s link set v1 arp on", one.name));
	assert_int_equal(l2_links_read(&links, &one), 0);
	assert_non_null(l2_links_find(&links, "v1"));
	l2_links_free(&links);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_vips_go_in_several_heartbeats),
		cmocka_unit_test(a_member_that_opens_its_socket_again_is_heard),
		cmocka_unit_test(what_has_arrived_is_read_on_request),
		cmocka_unit_test(an_interface_that_is_not_there_is_an_error),
		cmocka_unit_test(questions_for_claimed_vips_are_answered_and_counted),
		cmocka_unit_test(thousands_of_vips_are_announced_in_steps),
		cmocka_unit_test(a_group_is_left_with_its_last_address),
		cmocka_unit_test(a_cable_without_the_other_end_is_not_up),
		cmocka_unit_test(an_interface_that_was_created_again_is_another_one),
		cmocka_unit_test(links_are_those_that_can_announce),
	};

	return cmocka_run_group_tests(tests, make_cable, remove_cable);
}
