/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_l2: the interfaces of a node of a cluster: ARP and NDP for the addresses that the node owns,
 * and the heartbeats of its speaker.
 *
 * All interfaces on which addresses can be announced (lib/l2/links.h), except those of a list of
 * patterns, have a responder and, once there is a key, heartbeats. They are looked at every two
 * seconds. One that cannot be opened is tried again then; this is logged once.
 *
 * A heartbeat names no VIP: it says that the speaker of this node is there. One with the address
 * 0.0.0.0 and priority 0 says that it leaves.
 */
#pragma once

#include "base/str.h"
#include "core/metal/doc.h"
#include "lib/l2/heartbeat.h"
#include "lib/l2/responder.h"

struct kube_l2;

#define KUBE_L2_BEAT 0.2 /* s between heartbeats */

/* Strings are borrowed. */
struct kube_l2_config {
	struct ev_loop *loop;
	const char *node;    /* in heartbeats; at most L2_BEAT_NAME bytes */
	const char *exclude; /* patterns of interfaces with commas between them */
	/* Another node was heard, or says that it leaves. Must not free it. */
	void (*heard)(const char *node, bool leaves, void *user);
	/* Interfaces came or went. */
	void (*changed)(void *user);
	void *user;
};

/* An address that this node owns. */
struct kube_l2_claim {
	struct addr address;
	struct metal_texts interfaces; /* sorted; n 0: all */
};

struct kube_l2_counts {
	uint64_t requests, answers, announcements;
};

struct kube_l2 *kube_l2_new(const struct kube_l2_config *config);
void kube_l2_free(struct kube_l2 *l); /* NULL is allowed */
/* Of the heartbeats; "": there are none. */
void kube_l2_set_key(struct kube_l2 *l, struct str key);
/*
 * The addresses that are owned from now on; each at most once. Those that are new on an interface
 * are announced there. again: the others too, because other nodes may have answered for them.
 */
void kube_l2_claim(struct kube_l2 *l, const struct kube_l2_claim *list, size_t n, bool again);
/* Reads heartbeats that wait, before a node is taken for dead. */
void kube_l2_look(struct kube_l2 *l);
/* Gives up all addresses and tells the others, for good. */
void kube_l2_leave(struct kube_l2 *l);

/* Whether an interface of these names is there; n 0: any. */
bool kube_l2_has(const struct kube_l2 *l, const struct metal_texts *names);
/* Of an address on all interfaces, since the start. */
struct kube_l2_counts kube_l2_counts(const struct kube_l2 *l, const struct addr *a);
struct l2_heartbeat_stats kube_l2_heartbeats(const struct kube_l2 *l);
size_t kube_l2_interfaces(const struct kube_l2 *l);
