/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of api share: how texts and lists get into a message. */
#pragma once

#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "core/l4/lb.h"
#include "core/l4/model.h"
#include "proto/maglev.pb-c.h"

/* protobuf-c has no word for "only read": a text that is borrowed. NULL is the empty one. */
static inline char *wire__text(const char *text)
{
	return (char *)(uintptr_t)(text ? text : "");
}

/* How many of total there are from first on, up to n. */
static inline size_t wire__rows(size_t total, size_t first, size_t n)
{
	size_t left = first < total ? total - first : 0;

	return n < left ? n : left;
}

/* Empty for none. */
static inline char *wire__addr(const struct addr *address, struct arena *a)
{
	char text[ADDR_STRLEN];

	return addr_is_set(address) ? arena_strdup(a, addr_format(address, text)) : wire__text("");
}

static inline char *wire__protocol(uint8_t protocol, struct arena *a)
{
	char text[LB_PROTOCOL_STRLEN];

	return arena_strdup(a, lb_protocol_format(protocol, text));
}

/* A message of that type, initialised by protobuf-c. */
#define API__NEW(a, type, init)                                                                    \
	({                                                                                         \
		type *new_ = arena_new_of((a), type);                                              \
		init(new_);                                                                        \
		new_;                                                                              \
	})

/* What an operator said of the backend; NULL for nothing. */
Maglev__Override *wire__override(const struct l4_backend_state *b, struct arena *a);

/* Whose a VIP (frontend SIZE_MAX: nobody's) or an address of its is; "" for nobody's. */
char *wire__frontend_name(const struct l4_config *c, size_t frontend);
char *wire__backend_name(const struct l4_config *c, size_t frontend, const struct addr *address);
