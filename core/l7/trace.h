/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: the traceparent field of W3C Trace Context (level 2).
 *
 *	00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *	version, id of the trace, id of the caller's span, flags
 *
 * A proxy that records no spans passes a valid field on as it came: its caller stays the parent of
 * what the server records. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define L7_TRACE_SIZE 56 /* bytes of the text, with a NUL */
#define L7_TRACE_ID_SIZE 33

enum {
	L7_TRACE_SAMPLED = 1, /* the caller may have recorded it */
	L7_TRACE_RANDOM = 2,  /* the id is random (level 2) */
};

struct l7_trace {
	uint8_t id[16], parent[8];
	uint8_t flags;
};

/*
 * Whether the field is valid; *ret is untouched if not. A later version is read as far as this one
 * goes. Hexadecimal digits must be in lower case, and neither id may be zero.
 */
bool l7_trace_parse(struct str value, struct l7_trace *ret);
/* A new trace; random are any three numbers. */
struct l7_trace l7_trace_new(const uint64_t random[3], bool sampled);
const char *l7_trace_format(const struct l7_trace *t, char text[L7_TRACE_SIZE]);
/* The id alone. */
const char *l7_trace_id(const struct l7_trace *t, char text[L7_TRACE_ID_SIZE]);
