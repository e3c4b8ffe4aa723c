/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* Of a VIP that follows a/www; the peers are p1, p2, ..., and the first of them have sessions. */
static const char *says(enum announce_state state, enum announce_reason reason, size_t peers,
			size_t sessions)
{
	static char names[][3] = { "p1", "p2", "p3", "p4", "p5", "p6", "p7" };
	char *list[ARRAY_SIZE(names)];
	static char maglevd[] = "a", frontend[] = "www", culprit[] = "a/www";
	static struct arena *arena;
	Maglev__AnnouncementSource source, *sources = &source;
	Maglev__AnnouncementBgp bgp;
	Maglev__AnnouncementInfo info;
	const struct summary_facts facts = { &info, state, reason, 3, "", NULL };

	maglev__announcement_source__init(&source);
	maglev__announcement_bgp__init(&bgp);
	maglev__announcement_info__init(&info);
	arena_free(arena);
	arena = arena_new();
	source.maglevd = maglevd;
	source.frontend = frontend;
	source.servers = 2;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		list[i] = names[i];
	bgp.peers = bgp.established = list;
	bgp.n_peers = peers;
	bgp.n_established = sessions;
	info.frontends = &sources;
	info.n_frontends = 1;
	info.culprit = culprit;
	info.bgp = &bgp;
	return summary_of(&facts, arena);
}

static void peers_with_a_session_are_named(void **state)
{
	assert_string_equal(says(ANNOUNCE_UP, ANNOUNCE_FIT, 2, 2), "announced to p1, p2");
	assert_string_equal(says(ANNOUNCE_UP, ANNOUNCE_STATIC, 2, 1), "announced to p1");
	assert_string_equal(says(ANNOUNCE_UP, ANNOUNCE_FIT, 7, 7),
			    "announced to p1, p2, p3, p4, p5 and 2 more");
	assert_string_equal(says(ANNOUNCE_UP, ANNOUNCE_FIT, 2, 0),
			    "announced, but no session is up");
	assert_string_equal(says(ANNOUNCE_UP, ANNOUNCE_FIT, 0, 0), "announced, but to no peer");
}

