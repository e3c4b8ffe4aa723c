/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevc/render.h"
#include "src/maglevc/testing.h"

#define AT "2026-04-15T09:30:00Z  "
#define S(text) ((char *)(uintptr_t)(text))

static void check_with(const struct render *with, render_fn render, const void *message,
		       const char *want)
{
	_cleanup_(buf_free) struct buf out = { 0 }, err = { 0 };
	struct render r = *with;

	r.out = &out;
	r.err = &err;
	render(message, &r);
	assert_string_equal(buf_cstr(&out), want);
	assert_string_equal(buf_cstr(&err), "");
}

static void check(const Maglev__Event *e, const char *want)
{
	check_with(&(struct render){ .now = TESTING_NOW }, render_event, e, want);
}

static Maglev__Event event(Maglev__Event__EventCase kind)
{
	Maglev__Event e;

	maglev__event__init(&e);
	e.at = TESTING_NOW;
	e.event_case = kind;
	return e;
}

static void a_change_says_from_what_to_what_and_why(void **state)
{
	Maglev__Event e = event(MAGLEV__EVENT__EVENT_BACKEND);
	Maglev__BackendEvent b;

	maglev__backend_event__init(&b);
	e.backend = &b;
	b.backend = S("web1");
	b.frontend = S("www");
	b.from = S("up");
	b.to = S("down");
	b.code = S("L4CON");
	b.reason = S("connection refused");
	check(&e,
	      AT "backend       web1                  up -> down      L4CON: connection refused, "
		 "in www\n");
	b.from = b.to = b.code = S("paused");
	b.reason = S("new \x1b[31mdisk");
	b.frontend = S("");
	b.replay = true;
	check(&e, AT "backend       web1                  is paused       new \\x1b[31mdisk\n");
}

static void a_state_has_its_colour(void **state)
{
	Maglev__Event e = event(MAGLEV__EVENT__EVENT_FRONTEND);
	Maglev__FrontendEvent f;

	maglev__frontend_event__init(&f);
	e.frontend = &f;
	f.frontend = S("www");
	f.from = S("up");
	f.to = S("down");
	check(&e, AT "frontend      www                   up -> down\n");
	check_with(&(struct render){ .color = true, .server = "lb1:9090", .server_width = 10 },
		   render_event, &e,
		   "\033[34mlb1:9090  \033[0m  " AT "\033[34mfrontend    \033[0m  "
		   "www                   \033[31mup -> down\033[0m\n");
}

static void a_file_is_taken_or_refused(void **state)
{
	Maglev__Event e = event(MAGLEV__EVENT__EVENT_CONFIG);
	Maglev__ConfigEvent c;

	maglev__config_event__init(&c);
	e.config = &c;
	c.generation = 2;
	c.ok = true;
	c.frontends = 3;
	c.backends = 5;
	c.healthchecks = 1;
	c.backends_added = 1;
	check(&e,
	      AT "config        generation 2          frontends 3, backends 5, health checks 1  "
		 "backends: 1 added, 0 removed, 0 changed\n");
	c.ok = false;
	c.error = S("maglev.yaml:3:5: port: not a number");
	c.errors = 2;
	check(&e,
	      AT "config        generation 2          refused: maglev.yaml:3:5: port: not a number "
		 "(and more)\n");
}

static void the_data_plane_says_what_it_did(void **state)
{
	Maglev__Event e = event(MAGLEV__EVENT__EVENT_DATAPLANE);
	Maglev__DataplaneEvent__OperationsEntry op, *ops[] = { &op };
	Maglev__DataplaneEvent d;

	maglev__dataplane_event__init(&d);
	maglev__dataplane_event__operations_entry__init(&op);
	e.dataplane = &d;
	d.dataplane = S("xdp");
	d.change = S("synced");
	d.connected = true;
	d.scope = S("all");
	d.vips = 3;
	op.key = S("as-weight");
	op.value = 2;
	d.operations = ops;
	d.n_operations = 1;
	check(&e, AT "dataplane     xdp                   synced  2 as-weight, 3 VIPs compared\n");
	maglev__dataplane_event__init(&d);
	d.dataplane = S("xdp");
	d.status = S("degraded");
	d.warmup = S("done");
	d.problem = S("eth1 is missing");
	d.connected = d.replay = true;
	check(&e, AT
	      "dataplane     xdp                   is degraded  warm-up done, eth1 is missing\n");
}

