/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flows: the sessions of a UDP listener of one thread, found by the two ends of a datagram; and a
 * wheel, which says when each has to be looked at. Pure: the time is a parameter.
 *
 * The hash has a seed, so that nobody can choose addresses that meet at one place of the table. The
 * table grows with the number of sessions; its owner bounds them.
 *
 * The wheel has one list for each second. A session whose datagrams come is not moved: when its
 * second is there, its owner sees that it is not silent and adds it again. So a datagram costs
 * nothing here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/net/udp.h"

struct flow_node {
	struct flow_node *next;
	uint64_t hash;
	struct udp_path path;
	TAILQ_ENTRY(flow_node) in_wheel;
	uint32_t slot; /* of the wheel */
};

TAILQ_HEAD(flow_nodes, flow_node);

struct flows {
	struct flow_node **buckets;
	size_t n, size; /* size: a power of two, or 0 */
	uint64_t seed;
};

void flows_init(struct flows *f, uint64_t seed);
/* Nodes belong to their owners. */
void flows_free(struct flows *f);
uint64_t flows_hash(const struct flows *f, const struct udp_path *path);
/* NULL: there is none. */
struct flow_node *flows_find(const struct flows *f, const struct udp_path *path, uint64_t hash);
/* There must be none with that path. */
void flows_add(struct flows *f, struct flow_node *node, const struct udp_path *path, uint64_t hash);
void flows_remove(struct flows *f, struct flow_node *node);
/* The one after it, in any order; the first after NULL. NULL: there are no more. */
struct flow_node *flows_next(const struct flows *f, const struct flow_node *node);

/* ---- the wheel ---- */

#define FLOW_WHEEL 128 /* s; later ones are looked at after that time */

struct flow_wheel {
	struct flow_nodes slots[FLOW_WHEEL + 1]; /* the last one has those that are due */
	int64_t now;				 /* s */
};

void flow_wheel_init(struct flow_wheel *w, int64_t now);
/* due is in seconds. */
void flow_wheel_add(struct flow_wheel *w, struct flow_node *node, int64_t due);
void flow_wheel_remove(struct flow_wheel *w, struct flow_node *node);
/* It is now that second. */
void flow_wheel_turn(struct flow_wheel *w, int64_t now);
/* All are to be looked at. */
void flow_wheel_hurry(struct flow_wheel *w);
/* Takes a node that is due out of the wheel, or is to be looked at. NULL: there are no more. */
struct flow_node *flow_wheel_take(struct flow_wheel *w);
