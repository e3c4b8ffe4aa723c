/* SPDX-License-Identifier: Apache-2.0 */
/*
 * election: which member of a group owns a VIP, decided from what the members tell each other.
 *
 * Every member says in each heartbeat how it stands for the VIP: a priority (0: it does not stand),
 * whether it pre-empts, and whether it is the owner. Each member decides for itself:
 *
 *	BACKUP --nobody owns the VIP, and no better member stands--> OWNER
 *	BACKUP --it pre-empts, and the owner has a lower priority--> OWNER
 *	OWNER  --a better member is the owner as well--------------> BACKUP
 *	OWNER  --it yields, and a higher priority stands-----------> BACKUP
 *	OWNER  --it no longer stands-------------------------------> BACKUP
 *	any    --leave---------------------------------------------> LEAVING, to the end
 *
 * The higher priority is better; of equal ones the name that sorts first. A member that was silent
 * for `losses` of its heartbeats, and a part of one more that grows as the own priority falls, is
 * dead: the best of those that are left notices first. A member that says that it does not stand
 * loses the VIP at once. A new member only listens for that time and says meanwhile that it does
 * not stand.
 *
 * Two owners exist while heartbeats are lost or under way. As soon as they hear each other, the
 * lower one yields, pre-emption or not. The higher one announces the VIP again, because neighbours
 * may have believed the other one last. Usually the lower one hears the other first, so that its
 * next heartbeat already says that it has yielded; therefore every member also says how often it
 * has taken the VIP, and an owner announces again when it hears a number that it did not know.
 *
 * Pure: the caller owns the struct, passes the time (monotonic ns), and acts on what is returned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define L2_NAME_MAX 63	  /* bytes of a member's name */
#define L2_MEMBERS_MAX 16 /* others in a group; further ones are not heard */

#define L2_HEARTBEAT INT64_C(200000000) /* ns: default of the interval */
#define L2_LOSSES 3			/* default */

enum l2_state { L2_BACKUP, L2_OWNER, L2_LEAVING };

/* Why a member is in its state. Each has its own word. */
enum l2_reason {
	L2_LISTENING, /* it has just started */
	L2_UNFIT,     /* it does not stand, as the caller said */
	L2_OUTRANKED, /* a better member stands, or is the owner */
	L2_OWNED,     /* another member owns the VIP, and is not to be pre-empted */
	L2_BEST,      /* nobody owned the VIP, and this one was the best */
	L2_PREEMPTS,  /* the owner had a lower priority */
	L2_LEFT,      /* it leaves the group */
	L2_REASONS
};

/* What the caller does about a VIP. With each but L2_NOTHING the others are told at once. */
enum l2_action {
	L2_NOTHING,
	L2_ANNOUNCE,	   /* is the owner now */
	L2_ANNOUNCE_AGAIN, /* still is, and another one was, or may have been */
	L2_YIELD,	   /* is no longer */
};

struct l2_rule {
	uint8_t priority;  /* 1 .. 255 */
	bool preempt;	   /* takes the VIP from an owner with a lower priority */
	int64_t heartbeat; /* ns between heartbeats of this member */
	unsigned losses;   /* of heartbeats in a row that mean death */
	bool yields;	   /* as the owner leaves the VIP to any member with a higher priority */
};

/* What a member says about a VIP. */
struct l2_word {
	uint8_t priority; /* 0: does not stand */
	bool owner, preempt;
	uint16_t claims;   /* how often it has become the owner; starts anywhere, wraps around */
	int64_t heartbeat; /* ns until it speaks again */
};

struct l2_member {
	char name[L2_NAME_MAX + 1];
	struct l2_word word; /* the last */
	int64_t seen;	     /* when it was said */
	int64_t since;	     /* of the first, since it is alive */
};

/* Of one VIP, at one member. */
struct l2_election {
	char name[L2_NAME_MAX + 1];
	struct l2_rule rule;
	enum l2_state state;
	enum l2_reason reason;
	int64_t since; /* of the state */
	bool stands;
	uint16_t claims; /* see l2_word */
	bool doubted;	 /* a member has taken the VIP since the last judgement, or may have */
	int64_t listens_until;
	int64_t due; /* when to judge though nothing was heard; 0: never */
	size_t n;
	struct l2_member members[L2_MEMBERS_MAX]; /* that are alive, without this one */
};

/* A member that starts: it stands, and listens first. name has at most L2_NAME_MAX bytes. */
void l2_election_start(struct l2_election *e, const char *name, const struct l2_rule *rule,
		       int64_t now);

/* l2_election_judge() must follow each of these five. */

/*
 * A member spoke. Its own name, and a member too many, are ignored. True if it is new, or stands or
 * owns otherwise than before.
 */
bool l2_election_hear(struct l2_election *e, const char *name, const struct l2_word *word,
		      int64_t now);
/* Whether this member is fit to own the VIP, for example because its frontend is up. */
void l2_election_stand(struct l2_election *e, bool stands);
/* Another rule from now on; the state, and what is known of the others, stay. */
void l2_election_set_rule(struct l2_election *e, const struct l2_rule *rule);
/* The network was away: listens again, as at the start. */
void l2_election_listen(struct l2_election *e, int64_t now);
/* This member leaves the group; it can only be started again. */
void l2_election_leave(struct l2_election *e);

/* Decides again: after each of the above and when `due` has come. Sets due. */
enum l2_action l2_election_judge(struct l2_election *e, int64_t now);

/* What this member says in its next heartbeat. */
struct l2_word l2_election_word(const struct l2_election *e, int64_t now);
/* The owner as far as this member knows: the best one if there are two; NULL: none is known. */
const char *l2_election_owner(const struct l2_election *e);

const char *l2_state_name(enum l2_state s);   /* "backup", "owner", "leaving" */
const char *l2_reason_name(enum l2_reason r); /* "listening", "unfit", ... */
