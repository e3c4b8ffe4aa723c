/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of api: how texts and lists are put into a message. */
#pragma once

#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "core/l4/lb.h"
#include "core/l4/model.h"
#include "proto/maglev.pb-c.h"

/*
 * A borrowed text. The members of protobuf-c's structs are not const, although encoding only
 * reads them. NULL becomes the empty text.
 */
static inline char *wire__text(const char *text)
{
	return (char *)(uintptr_t)(text ? text : "");
}

/* The number of rows from first on, at most n, of total. */
static inline size_t wire__rows(size_t total, size_t first, size_t n)
{
	size_t left = first < total ? total - first : 0;

	return n < left ? n : left;
}

/* The text of an address; empty for none. */
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

/* Allocates a message of that type and initializes it with protobuf-c's function. */
#define API__NEW(a, type, init)                                                                    \
	({                                                                                         \
		type *new_ = arena_new_of((a), type);                                              \
		init(new_);                                                                        \
		new_;                                                                              \
	})

/* The operator's override of the backend; NULL if there is none. */
Maglev__Override *wire__override(const struct l4_backend_state *b, struct arena *a);
/* One override as a message; act is its word. */
Maglev__Override *wire__override_as(const char *act, const struct l4_override *o, struct arena *a);
/* The two fields of an operator; both stay as they are for NULL. */
void wire__who(const struct who *w, char **ret_name, char **ret_address, struct arena *a);

/*
 * The name of the frontend that owns a VIP (SIZE_MAX: none), and of its backend with the address;
 * "" if there is none.
 */
char *wire__frontend_name(const struct l4_config *c, size_t frontend);
char *wire__backend_name(const struct l4_config *c, size_t frontend, const struct addr *address);