static void a_line_of_the_log_has_its_values(void **state)
{
	Maglev__Event e = event(MAGLEV__EVENT__EVENT_LOG);
	Maglev__LogEvent__AttrsEntry one, two, *attrs[] = { &one, &two };
	Maglev__LogEvent l;

	maglev__log_event__init(&l);
	maglev__log_event__attrs_entry__init(&one);
	maglev__log_event__attrs_entry__init(&two);
	e.log = &l;
	l.level = S("warn");
	l.msg = S("config-refused");
	one.key = S("file");
	one.value = S("x.yaml");
	two.key = S("errors");
	two.value = S("2");
	l.attrs = attrs;
	l.n_attrs = 2;
	check(&e, AT "log           config-refused        warn   file=x.yaml errors=2\n");
}

static void probes_are_a_line_each(void **state)
{
	Maglev__Event e = event(MAGLEV__EVENT__EVENT_PROBES);
	Maglev__ProbeInfo a, b, *both[] = { &a, &b };
	Maglev__ProbesEvent p;

	maglev__probes_event__init(&p);
	maglev__probe_info__init(&a);
	maglev__probe_info__init(&b);
	e.probes = &p;
	p.probes = both;
	p.n_probes = 2;
	a.name = S("web1");
	b.name = S("web2");
	a.last_code = S("L7OK");
	b.last_code = S("L4TOUT");
	b.last_reason = S("timed out");
	a.counter = 4;
	a.last_probe = b.last_probe = TESTING_NOW;
	a.last_duration = 1234567;
	b.last_duration = NSEC_PER_SEC;
	check(&e, AT "probe         web1                  L7OK    in 1.234ms, counter 4\n" AT
		     "probe         web2                  L4TOUT  in 1s, counter 0, timed out\n");
}

static void infos_are_summed_up(void **state)
{
	Maglev__Event e = event(MAGLEV__EVENT__EVENT_BACKEND_INFO);

	e.backend_info = testing_disabled();
	check(&e, AT
	      "back-info     web2                  is disabled  10.0.0.12, counter 0, last L7STS  "
	      "[disabled until 2026-04-15T10:20:00Z] new disk\n");
	e = event(MAGLEV__EVENT__EVENT_FRONTEND_INFO);
	e.frontend_info = testing_frontend();
	check(&e, AT "front-info    www                   is up  198.51.100.10:80/tcp, active pool "
		     "primary\n");
	e = event(MAGLEV__EVENT__EVENT__NOT_SET);
	check(&e, "");
}

static void a_speaker_and_a_router_have_lines_of_their_own(void **state)
{
	const struct render r = { .now = TESTING_NOW };
	Maglev__SpeakerEvent s;
	Maglev__RouterEvent t;

	maglev__speaker_event__init(&s);
	maglev__router_event__init(&t);
	s.at = t.at = TESTING_NOW;
	s.event_case = MAGLEV__SPEAKER_EVENT__EVENT_SESSION;
	s.session = testing_sessions()->sessions[0];
	check_with(&r, render_speaker_event, &s,
		   AT "session       tor1                  is up  10.0.0.2 Established, 1 prefixes "
		      "sent\n");
	t.event_case = MAGLEV__ROUTER_EVENT__EVENT_POOL;
	t.pool = testing_pools()->pools[1];
	check_with(&r, render_router_event, &t,
		   AT "pool          green                 0/0 servers\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_says_from_what_to_what_and_why),
		cmocka_unit_test(a_state_has_its_colour),
		cmocka_unit_test(a_file_is_taken_or_refused),
		cmocka_unit_test(the_data_plane_says_what_it_did),
		cmocka_unit_test(a_line_of_the_log_has_its_values),
		cmocka_unit_test(probes_are_a_line_each),
		cmocka_unit_test(infos_are_summed_up),
		cmocka_unit_test(a_speaker_and_a_router_have_lines_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