static void every_reason_has_its_words(void **state)
{
	static const struct {
		enum announce_state state;
		enum announce_reason reason;
		const char *words;
	} rows[] = {
		{ ANNOUNCE_WITHDRAWN, ANNOUNCE_STARTING, "withdrawn: a has not answered yet" },
		{ ANNOUNCE_UP, ANNOUNCE_ADOPTED, "announced to p1: a has not answered yet" },
		{ ANNOUNCE_WITHDRAWN, ANNOUNCE_WAITING, "withdrawn: up, but not for min-up yet" },
		{ ANNOUNCE_WITHDRAWN, ANNOUNCE_DOWN, "withdrawn: a/www is down" },
		{ ANNOUNCE_WORSE, ANNOUNCE_DOWN,
		  "announced as the worse way to p1: a/www is down" },
		{ ANNOUNCE_WITHDRAWN, ANNOUNCE_FEW_SERVERS, "withdrawn: a/www has 2 of 3 servers" },
		{ ANNOUNCE_WITHDRAWN, ANNOUNCE_UNKNOWN, "withdrawn: there is no frontend a/www" },
		{ ANNOUNCE_UP, ANNOUNCE_HELD, "announced to p1: a cannot be reached" },
		{ ANNOUNCE_WITHDRAWN, ANNOUNCE_LOST, "withdrawn: a cannot be reached" },
		{ ANNOUNCE_DRAINING, ANNOUNCE_OPERATOR, "still announced to p1: drained" },
		{ ANNOUNCE_WITHDRAWN, ANNOUNCE_OPERATOR, "withdrawn: drained" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(says(rows[i].state, rows[i].reason, 1, 1), rows[i].words);
}

/* An operator's own words, and FRR's. */
static void texts_from_outside_follow(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	char reason[] = "new kernel";
	Maglev__AnnouncementInfo info;
	const struct summary_facts facts = { &info, ANNOUNCE_WITHDRAWN,	 ANNOUNCE_OPERATOR,
					     1,	    "bgpd is not there", NULL };

	maglev__announcement_info__init(&info);
	info.drain_reason = reason;
	assert_string_equal(summary_of(&facts, arena),
			    "withdrawn: drained, new kernel; FRR does not have the latest "
			    "configuration: bgpd is not there");
}

/* Of a Service, whose reasons are those of core/speak. */
static void another_reason_takes_the_place(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	Maglev__AnnouncementInfo info;
	struct summary_facts facts = { &info, ANNOUNCE_WITHDRAWN,	   ANNOUNCE_FIT, 0,
				       "",    "the Service has no address" };

	maglev__announcement_info__init(&info);
	assert_string_equal(summary_of(&facts, arena), "withdrawn: the Service has no address");
	facts.why = "";
	assert_string_equal(summary_of(&facts, arena), "withdrawn");
}

/* On eth0: this member's state, the owner, a problem. */
static const char *says_of_l2(const struct summary_facts *facts, const char *is, const char *owner,
			      const char *problem)
{
	static struct arena *arena;
	Maglev__AnnouncementInfo info;
	Maglev__AnnouncementL2 l2;
	struct summary_facts f = *facts;

	maglev__announcement_l2__init(&l2);
	maglev__announcement_info__init(&info);
	arena_free(arena);
	arena = arena_new();
	l2.interface = arena_strdup(arena, "eth0");
	l2.state = arena_strdup(arena, is);
	l2.owner = arena_strdup(arena, owner);
	l2.problem = arena_strdup(arena, problem);
	info.culprit = arena_strdup(arena, "a/www");
	info.l2 = &l2;
	f.announcement = &info;
	return summary_of(&f, arena);
}

static void a_group_has_one_owner(void **state)
{
	static const struct summary_facts
		up = { NULL, ANNOUNCE_UP, ANNOUNCE_FIT, 1, "", NULL },
		worse = { NULL, ANNOUNCE_WORSE, ANNOUNCE_DOWN, 1, "", NULL },
		down = { NULL, ANNOUNCE_WITHDRAWN, ANNOUNCE_DOWN, 1, "", NULL },
		drained = { NULL, ANNOUNCE_DRAINING, ANNOUNCE_OPERATOR, 1, "", NULL };

	assert_string_equal(says_of_l2(&up, "owner", "lb1", ""), "announced on eth0");
	assert_string_equal(says_of_l2(&up, "backup", "lb2", ""), "standby, lb2 owns it");
	assert_string_equal(says_of_l2(&up, "backup", "", ""), "standby, nobody owns it");
	assert_string_equal(says_of_l2(&up, "", "", "there is no interface eth0"),
			    "not announced: there is no interface eth0");
	assert_string_equal(says_of_l2(&worse, "owner", "lb1", ""),
			    "announced on eth0 as the last resort: a/www is down");
	assert_string_equal(says_of_l2(&worse, "backup", "lb2", ""),
			    "standby as the last resort, lb2 owns it: a/www is down");
	assert_string_equal(says_of_l2(&down, "backup", "lb2", ""),
			    "withdrawn, lb2 owns it: a/www is down");
	assert_string_equal(says_of_l2(&drained, "backup", "lb2", ""),
			    "withdrawn, lb2 owns it: drained");
}

static void without_bgp_nothing_is_told(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	Maglev__AnnouncementInfo info;
	const struct summary_facts facts = { &info, ANNOUNCE_UP, ANNOUNCE_STATIC, 1, "", NULL };

	maglev__announcement_info__init(&info);
	assert_string_equal(summary_of(&facts, arena), "announced, but to no peer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers_with_a_session_are_named),
		cmocka_unit_test(every_reason_has_its_words),
		cmocka_unit_test(texts_from_outside_follow),
		cmocka_unit_test(another_reason_takes_the_place),
		cmocka_unit_test(a_group_has_one_owner),
		cmocka_unit_test(without_bgp_nothing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
