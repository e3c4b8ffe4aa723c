/* SPDX-License-Identifier: Apache-2.0 */
/* VIPs, their balancers and servers: what is shown, and which sentence says why it is broken. */
#include "core/way/way.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/way/fixture.h"

#define RT1 0
#define WEB1 1
#define WEB2 2

/* ---- a way that is whole ---- */

static void a_whole_way_has_every_step_in_the_order_of_a_packet(void **state)
{
	static const struct {
		enum way_kind kind;
		unsigned depth;
		const char *place, *name;
	} wanted[] = {
		{ WAY_VIP, 0, "", "198.51.100.10:80/tcp" }, { WAY_BALANCER, 1, "lb1", "lb1" },
		{ WAY_ANNOUNCEMENT, 2, "lb1", "www" },	    { WAY_SESSION, 3, "lb1", "tor" },
		{ WAY_FRONTEND, 2, "lb1", "www" },	    { WAY_POOL, 3, "lb1", "primary" },
		{ WAY_BACKEND, 4, "lb1", "web1" },	    { WAY_BACKEND, 4, "lb1", "web2" },
		{ WAY_POOL, 3, "lb1", "fallback" },	    { WAY_BACKEND, 4, "lb1", "web9" },
		{ WAY_BALANCER, 1, "lb2", "lb2" },
	};
	struct fixture *f = *state;
	struct way way = fixture_ask(f, "198.51.100.10");

	assert_int_equal(way.state, WAY_GOOD);
	assert_true(way_is_whole(&way));
	assert_string_equal(way.why, "");
	assert_int_equal(way.broken, SIZE_MAX);
	assert_int_equal(way.n_notes, 0);
	assert_int_equal(way.n, 19);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_int_equal(way.steps[i].kind, wanted[i].kind);
		assert_int_equal(way.steps[i].depth, wanted[i].depth);
		assert_string_equal(way.steps[i].place, wanted[i].place);
		assert_string_equal(way.steps[i].name, wanted[i].name);
	}
	assert_int_equal(way.steps[2].since, 3);
	assert_string_equal(way.steps[2].reason, "announced to tor");
	assert_true(way.steps[4].traffic.known);
	assert_true(way.steps[6].share == .5);
	assert_int_equal(way.steps[8].state, WAY_IDLE);
}

static void the_same_way_is_found_by_address_port_and_names(void **state)
{
	static const char *const queries[] = { "198.51.100.10:80", "198.51.100.10:80/tcp", "www" };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		struct way way = fixture_ask(f, queries[i]);

		assert_int_equal(way.n, 19);
		assert_int_equal(way.state, WAY_GOOD);
	}
}

static void the_name_of_a_speakers_vip_finds_its_frontends(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->announcements[0][1].vip = "public";
	way = fixture_ask(f, "public");
	assert_string_equal(fixture_steps(f, &way, WAY_VIP), "198.51.100.10:80/tcp good");
}

static void a_backend_is_shown_alone_in_its_frontends(void **state)
{
	struct fixture *f = *state;
	struct way by_name = fixture_ask(f, "web1"), by_address = fixture_ask(f, "10.0.11.2");

	assert_string_equal(fixture_steps(f, &by_name, WAY_BACKEND),
			    "lb1/web1 good, lb2/web1 good");
	assert_string_equal(fixture_steps(f, &by_address, WAY_BACKEND),
			    "lb1/web1 good, lb2/web1 good");
}

/* ---- announcements ---- */

static void withdraw(struct fixture *f, size_t lb, const char *summary)
{
	f->announcements[lb][1].attracts = false;
	f->announcements[lb][1].state = "withdrawn";
	f->announcements[lb][1].summary = summary;
}

static void a_vip_that_nobody_announces_says_why_of_each(void **state)
{
	struct fixture *f = *state;
	struct way way;

	withdraw(f, 0, "withdrawn: local has not answered yet");
	withdraw(f, 1, "withdrawn: local has not answered yet");
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why,
			    "nobody announces 198.51.100.10: lb1, lb2: withdrawn: local has "
			    "not answered yet");
	assert_int_equal(way.broken, 0);
	assert_string_equal(fixture_steps(f, &way, WAY_BALANCER), "lb1/lb1 broken, lb2/lb2 broken");
}

