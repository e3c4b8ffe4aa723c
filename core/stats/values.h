/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values: how often each of a few texts was seen, and when last.
 *
 * At most VALUES_MAX are told apart; the rest is counted together. Pure; a zeroed struct is empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define VALUES_MAX 32
#define VALUE_SIZE 64

struct value {
	char text[VALUE_SIZE]; /* what is longer is cut */
	uint64_t n;
	int64_t last; /* when it was seen */
};

struct values {
	struct value items[VALUES_MAX]; /* by text */
	size_t n;
	uint64_t others;
	int64_t others_last; /* when one of them was seen */
};

void values_add(struct values *v, const char *text, int64_t now);
