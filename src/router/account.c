/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account: what is counted about an exchange, in the cells of this thread (stats.h).
 *
 * The head is complete, and the answer begins, when the step that reads them begins; that time is
 * known without another reading of the clock. An answer that is complete at once ends then, too.
 */
#include "lib/loop/loop.h"
#include "src/router/internal.h"

static struct stats_cell *cell_of(const struct exchange *x, enum stats_kind kind,
				  const struct name *name)
{
	return stats_cell(exchange__worker(x)->config.stats, kind, name->number, name->id);
}

const struct name *account_route(const struct exchange *x)
{
	const struct generation *g = x->era->generation;

	if (!x->target)
		return g->unrouted;
	return x->target->route ? g->routes[x->target->route - g->config.routes] : g->fallback_name;
}

static void start(struct stats_cell *cell)
{
	stats_count(cell, STATS_REQUESTS, 1);
	stats_count(cell, STATS_ACTIVE, 1);
}

void account_begin(struct exchange *x)
{
	x->route = cell_of(x, STATS_ROUTE, account_route(x));
	start(x->route);
	if (!x->backend)
		return;
	x->pool = cell_of(x, STATS_POOL, x->era->generation->pools[x->backend->pool].name);
	start(x->pool);
}

void account_try(struct exchange *x)
{
	x->counted = false;
	x->why = NULL;
}

/* A try counts when it ends: one that found a kept connection closed is not a try. */
static void end_try(struct exchange *x, enum stats_counter how)
{
	struct stats_cell *server = x->link->slot->stats;

	stats_count(server, STATS_REQUESTS, 1);
	stats_count(server, how, 1);
	x->counted = true;
}

void account_again(struct exchange *x)
{
	x->try_began = x->retry_at;
	stats_count(x->route, STATS_RETRIES, 1);
	stats_count(x->pool, STATS_RETRIES, 1);
}

void account_first(struct exchange *x)
{
	x->first = task_began(exchange__worker(x)->loop);
	stats_first(x->route, x->first - x->began);
	stats_first(x->pool, x->first - x->began);
	stats_first(x->link->slot->stats, x->first - x->try_began);
}

static enum stats_counter class_of(unsigned status)
{
	return status >= 600 ? STATS_5XX : STATS_1XX + status / 100 - 1;
}

void account_answered(struct exchange *x, unsigned status)
{
	end_try(x, class_of(status));
	if (!x->tunnel)
		stats_latency(x->link->slot->stats, (x->ended ?: loop_monotonic()) - x->try_began);
}

void account_failure(struct exchange *x, enum stats_counter kind, const char *why)
{
	x->why = why;
	if (x->link && !x->counted)
		end_try(x, kind);
}

void account_left(struct exchange *x)
{
	if (!x->counted)
		end_try(x, STATS_ABORTS);
}

static void finish(const struct exchange *x, struct stats_cell *cell)
{
	stats_count(cell, STATS_ACTIVE, (uint64_t)-1);
	stats_count(cell, STATS_IN, x->in);
	stats_count(cell, STATS_OUT, x->out);
	if (!x->done) {
		stats_count(cell, STATS_ABORTS, 1);
		return;
	}
	stats_count(cell, class_of(x->status), 1);
	if (x->code != L7_GRPC_NONE)
		stats_count(cell, STATS_CODE + (unsigned)x->code, 1);
	if (!x->tunnel) /* a tunnel is as long as its users like */
		stats_latency(cell, x->ended - x->began);
}

/* For the comparison of two generations: a tunnel is not a failure, however it ends. */
static void tally(const struct exchange *x)
{
	struct tally *t = x->era->tally;

	count(&t->answers, 1);
	if (exchange__has_failed(x))
		count(&t->errors, 1);
}

void account_end(struct exchange *x)
{
	tally(x);
	if (!x->ended)
		x->ended = loop_monotonic();
	finish(x, x->route);
	if (x->pool)
		finish(x, x->pool);
}