static void a_drained_balancer_is_idle_while_another_announces(void **state)
{
	struct fixture *f = *state;
	struct way way;

	withdraw(f, 0, "withdrawn: drained, new switch");
	f->announcements[0][1].drained = true;
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_GOOD);
	assert_string_equal(fixture_steps(f, &way, WAY_BALANCER), "lb1/lb1 idle, lb2/lb2 good");
	assert_string_equal(way.steps[1].word, "does not attract it");
}

static void a_vip_drained_everywhere_is_broken_by_the_drain(void **state)
{
	struct fixture *f = *state;
	struct way way;

	for (size_t i = 0; i < LBS; i++) {
		withdraw(f, i, "withdrawn: drained, new switch");
		f->announcements[i][1].drained = true;
	}
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_BROKEN);
	fixture_has(way.why,
		    "nobody announces 198.51.100.10: lb1, lb2: withdrawn: drained, new switch");
}

static void a_session_that_is_down_says_why(void **state)
{
	struct fixture *f = *state;
	struct way way;

	for (size_t i = 0; i < LBS; i++) {
		f->sessions[i][0] =
			(struct way_session){ "tor", false, "Active", "Hold Timer Expired", 5 };
		f->announcements[i][1].attracts = false;
		f->announcements[i][1].summary = "announced, but no session is up";
	}
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_BROKEN);
	fixture_has(way.why, "announced, but no session is up (tor is Active: Hold Timer Expired)");
	assert_string_equal(fixture_steps(f, &way, WAY_SESSION), "lb1/tor broken, lb2/tor broken");
}

static void one_session_of_two_balancers_costs_nothing_but_is_poor(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->sessions[0][0].up = false;
	f->announcements[0][1].attracts = false;
	f->announcements[0][1].summary = "announced, but no session is up";
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_POOR);
	assert_true(way_is_whole(&way));
}

static void a_member_that_stands_by_is_idle(void **state)
{
	struct fixture *f = *state;
	struct way_announcement *a = &f->announcements[1][1];
	struct way way;

	a->attracts = false;
	a->standby = true;
	a->owner = "lb1";
	a->summary = "standby, lb1 owns it";
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_GOOD);
	assert_string_equal(fixture_steps(f, &way, WAY_ANNOUNCEMENT), "lb1/www good, lb2/www idle");
}

static void without_speakers_it_is_not_known_who_attracts(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->facts.n_speakers = 0;
	way = fixture_ask(f, "198.51.100.10");
	assert_true(way_is_whole(&way));
	fixture_has(fixture_notes(f, &way), "no speaker was asked: it is not known who attracts");
}

static void a_speaker_without_contact_is_not_taken_for_a_withdrawal(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->speakers[0].source.connected = f->speakers[1].source.connected = false;
	f->speakers[0].source.error = f->speakers[1].source.error = "connection refused";
	way = fixture_ask(f, "198.51.100.10");
	assert_true(way_is_whole(&way));
	assert_string_equal(fixture_steps(f, &way, WAY_ANNOUNCEMENT),
			    "lb1/www unknown, lb2/www unknown");
}

static void a_speaker_is_found_by_the_maglevd_that_it_follows(void **state)
{
	struct fixture *f = *state;
	const char *follows[] = { "127.0.0.1:9090" };
	struct way way;

	f->speakers[1].source.name = "elsewhere";
	f->speakers[1].source.address = "192.0.2.9:9095";
	f->speakers[1].maglevds = follows;
	f->speakers[1].n_maglevds = 1;
	f->maglevds[1].source.address = "127.0.0.1:9090";
	way = fixture_ask(f, "198.51.100.10");
	assert_string_equal(fixture_steps(f, &way, WAY_BALANCER), "lb1/lb1 good, lb2/lb2 good");
	assert_string_equal(fixture_steps(f, &way, WAY_ANNOUNCEMENT),
			    "lb1/www good, elsewhere/www good");
}

/* ---- frontends ---- */

static void take_all_down(struct fixture *f, size_t lb)
{
	for (size_t i = WEB1; i <= WEB2 + 1; i++)
		fixture_down(f, lb, i, "L4CON", "connection refused");
	f->frontends[lb][1].state = "down";
	f->pools[lb][0].active = false;
}

static void a_frontend_that_is_down_names_its_servers_and_their_reasons(void **state)
{
	struct fixture *f = *state;
	struct way way;

	for (size_t i = 0; i < LBS; i++) {
		take_all_down(f, i);
		withdraw(f, i, "withdrawn: local/www is down");
	}
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_BROKEN);
	fixture_has(way.why,
		    "nobody announces 198.51.100.10: lb1, lb2: withdrawn: local/www is down; no "
		    "server can be used: web1 down (L4CON connection refused), web2 down");
	assert_string_equal(fixture_steps(f, &way, WAY_FRONTEND), "lb1/www broken, lb2/www broken");
}

