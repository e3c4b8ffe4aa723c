/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce: whether a VIP is announced, how, and why.
 *
 * A VIP follows one or more frontends of one or more maglevds. It is fit while every source says
 * that its frontend is up with at least min_servers servers. A VIP that has been fit for min_up is
 * announced. One that is no longer fit is withdrawn at once, or, if so configured, announced with
 * worse attributes for as long as it would be withdrawn.
 *
 * A source that cannot be reached, or has not said anything yet, is silent. Silence changes nothing
 * for the time `hold`: an announced VIP stays so, and one that is not announced does not become so.
 * After that the VIP is not fit. What ran before a restart is adopted: a VIP that FRR already
 * announces begins as ANNOUNCED, and its sources are silent until they have said something.
 *
 * An operator's drain goes first: the VIP is announced with the graceful-shutdown community for
 * drain_time, so that routers move their traffic away, and then withdrawn. It is not announced
 * again before the drain is lifted, and it is withdrawn earlier if it would be without the drain.
 *
 *	WITHDRAWN --fit for min_up--> ANNOUNCED --not fit--> WITHDRAWN, or WORSE
 *	WORSE --fit for min_up--> ANNOUNCED
 *	ANNOUNCED, WORSE --drain--> DRAINING --drain_time, or not fit--> WITHDRAWN
 *	DRAINING --undrain--> what it would be without the drain
 *
 * Pure: the caller owns the structs, passes the time (monotonic ns), and acts on the change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum announce_state { ANNOUNCE_WITHDRAWN, ANNOUNCE_UP, ANNOUNCE_WORSE, ANNOUNCE_DRAINING };

/* Why a VIP is in its state. Each has its own word. */
enum announce_reason {
	ANNOUNCE_STARTING,    /* a source has not said anything yet; not announced before */
	ANNOUNCE_ADOPTED,     /* a source has not said anything yet; already announced */
	ANNOUNCE_FIT,	      /* all sources are up */
	ANNOUNCE_WAITING,     /* fit, but not for min_up yet */
	ANNOUNCE_DOWN,	      /* a frontend is down */
	ANNOUNCE_FEW_SERVERS, /* a frontend has fewer than min_servers */
	ANNOUNCE_UNKNOWN,     /* a maglevd does not know the frontend */
	ANNOUNCE_HELD,	      /* a maglevd cannot be reached; stays as it was */
	ANNOUNCE_LOST,	      /* a source was silent for longer than hold */
	ANNOUNCE_OPERATOR,    /* drained */
	ANNOUNCE_STATIC,      /* follows nothing: always announced */
	ANNOUNCE_REASONS
};

enum announce_fallback { ANNOUNCE_THEN_WITHDRAW, ANNOUNCE_THEN_WORSE };

struct announce_rule {
	int64_t min_up;	      /* ns */
	uint32_t min_servers; /* at least 1 */
	enum announce_fallback fallback;
	int64_t hold;	    /* ns */
	int64_t drain_time; /* ns */
};

/*
 * One frontend of one maglevd, as last heard. A maglevd that has just started does not know the
 * state of its frontends yet: until it does, the source is as it was before, and not reachable.
 */
struct announce_source {
	bool reachable; /* the maglevd is connected */
	bool heard;	/* it has said something about the frontend since the start */
	bool known;	/* it has such a frontend */
	bool up;
	uint32_t servers; /* that are up and have a weight */
	int64_t lost_at;  /* when it was last reachable; while it is not */
};

/* Of one VIP. Zeroed it is withdrawn and starting. */
struct announce {
	enum announce_state state;
	enum announce_reason reason;
	size_t culprit;	      /* index of the source that decided; SIZE_MAX: none */
	int64_t since;	      /* of the state */
	int64_t fit_since;    /* 0: not fit */
	bool settled;	      /* fit for min_up without a break, or adopted */
	int64_t silent_since; /* a source has not said anything yet; 0: all have */
	int64_t drained_at;   /* when the operator asked; 0: not drained */
	int64_t due;	      /* when to look again though nothing happened; 0: never */
};

struct announce_change {
	enum announce_state from, to;
};

/*
 * A VIP that FRR already announces when the speaker starts. Its drain, if it has one, goes on:
 * the VIP is then DRAINING. now is not 0, here and below.
 */
void announce_adopt(struct announce *a, int64_t now);
/*
 * Decides again: after every change of a source, of the rule or of the drain, and at `due`. True,
 * with *ret filled, if the state has changed. reason, culprit and due are set in any case; due is
 * later than now.
 */
bool announce_judge(struct announce *a, const struct announce_rule *rule,
		    const struct announce_source *sources, size_t n, int64_t now,
		    struct announce_change *ret);
/*
 * The operator's word; announce_judge() must follow. Draining twice does not start over. now may be
 * a time before the start of the speaker, for a drain that it remembers.
 */
void announce_drain(struct announce *a, int64_t now);
void announce_undrain(struct announce *a);

const char *announce_state_name(enum announce_state s);	  /* "withdrawn", "announced", ... */
const char *announce_reason_name(enum announce_reason r); /* "frontend-down", ... */
/* Whether prefixes are sent to peers in this state. */
bool announce_is_sent(enum announce_state s);
