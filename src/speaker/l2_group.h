/* SPDX-License-Identifier: Apache-2.0 */
/*
 * l2_group: this machine as a member of one group on one interface: its heartbeats, an election for
 * each VIP (core/l2), and ARP and NDP for the VIPs that it owns (lib/l2).
 *
 * An interface that is absent, down or of no use is a problem that is shown; it is looked at again
 * until it can be used, and the member then listens before it stands. It logs every change.
 */
#pragma once

#include "core/bgp/config.h"
#include "core/l2/election.h"
#include "lib/l2/heartbeat.h"
#include "lib/loop/loop.h"

struct l2_group;

struct l2_group_config {
	const char *member;	    /* the own name */
	const struct bgp_l2 *group; /* copied, as member */
	uint64_t boot;		    /* grows with every start of the process */
	/* What a view shows has changed. Must not free the group. */
	void (*changed)(void *user);
	void *user;
};

struct l2_group_vip {
	const char *name; /* copied */
	struct addr address;
	uint8_t priority;
};

/* How this member stands for a VIP. */
enum l2_stance {
	L2_STANDS_NOT,
	L2_STANDS_LAST, /* with priority 1: it owns the VIP only if no other member can */
	L2_STANDS,
};

struct l2_view {
	const char *group, *interface;
	const char *problem; /* why the VIP cannot be owned here; "": it can */
	const struct l2_election *election;
	uint8_t priority; /* as configured */
	uint64_t transitions;
	uint64_t requests, answers, announcements; /* of ARP or NDP */
};

/*
 * Opens the interface from the loop. Never fails: an interface of no use is a state. It has no VIPs
 * before l2_group_configure().
 */
struct l2_group *l2_group_new(struct ev_loop *loop, const struct l2_group_config *config);
/* Leaves first. NULL is allowed. */
void l2_group_free(struct l2_group *g);
/* Whether it is the same group for the others: name of the member, interface, number, key, port. */
bool l2_group_is(const struct l2_group *g, const struct l2_group_config *config);
/*
 * Another name, rule or list of VIPs. VIPs keep their election by address; one that is not listed
 * is released, and the others hear of it. New ones do not stand.
 */
void l2_group_configure(struct l2_group *g, const struct bgp_l2 *group,
			const struct l2_group_vip *vips, size_t n);
/* l2_group_judge() must follow. */
void l2_group_stand(struct l2_group *g, const struct addr *vip, enum l2_stance stance);
void l2_group_judge(struct l2_group *g);
/* Gives up all VIPs and tells the others, for good. */
void l2_group_leave(struct l2_group *g);

/* Valid until the group changes or another VIP is viewed; false if there is no such VIP. */
bool l2_group_view(const struct l2_group *g, const struct addr *vip, struct l2_view *ret);
const char *l2_group_name(const struct l2_group *g);
/* Why the interface cannot be used; "": it can. */
const char *l2_group_problem(const struct l2_group *g);
struct l2_heartbeat_stats l2_group_stats(const struct l2_group *g);