static void a_balancer_that_attracts_what_it_cannot_serve_loses_a_part(void **state)
{
	struct fixture *f = *state;
	struct way way;

	take_all_down(f, 1);
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_LOSSY);
	assert_false(way_is_whole(&way));
	fixture_has(way.why, "frontend www at lb2 is down: no server can be used: web1 down");
	assert_int_equal(way.steps[way.broken].kind, WAY_FRONTEND);
	assert_string_equal(way.steps[way.broken].place, "lb2");
}

static void a_paused_server_says_who_paused_it_and_why(void **state)
{
	struct fixture *f = *state;
	struct way way;

	for (size_t i = 0; i < LBS; i++) {
		f->backends[i][WEB1].state = f->primary[i][0].state = "paused";
		f->backends[i][WEB1].override_reason = "new disk";
		f->primary[i][0].effective_weight = 0;
	}
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_GOOD);
	assert_string_equal(fixture_steps(f, &way, WAY_BACKEND),
			    "lb1/web1 idle, lb1/web2 good, lb1/web9 good, lb2/web1 idle, lb2/web2 "
			    "good, lb2/web9 good");
	assert_string_equal(way.steps[6].reason, "by an operator: new disk");
	assert_true(way.steps[6].share == 0);
}

static void an_active_fallback_is_poor_and_says_why(void **state)
{
	struct fixture *f = *state;
	struct way way;

	for (size_t i = 0; i < LBS; i++) {
		fixture_down(f, i, WEB1, "L7STS", "status 503 not in 200-399");
		fixture_down(f, i, WEB2, "L4TOUT", "");
		f->pools[i][0].active = false;
		f->pools[i][1].active = true;
		f->fallback[i][0].effective_weight = 100;
	}
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_POOR);
	assert_string_equal(way.why, "");
	fixture_has(fixture_notes(f, &way),
		    "frontend www at lb1: pool fallback is active, because the servers before it "
		    "cannot be "
		    "used: web1 down (L7STS status 503 not in 200-399), web2 down (L4TOUT)");
	assert_string_equal(
		fixture_steps(f, &way, WAY_POOL),
		"lb1/primary broken, lb1/fallback good, lb2/primary broken, lb2/fallback "
		"good");
}

static void a_data_plane_that_is_not_connected_breaks_the_way(void **state)
{
	struct fixture *f = *state;
	struct way way;

	for (size_t i = 0; i < LBS; i++) {
		f->maglevds[i].dataplane = "vpp";
		f->maglevds[i].plane_connected = false;
		f->maglevds[i].plane_problem = "VPP does not answer";
	}
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why,
			    "the data plane vpp of lb1 is not connected: VPP does not answer");
}

static void a_data_plane_none_forwards_nothing(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->facts.n_maglevds = 1;
	f->facts.n_speakers = 0;
	f->maglevds[0].dataplane = "none";
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why, "the data plane of lb1 is none: it forwards nothing");
}

static void a_maglevd_without_contact_is_unknown_and_named(void **state)
{
	struct fixture *f = *state;
	struct way way;

	take_all_down(f, 1);
	f->maglevds[1].source.connected = false;
	f->maglevds[1].source.error = "no route to host";
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_POOR);
	assert_string_equal(fixture_steps(f, &way, WAY_FRONTEND), "lb1/www good, lb2/www unknown");
	fixture_has(fixture_notes(f, &way), "lb2 cannot be asked: no route to host");
}

/* A client that has just started knows nothing of it, not even that it takes part. */
static void a_maglevd_of_which_nothing_is_known_is_named(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->maglevds[1].n_frontends = f->maglevds[1].n_backends = 0;
	f->speakers[1].n_announcements = 0;
	f->maglevds[1].source.connected = f->speakers[1].source.connected = false;
	f->maglevds[1].source.error = f->speakers[1].source.error = "no route to host";
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_GOOD);
	assert_string_equal(fixture_notes(f, &way),
			    "maglevd lb2 cannot be asked: no route to host\n"
			    "speaker lb2 cannot be asked: no route to host");
}

/* ---- several balancers ---- */

