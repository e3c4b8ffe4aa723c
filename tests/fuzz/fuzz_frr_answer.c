/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as what bgpd and bfdd answer about sessions. A peer that is not known has nothing, and what
 * is no answer makes every peer unknown, whatever was known before.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/speaker/answers.h"

#define PEERS 5

static const struct bgp_peer peers[PEERS] = {
	{ .frr = { .address = { AF_INET, { 10, 0, 0, 2 } } } },
	{ .frr = { .address = { AF_INET, { 10, 0, 0, 9 } } } },
	{ .frr = { .address = { AF_INET6, { 0xfd, [15] = 2 } } } },
	{ .frr = { .interface = "uplink" } },
	{ .frr = { .address = { AF_INET, { 10, 1, 0, 2 } } }, .vrf = "red" },
};
static const struct bgp_config config = { .peers = peers, .n_peers = PEERS };

static void check(bool fine)
{
	if (!fine)
		abort();
}

/* In memory of exactly that size. */
static struct str copy_of(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	return (struct str){ copy, size };
}

static void check_bgp(const struct session *one, int r)
{
	uint64_t sum = 0;

	check(memchr(one->state, '\0', sizeof(one->state)) != NULL);
	for (size_t i = 0; i < SESSION_COUNTS; i++)
		sum |= one->counts[i];
	check(one->known || (!*one->state && !one->prefixes && !sum));
	check(r == 0 || !one->known);
}

static void check_bfd(const struct session *one, int r)
{
	check(one->bfd_known || !one->bfd_up);
	check(r == 0 || !one->bfd_known);
}

static void check_counters(const struct session *one, int r)
{
	for (size_t i = 0; i < SESSION_BFD_COUNTS; i++)
		check(r == 0 || !one->bfd_counts[i]);
}

static const struct reader {
	int (*read)(struct str text, const struct bgp_config *c, struct session *list);
	void (*check)(const struct session *one, int r);
} readers[] = {
	{ answers_bgp, check_bgp },
	{ answers_bfd, check_bfd },
	{ answers_bfd_counters, check_counters },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = copy_of(data, size);

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct session list[PEERS];
		int r;

		memset(list, 1, sizeof(list));
		r = readers[i].read(text, &config, list);
		check(r == 0 || r == -EINVAL);
		for (size_t k = 0; k < PEERS; k++)
			readers[i].check(&list[k], r);
	}
	free((char *)(uintptr_t)text.p);
	return 0;
}
