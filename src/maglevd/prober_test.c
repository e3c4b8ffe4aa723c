/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/units.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/prober.h"
#include "src/maglevd/testing.h"

#define BACKENDS 500

/* Each is probed once a second. Nobody listens there, which does not matter. */
static struct snapshot *many_backends(void)
{
	struct snapshot *s;
	struct buf b = { 0 };

	buf_adds(&b, "maglev:\n"
		     "  dataplane: none\n"
		     "  healthchecks: { c: { type: tcp, port: 1, interval: 1s } }\n"
		     "  backends:\n");
	for (unsigned i = 0; i < BACKENDS; i++)
		buf_printf(&b, "    b%u: { address: 127.0.%u.%u, healthcheck: c }\n", i, i / 250,
			   1 + i % 250);
	s = testing_snapshot(buf_cstr(&b));
	buf_free(&b);
	return s;
}

/* A loop that has not turned for a while takes it to be earlier than it is. */
static void rest_for(int64_t duration)
{
	for (int64_t until = loop_monotonic() + duration; loop_monotonic() < until;)
		;
}

static void first_probes_are_spread_however_long_the_loop_rested(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct engine *e = engine_new(loop, many_backends());
	struct prober *p = prober_new(loop, e, "test");

	rest_for(400 * NSEC_PER_MSEC);
	prober_start(p);
	ev_run(loop, EVRUN_NOWAIT);
	assert_true(prober_stats(p)->started < BACKENDS / 5);
	prober_free(p);
	engine_free(e);
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_probes_are_spread_however_long_the_loop_rested),
	};

	return cmocka_run_group_tests_name("prober", tests, NULL, NULL);
}
