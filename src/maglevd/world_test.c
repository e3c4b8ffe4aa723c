/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/maglevd/testing.h"

/* The fake connects in a later turn of the loop, so the test can still change it. */
void world_start(struct world *w, const char *yaml, int64_t started)
{
	fake_use(&w->plane);
	w->engine = engine_new(w->loop, testing_snapshot(yaml));
	w->reconcile = reconcile_new(&(struct reconcile_setup){
		.loop = w->loop, .engine = w->engine, .driver = &fake_driver, .started = started });
	engine_start(w->engine);
}

void world_stop(struct world *w)
{
	reconcile_free(w->reconcile);
	engine_free(w->engine);
}

int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->loop = ev_loop_new(0);
	w->plane.up = true;
	*state = w;
	return 0;
}

int world_teardown(void **state)
{
	struct world *w = *state;

	fake_plane_free(&w->plane);
	ev_loop_destroy(w->loop);
	free(w);
	return 0;
}

bool world_is_idle(void *user)
{
	const struct world *w = user;

	return reconcile_connected(w->reconcile) && reconcile_idle(w->reconcile);
}

void world_settle(struct world *w)
{
	assert_true(testing_wait(w->loop, world_is_idle, w));
}

void world_feed(struct world *w, const char *backend, enum health_code code, unsigned times)
{
	const struct l4_model *m = engine_model(w->engine);
	size_t i = l4_config_backend(m->config, backend);

	assert_true(i != SIZE_MAX);
	for (unsigned n = 0; n < times; n++)
		engine_record(w->engine, m->backends[i],
			      &(struct engine_result){ .code = code, .reason = "" });
}

void world_fail_here(struct world *w, unsigned times)
{
	const struct l4_model *m = engine_model(w->engine);

	for (unsigned n = 0; n < times; n++)
		for (size_t i = 0; i < m->config->n_backends; i++)
			if (m->config->backends[i].check)
				engine_record(w->engine, m->backends[i],
					      &(struct engine_result){ CODE_SOCKERR, true,
								       "no files", 5 });
}

void world_all_up(struct world *w)
{
	const struct l4_config *c = engine_model(w->engine)->config;

	for (size_t i = 0; i < c->n_backends; i++)
		world_feed(w, c->backends[i].name, CODE_L4OK, 5);
}

void world_start_warm(struct world *w)
{
	world_start(w, CONFIG(WARM), loop_monotonic());
	world_all_up(w);
	world_settle(w);
}

int world_weight(const struct world *w, const char *as)
{
	return fake_plane_weight(&w->plane, "192.0.2.10", as);
}

static char *with(const char *yaml, const char *from, const char *to)
{
	const char *at = strstr(yaml, from);
	char *out = malloc(strlen(yaml) + strlen(to) + 1);

	assert_non_null(at);
	snprintf(out, strlen(yaml) + strlen(to) + 1, "%.*s%s%s", (int)(at - yaml), yaml, to,
		 at + strlen(from));
	return out;
}

void world_reload_with(struct world *w, const char *from, const char *to)
{
	char *yaml = with(CONFIG(WARM), from, to);

	engine_reload(w->engine, testing_snapshot(yaml));
	free(yaml);
}