static void balancers_that_disagree_are_told_apart(void **state)
{
	struct fixture *f = *state;
	struct way way;

	fixture_down(f, 1, WEB1, "L4CON", "connection refused");
	f->primary[1][1].effective_weight = 50;
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_POOR);
	fixture_has(fixture_notes(f, &way),
		    "lb1 and lb2 disagree: web1 is up at lb1 and down at lb2");
	fixture_has(fixture_notes(f, &way),
		    "lb1 and lb2 disagree: web2 has the weight 100 at lb1 and 50 at lb2");
}

static void different_active_pools_are_a_disagreement(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->pools[1][0].active = false;
	f->pools[1][1].active = true;
	f->fallback[1][0].effective_weight = 100;
	way = fixture_ask(f, "198.51.100.10");
	fixture_has(fixture_notes(f, &way),
		    "lb1 and lb2 disagree: the active pool is primary at lb1 and fallback at lb2");
}

static void a_balancer_without_the_frontend_that_attracts_the_vip_is_named(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->maglevds[1].n_frontends = 1; /* l7 alone */
	way = fixture_ask(f, "198.51.100.10");
	assert_int_equal(way.state, WAY_LOSSY);
	assert_string_equal(way.why, "lb2 has no frontend with 198.51.100.10:80/tcp");
}

/* ---- nothing ---- */

static void a_port_that_no_frontend_has_is_not_that_of_another(void **state)
{
	struct fixture *f = *state;
	struct way way = fixture_ask(f, "198.51.100.10:8080");

	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why, "lb1 has no frontend with 198.51.100.10:8080");
	f->facts.n_speakers = 0;
	way = fixture_ask(f, "198.51.100.10:8080");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why, "no frontend has 198.51.100.10:8080");
}

static void what_nothing_has_is_broken_or_not_known(void **state)
{
	struct fixture *f = *state;
	struct way way = fixture_ask(f, "203.0.113.1");

	assert_int_equal(way.state, WAY_BROKEN);
	assert_int_equal(way.n, 0);
	fixture_has(way.why, "203.0.113.1 is not a VIP, a frontend");
	f->maglevds[0].source.connected = false;
	f->maglevds[0].source.error = "timed out";
	way = fixture_ask(f, "nothing");
	assert_int_equal(way.state, WAY_UNKNOWN);
	fixture_has(fixture_notes(f, &way), "maglevd lb1 cannot be asked: timed out");
}

static void a_backend_that_no_frontend_has_gets_nothing(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->fallback[0][0].backend = f->fallback[1][0].backend = "web2";
	way = fixture_ask(f, "web9");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why, "no frontend has the backend web9");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_whole_way_has_every_step_in_the_order_of_a_packet),
		TEST(the_same_way_is_found_by_address_port_and_names),
		TEST(the_name_of_a_speakers_vip_finds_its_frontends),
		TEST(a_backend_is_shown_alone_in_its_frontends),
		TEST(a_vip_that_nobody_announces_says_why_of_each),
		TEST(a_drained_balancer_is_idle_while_another_announces),
		TEST(a_vip_drained_everywhere_is_broken_by_the_drain),
		TEST(a_session_that_is_down_says_why),
		TEST(one_session_of_two_balancers_costs_nothing_but_is_poor),
		TEST(a_member_that_stands_by_is_idle),
		TEST(without_speakers_it_is_not_known_who_attracts),
		TEST(a_speaker_without_contact_is_not_taken_for_a_withdrawal),
		TEST(a_speaker_is_found_by_the_maglevd_that_it_follows),
		TEST(a_frontend_that_is_down_names_its_servers_and_their_reasons),
		TEST(a_balancer_that_attracts_what_it_cannot_serve_loses_a_part),
		TEST(a_paused_server_says_who_paused_it_and_why),
		TEST(an_active_fallback_is_poor_and_says_why),
		TEST(a_data_plane_that_is_not_connected_breaks_the_way),
		TEST(a_data_plane_none_forwards_nothing),
		TEST(a_maglevd_without_contact_is_unknown_and_named),
		TEST(a_maglevd_of_which_nothing_is_known_is_named),
		TEST(balancers_that_disagree_are_told_apart),
		TEST(different_active_pools_are_a_disagreement),
		TEST(a_balancer_without_the_frontend_that_attracts_the_vip_is_named),
		TEST(a_port_that_no_frontend_has_is_not_that_of_another),
		TEST(what_nothing_has_is_broken_or_not_known),
		TEST(a_backend_that_no_frontend_has_gets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
