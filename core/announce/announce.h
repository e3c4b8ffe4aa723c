/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce: whether a VIP is announced, how, and why.
 *
 * A VIP follows one or more frontends of one or more maglevds. It is fit while every source that is
 * known says that its frontend is up with at least min_servers servers. A VIP that has been fit for
 * min_up is announced; one that is no longer fit is withdrawn at once, or announced with worse
 * attributes if so configured. A source that cannot be reached says nothing: what it last said
 * counts for the time `hold`, and after that it is taken for not fit. An operator's drain goes
 * before everything: the VIP is announced with the graceful-shutdown community for drain_time, so
 * that routers move their traffic away, and then withdrawn.
 *
 *	WITHDRAWN --fit for min_up--> ANNOUNCED --not fit--> WITHDRAWN, or WORSE
 *	any but WITHDRAWN --drain--> DRAINING --drain_time--> WITHDRAWN (drained)
 *
 * What ran before a restart is adopted: a VIP that FRR already announces begins as ANNOUNCED and
 * stays so until its sources have said something, for at most `hold`.
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
	ANNOUNCE_STARTING,    /* no source has said anything yet */
	ANNOUNCE_ADOPTED,     /* was announced before the start, and nothing speaks against it */
	ANNOUNCE_FIT,	      /* all sources are up */
	ANNOUNCE_WAITING,     /* fit, but not for min_up yet */
	ANNOUNCE_DOWN,	      /* a frontend is down */
	ANNOUNCE_FEW_SERVERS, /* a frontend has fewer than min_servers */
	ANNOUNCE_UNKNOWN,     /* a maglevd does not know the frontend */
	ANNOUNCE_HELD,	      /* a maglevd cannot be reached; as it last said */
	ANNOUNCE_LOST,	      /* a maglevd could not be reached for longer than hold */
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

/* One frontend of one maglevd, as last heard. */
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
	size_t culprit;	    /* index of the source that decided; SIZE_MAX: none */
	int64_t since;	    /* of the state */
	int64_t fit_since;  /* 0: not fit */
	int64_t drained_at; /* when the operator asked; 0: not drained */
	int64_t due;	    /* when to look again though nothing happened; 0: never */
};

struct announce_change {
	enum announce_state from, to;
};

/* A VIP that FRR already announces when the speaker starts. */
void announce_adopt(struct announce *a, int64_t now);
/*
 * Decides again: after every change of a source, of the rule or of the drain, and at `due`. True,
 * with *ret filled, if the state has changed. reason, culprit and due are set in any case.
 */
bool announce_judge(struct announce *a, const struct announce_rule *rule,
		    const struct announce_source *sources, size_t n, int64_t now,
		    struct announce_change *ret);
/* The operator's word; announce_judge() must follow. Draining twice does not start over. */
void announce_drain(struct announce *a, int64_t now);
void announce_undrain(struct announce *a);

const char *announce_state_name(enum announce_state s);	  /* "withdrawn", "announced", ... */
const char *announce_reason_name(enum announce_reason r); /* "frontend-down", ... */
/* Whether prefixes are sent to peers in this state. */
bool announce_is_sent(enum announce_state s);
