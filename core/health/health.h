/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health: the rise/fall machine of one backend (FR-1.2 .. FR-1.7, FR-3.1, FR-3.2).
 *
 * A backend has one counter in [0, rise + fall - 1] and is up while the counter is at or above
 * rise. The first result after unknown decides at once. Paused, disabled and removed are set by
 * the operator (or a reload): probe results are ignored in these states.
 *
 * Pure: the caller owns the struct, passes the time, and acts on the change that is returned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum health_state {
	HEALTH_UNKNOWN,
	HEALTH_UP,
	HEALTH_DOWN,
	HEALTH_PAUSED,
	HEALTH_DISABLED,
	HEALTH_REMOVED,
};
#define HEALTH_STATES 6

/* HAProxy's names for the outcome of a probe, and after them the causes that are not probes. */
enum health_code {
	CODE_L4OK,    /* icmp and udp answered, tcp connected */
	CODE_L6OK,    /* the TLS handshake succeeded */
	CODE_L7OK,    /* code, body or answer as configured */
	CODE_L4TOUT,  /* connect timed out, or no echo reply, or no datagram */
	CODE_L4CON,   /* refused, reset, unreachable, or the namespace could not be entered */
	CODE_L6TOUT,  /* TLS handshake not finished in time */
	CODE_L6RSP,   /* TLS handshake failed, certificate included */
	CODE_L7TOUT,  /* no complete response in time */
	CODE_L7RSP,   /* not of the protocol, cut short, too large, or it does not match */
	CODE_L7STS,   /* a code that is not configured */
	CODE_SOCKERR, /* a local failure: descriptors, memory, permission */
	CODE_STATIC,  /* the synthetic pass of a backend without a check */
	CODE_PAUSED,
	CODE_RESUMED,
	CODE_DISABLED,
	CODE_ENABLED,
	CODE_REMOVED,
	CODE_RELOADED, /* the configuration changed it */
};
#define HEALTH_CODES 18

struct health_rule {
	unsigned rise, fall; /* both at least 1 */
};

struct health {
	enum health_state state;
	unsigned counter;
	int64_t since; /* unix ns of the last change of state */
};

struct health_change {
	enum health_state from, to;
	enum health_code why; /* the result that caused it, or the operator's command */
	int64_t at;	      /* unix ns */
};

const char *health_state_name(enum health_state s); /* "unknown", "up", ... */
const char *health_code_name(enum health_code c);   /* "L4OK", ...; "static", "paused", ... */
bool health_code_is_pass(enum health_code c);
bool health_is_operator(enum health_state s); /* paused, disabled, removed */

void health_init(struct health *h, int64_t now);

/*
 * Records one probe result (a code up to CODE_STATIC). Returns true, with *ret filled, if the
 * state changed; *ret is untouched otherwise.
 */
bool health_record(struct health *h, const struct health_rule *rule, enum health_code code,
		   int64_t now, struct health_change *ret);

/*
 * Commands of the operator, and of a reload. Each returns true, with *ret filled, if the state
 * changed. Pausing keeps the counter; resuming and enabling start again in unknown. Pause and
 * resume of a disabled or removed backend change nothing: the caller refuses them before.
 */
bool health_pause(struct health *h, int64_t now, struct health_change *ret);
bool health_resume(struct health *h, int64_t now, struct health_change *ret);
bool health_disable(struct health *h, enum health_code why, int64_t now, struct health_change *ret);
bool health_enable(struct health *h, enum health_code why, int64_t now, struct health_change *ret);
bool health_remove(struct health *h, int64_t now, struct health_change *ret);

/*
 * To be called after the check of a backend changed. The state stays; the counter moves to its
 * end (full if up, 0 if down), and the next result counts by the ordinary rules. Never a
 * change of state.
 */
void health_rule_changed(struct health *h, const struct health_rule *rule);
