/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values: how often each of a few texts was seen, and when last.
 *
 * At most VALUES_MAX texts are distinguished; further ones are counted together. Pure; a zeroed
 * struct is empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define VALUES_MAX 32
#define VALUE_SIZE 64

struct value {
	char text[VALUE_SIZE]; /* NUL-terminated; longer texts are cut */
	uint64_t n;
	int64_t last; /* time of the last one, in the caller's clock */
};

struct values {
	struct value items[VALUES_MAX]; /* sorted by text */
	size_t n;
	uint64_t others;
	int64_t others_last; /* time of the last one */
};

/* Two texts that are equal in their first VALUE_SIZE - 1 bytes are the same value. */
void values_add(struct values *v, const char *text, int64_t now);
