/* SPDX-License-Identifier: Apache-2.0 */
/* Which ports are probed, and whether they are those that are served. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/validate_fixture.h"

#define CONN_KEY "maglev.healthchecks.conn."

/* The check `conn`, of backend six in frontend six (udp 53), asks for the ports of frontends. */
static void by_vip(struct fixture *f)
{
	f->check[CONN].port.set = false;
	set_text(f, &f->check[CONN].ports, "vip");
}

static void by_vip_over_udp(struct fixture *f)
{
	by_vip(f);
	set_text(f, &f->check[CONN].type, "udp");
	set_text(f, &f->check[CONN].params.send, "x");
}

static void nobody_is_asked(struct fixture *f)
{
	by_vip(f);
	f->touched = f->backend[SIX].healthcheck.at;
}

static void a_ping_of_ports(struct fixture *f)
{
	f->check[PING].port.set = false;
}

static void ports_are_those_of_frontends(void **state)
{
	static const struct row bad[] = {
		SET_TEXT(NULL, check[CONN].ports, "vip", CONN_KEY "ports", "is given beside port"),
		SET_TEXT(by_vip, check[CONN].ports, "all", CONN_KEY "ports", "\"all\" is not vip"),
		SET_TEXT(by_vip, check[CONN].ports, "given", CONN_KEY "ports", "is not vip"),
		SET_TEXT(a_ping_of_ports, check[PING].ports, "vip",
			 "maglev.healthchecks.ping.ports", "icmp has no ports"),
		JUST(nobody_is_asked, "maglev.backends.six.healthcheck",
		     "no frontend with a port of tcp has this backend"),
	};
	static const struct row good[] = {
		JUST(by_vip_over_udp, NULL, NULL),
	};

	EACH(bad, assert_refused);
	EACH(good, assert_accepted);
}

/* each port once, ascending, whatever the number of VIPs that have it */
static void every_port_is_probed_once(void **state)
{
	struct doc_frontend more[6];
	const struct l4_backend *b;
	struct fixture f;

	fixture_begin(&f);
	by_vip_over_udp(&f);
	for (size_t i = 0; i < ARRAY_SIZE(more); i++)
		more[i] = f.frontend[i < 3 ? i : F_SIX];
	more[3].name = "a";
	set_text(&f, &more[3].address, "2001:db8::a");
	set_number(&f, &more[3].port, 5353);
	more[4].name = "b";
	set_text(&f, &more[4].address, "2001:db8::b");
	more[5].name = "c";
	set_text(&f, &more[5].address, "2001:db8::c");
	set_text(&f, &more[5].protocol, "tcp"); /* not for datagrams */
	set_number(&f, &more[5].port, 1);
	f.doc.frontends = more;
	f.doc.n_frontends = ARRAY_SIZE(more);
	assert_clean(&f);
	b = &f.config.backends[l4_config_backend(&f.config, "six")];
	assert_int_equal(b->n_ports, 2);
	assert_int_equal(b->ports[0], 53);
	assert_int_equal(b->ports[1], 5353);
	assert_int_equal(b->check->port, 0);
	assert_int_equal(f.config.backends[l4_config_backend(&f.config, "web1")].n_ports, 0);
	fixture_end(&f);
}

static void another_port(struct fixture *f)
{
	f->touched = f->check[CONN].port.at;
}

static void a_check_of_another_port_is_doubted(void **state)
{
	static const struct row doubtful[] = {
		SET_NUMBER(another_port, check[CONN].port, 8080, CONN_KEY "port",
			   "8080 is not the port of a frontend with backend \"six\""),
	};
	static const struct row fine[] = {
		SET_NUMBER(NULL, check[CONN].port, 53, NULL, NULL),
		/* frontend all serves every port of web1 */
		SET_NUMBER(NULL, check[WEB].port, 9999, NULL, NULL),
	};

	EACH(doubtful, assert_doubted);
	EACH(fine, assert_accepted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_those_of_frontends),
		cmocka_unit_test(every_port_is_probed_once),
		cmocka_unit_test(a_check_of_another_port_is_doubted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
