/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/balance.h"

#include "base/cleanup.h"
#include "base/mem.h"

/* ---- the schedule ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Weights as small as they can be; none that was above 0 becomes 0. Returns their sum. */
static uint64_t scale(const uint32_t *weights, size_t n, uint64_t *ret)
{
	uint64_t sum = 0, divisor = 0, scaled = 0;
	uint64_t most = n * 4 > L7_SCHEDULE_MAX ? n * 4 : L7_SCHEDULE_MAX;

	for (size_t i = 0; i < n; i++) {
		sum += weights[i];
		divisor = gcd(divisor, weights[i]);
	}
	if (!sum)
		return 0;
	if (sum / divisor > most - n)
		divisor = sum / (most - n) + 1;
	for (size_t i = 0; i < n; i++) {
		ret[i] = weights[i] / divisor;
		if (!ret[i] && weights[i])
			ret[i] = 1;
		scaled += ret[i];
	}
	return scaled;
}

/*
 * Each turn goes to the server that is furthest behind its share: all get their weight, and the one
 * that has most gives back the sum (nginx's smooth weighted round robin).
 */
static size_t next_turn(int64_t *credit, const uint64_t *weights, size_t n, uint64_t sum)
{
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		credit[i] += (int64_t)weights[i];
		if (credit[i] > credit[best])
			best = i;
	}
	credit[best] -= (int64_t)sum;
	return best;
}

struct l7_schedule l7_schedule_build(struct arena *arena, const uint32_t *weights, size_t n)
{
	_cleanup_(cleanup_free) uint64_t *scaled = mem_zalloc((n + 1) * sizeof(*scaled));
	_cleanup_(cleanup_free) int64_t *credit = mem_zalloc((n + 1) * sizeof(*credit));
	uint64_t sum = scale(weights, n, scaled);
	uint16_t *turns = arena_array_of(arena, sum, uint16_t);

	for (uint64_t i = 0; i < sum; i++)
		turns[i] = (uint16_t)next_turn(credit, scaled, n, sum);
	return (struct l7_schedule){ turns, (size_t)sum };
}

/* ---- choices ---- */

/* The first server from that turn on that is fit, otherwise the first of the reserve. */
static size_t fit_from(const struct l7_schedule *s, const struct l7_fleet *f, size_t turn)
{
	size_t reserve = L7_NONE;

	for (size_t i = 0; i < s->n; i++) {
		size_t server = s->turns[(turn + i) % s->n];
		enum l7_fitness fitness = f->fitness(server, f->user);

		if (fitness == L7_FIT)
			return server;
		if (fitness == L7_RESERVE && reserve == L7_NONE)
			reserve = server;
	}
	return reserve;
}

size_t l7_balance_turn(const struct l7_schedule *s, const struct l7_fleet *f, uint32_t *turn)
{
	return s->n ? fit_from(s, f, (*turn)++ % s->n) : L7_NONE;
}

size_t l7_balance_two(const struct l7_schedule *s, const struct l7_fleet *f, uint64_t random)
{
	size_t a, b;

	if (!s->n)
		return L7_NONE;
	a = fit_from(s, f, (uint32_t)random % s->n);
	b = fit_from(s, f, (random >> 32) % s->n);
	if (a == L7_NONE || b == L7_NONE) /* a server may change between the two */
		return a == L7_NONE ? b : a;
	return f->active(a, f->user) <= f->active(b, f->user) ? a : b;
}

size_t l7_balance_least(const struct l7_schedule *s, const struct l7_fleet *f, uint32_t *turn)
{
	size_t best = L7_NONE, from = (*turn)++;
	enum l7_fitness best_fitness = L7_UNFIT;

	for (size_t i = 0; i < s->n; i++) {
		size_t server = s->turns[(from + i) % s->n];
		enum l7_fitness fitness = f->fitness(server, f->user);

		if (fitness < best_fitness || fitness == L7_UNFIT)
			continue;
		if (fitness == best_fitness &&
		    f->active(server, f->user) >= f->active(best, f->user))
			continue;
		best = server;
		best_fitness = fitness;
	}
	return best;
}
