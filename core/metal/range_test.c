/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of addresses, and that networks do not overlap, against slow and obvious models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/metal/build.h"
#include "core/metal/number.h"
#include "core/testing/random.h"

static struct metal__range parse(struct arena *arena, const char *text)
{
	struct metal__build b = { .arena = arena };
	struct metal__range range = { 0 };

	if (metal__range_parse(&b, text, &range) < 0)
		fail_msg("%s: %s", text, b.error.text);
	return range;
}

static void expect(const char *text, const char *want)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf got = { 0 };
	struct metal__range range = parse(arena, text);
	char one[METAL_PREFIX_STRLEN];

	for (size_t i = 0; i < range.n; i++)
		buf_printf(&got, "%s%s", i ? " " : "",
			   metal_prefix_format(&range.prefixes[i], one));
	assert_string_equal(buf_cstr(&got), want);
}

static void ranges_become_the_fewest_networks(void **state)
{
	expect("10.0.0.7/24", "10.0.0.0/24");
	expect("10.0.0.0-10.0.0.255", "10.0.0.0/24");
	expect("10.0.0.1-10.0.0.1", "10.0.0.1/32");
	expect("10.0.0.1 - 10.0.0.6", "10.0.0.1/32 10.0.0.2/31 10.0.0.4/31 10.0.0.6/32");
	expect("0.0.0.0-255.255.255.255", "0.0.0.0/0");
	expect("::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0");
	expect("fc00::fffe-fc00::1:1", "fc00::fffe/127 fc00::1:0/127");
}

static bool could_be_one(const struct metal_prefix *a, const struct metal_prefix *b)
{
	struct metal_prefix both = metal__masked(&a->address, a->length ? a->length - 1 : 0);

	return a->length == b->length && metal_prefix_has(&both, &b->address);
}

/* Each address is in exactly one network, and no two networks could be one. */
static void any_range_is_covered_exactly(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice dice = dice_of_run(run);

		for (unsigned round = 0; round < 50; round++) {
			_cleanup_(arena_freep) struct arena *arena = arena_new();
			unsigned from = dice_roll(&dice, 600), to = from + dice_roll(&dice, 600),
				 seen = 0;
			struct metal__range range = parse(
				arena, arena_printf(arena, "10.0.%u.%u-10.0.%u.%u", from / 256,
						    from % 256, to / 256, to % 256));

			for (size_t i = 0; i < range.n; i++) {
				uint32_t first =
					(uint32_t)metal_number_of(&range.prefixes[i].address);

				assert_int_equal(first & 0xffff, from + seen);
				seen += 1U << (32 - range.prefixes[i].length);
				assert_true(i == 0 || !could_be_one(&range.prefixes[i - 1],
								    &range.prefixes[i]));
			}
			assert_int_equal(seen, to - from + 1);
		}
	}
}

struct guess {
	unsigned start, size;
};

static bool model_overlaps(const struct guess *g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (g[i].start < g[j].start + g[j].size &&
			    g[j].start < g[i].start + g[i].size)
				return true;
	return false;
}

static void overlaps_are_found_like_by_comparing_all(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice dice = dice_of_run(run);
		unsigned found = 0;

		for (unsigned round = 0; round < 300; round++) {
			_cleanup_(arena_freep) struct arena *arena = arena_new();
			size_t n = 2 + dice_roll(&dice, 5);
			struct metal_pool_doc *pools =
				arena_array_of(arena, n, struct metal_pool_doc);
			struct guess guesses[8];
			struct metal_config config;
			struct metal_error error;
			bool valid;

			for (size_t i = 0; i < n; i++) {
				unsigned bits = dice_roll(&dice, 5);
				unsigned start = dice_roll(&dice, 256) >> bits << bits;
				const char **text = arena_array_of(arena, 1, const char *);

				guesses[i] = (struct guess){ start, 1U << bits };
				*text = arena_printf(arena, "10.0.0.%u/%u", start, 32 - bits);
				pools[i] = (struct metal_pool_doc){
					.name = arena_printf(arena, "p%zu", i),
					.addresses = { text, 1 },
				};
			}
			valid = metal_config_build(&(struct metal_doc){ .pools = pools,
									.n_pools = n },
						   NULL, arena, &config, &error) == 0;
			if (valid == model_overlaps(guesses, n))
				fail_msg("seed %llu, round %u", (unsigned long long)dice.seed,
					 round);
			found += !valid;
		}
		assert_in_range(found, 10, 290);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_become_the_fewest_networks),
		cmocka_unit_test(any_range_is_covered_exactly),
		cmocka_unit_test(overlaps_are_found_like_by_comparing_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
