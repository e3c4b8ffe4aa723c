/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state: the ports that a mux has given away, as they are stored in its ConfigMap.
 *
 * The text is the one of the original (key allocations.json): portClaims has all claims, and
 * allocations repeats the automatic ones for programs that read only these. `released` is new: auto
 * ports that are not given to others until their time (<prefix>/release-grace).
 *
 * A claim belongs to a port of a Service, named by (namespace, service, port name, protocol).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define MUX_STATE_KEY "allocations.json"
/* A ConfigMap holds 1 MiB. A longer text is an error, and is never written. */
#define MUX_STATE_MAX 1000000

enum mux_protocol { MUX_TCP, MUX_UDP, MUX_SCTP, MUX_PROTOCOLS };

/* "TCP"; NULL stands for TCP. -EINVAL if it is none. */
int mux_protocol_parse(const char *text, enum mux_protocol *ret);
const char *mux_protocol_name(enum mux_protocol p);

struct mux_claim {
	const char *namespace, *service, *port_name;
	enum mux_protocol protocol;
	bool automatic;	       /* source: auto, else static */
	uint16_t channel_port; /* of the Service; 0: not known */
	uint16_t mux_port;
	int64_t released; /* ns since the epoch; only in the list `released` */
};

struct mux_state {
	const char *namespace, *name;	/* of the mux that the text is for; NULL: not said */
	const struct mux_claim *claims; /* in the order of the text */
	size_t n_claims;
	const struct mux_claim *released;
	size_t n_released;
	bool migrated; /* made from allocations alone: portClaims is to be written */
};

/* The order of the text: protocol, namespace, service, port name. */
int mux_claim_cmp(const struct mux_claim *a, const struct mux_claim *b);

/*
 * Everything is copied to the arena. text may be NULL or empty: no claims. -EINVAL if it is not
 * JSON or of another shape; *ret_why then says what is wrong, in the arena, and *ret is untouched.
 */
int mux_state_parse(const char *text, struct arena *arena, struct mux_state *ret,
		    const char **ret_why);
/* The bytes of a claim in the smallest form of the text, to be compared with MUX_STATE_MAX. */
size_t mux_claim_size(const struct mux_claim *c);
/*
 * Appends the text. It is indented, as people read it; where that would be too long it is compact,
 * and where this is too long too it is compact without `allocations`.
 */
void mux_state_write(const struct mux_state *s, struct buf *out);
