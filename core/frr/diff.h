/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: the commands that turn the running configuration of FRR into the wanted one.
 *
 * The order keeps traffic right at every step:
 *
 *	1. networks that go are withdrawn, before anything else, because traffic is lost otherwise
 *	2. BFD profiles, lists, route maps, neighbours and their options are added or changed: what
 *	   is used comes before what uses it, so that a route is permitted before it is announced
 *	3. networks are announced, or get another route map
 *	4. options, neighbours, route maps, lists and BFD profiles that go are removed
 *
 * Not every difference can be made this way. A list entry whose content changes under the same
 * number, a route map entry that changes between permit and deny, another "router bgp", and every
 * change of a foreign line need the full reload. The plan then has a reason instead of operations.
 *
 * Pure; printable; the same input gives the same output.
 */
#pragma once

#include "core/frr/conf.h"

struct frr_op {
	enum frr_daemon to;
	enum frr_kind kind;
	bool removes;	     /* the line is the undo of a statement */
	bool drops;	     /* ends BGP sessions */
	const char *context; /* see struct frr_statement */
	const char *line;
};

/* Strings are borrowed from the two configurations, except `why`. */
struct frr_plan {
	VEC(struct frr_op) ops;
	/*
	 * Route maps or lists change: bgpd considers that only after bgp route-map delay-timer, 5 s
	 * by default, unless it is told to send its routes again.
	 */
	bool policy;
	size_t announced, withdrawn; /* networks */
	char why[256];		     /* why the full reload is needed; "": it is not */
};

/*
 * Plans the way from running to wanted. `base` is the text from which the running configuration was
 * made by the last full reload: its foreign lines must be those of wanted. *ret is overwritten;
 * free it with frr_plan_free().
 */
void frr_diff(const struct frr_conf *running, const struct frr_conf *base,
	      const struct frr_conf *wanted, struct frr_plan *ret);
void frr_plan_free(struct frr_plan *p);

/*
 * The commands after which bgpd sends its routes again with the policy of `wanted` that a plan has
 * changed, one per line: "clear bgp ipv4 unicast 10.0.0.2 soft out" for each neighbour whose
 * outbound route map changes. If another route map or a list changes, it may concern everybody:
 * "clear bgp ipv4 unicast * soft out" for each family of each router with a neighbour in it.
 */
void frr_refresh_print(const struct frr_conf *wanted, const struct frr_plan *p, struct buf *out);
/* One line, no newline: "bgpd: router bgp 64512 / address-family ipv4 unicast: no network P". */
void frr_op_print(const struct frr_op *op, struct buf *out);
