/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sorted: binary search for the place of a key in a sorted list.
 *
 *	sorted_place(list->n, i, key_cmp(&list->items[i].key, key) < 0)
 *
 * is the first index in list whose item is not before key: key is there, or would be inserted
 * there. `before` is an expression in the index `i`; it must be true up to some index and false
 * from there on.
 */
#pragma once

#include <stddef.h>

#define sorted_place(n, i, before)                                                                 \
	({                                                                                         \
		size_t low_ = 0, high_ = (n);                                                      \
                                                                                                   \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
                                                                                                   \
			if (before)                                                                \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})
