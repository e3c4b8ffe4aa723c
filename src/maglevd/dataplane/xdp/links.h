/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links: the program on its interfaces.
 *
 * Each interface has a link, pinned beside the maps under a name that contains the interface. A
 * link that an earlier maglevd has left is adopted. A check every second finds what other
 * programs have changed and repairs it. An interface that does not exist, or refuses the program,
 * is logged once and tried again.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"
#include "core/l4/lb.h"
#include "src/maglevd/dataplane/xdp/folder.h"

struct xdplb_link {
	char name[IFNAMSIZ];
	struct xdp_link *link; /* NULL: not attached */
	uint32_t queues;    /* receive queues when it was attached or last updated; 0: not known */
	bool refit;	    /* the mode has changed: attach it again if it is in another one */
	enum xdp_mode mode; /* in force while it is attached; XDP_MODE_AUTO: not known */
	char problem[128];  /* why it is not attached; "": it is */
};

struct xdplb_links {
	const char *folder; /* the caller's */
	enum xdp_mode mode;
	VEC(struct xdplb_link) list;
	VEC(struct lb_interface) shown; /* see xdplb__links_show() */
};

/*
 * Takes the interfaces and the mode of a configuration. Interfaces that it does not list are
 * detached at once; new ones are attached by the next check.
 */
void xdplb__links_set(struct xdplb_links *l, const struct l4_xdp *c);
/*
 * Removes the links in the folder whose interface is not configured. Removing the pin detaches
 * them.
 */
void xdplb__links_tidy(const struct xdplb_links *l);
/*
 * Checks and repairs all links. Returns how many are attached. May take ten milliseconds for each
 * link that has to be attached or updated.
 */
size_t xdplb__links_check(struct xdplb_links *l, const struct xdplb_maps *m);
/* Replaces the program of every link by that of these maps, between two packets. */
void xdplb__links_switch(struct xdplb_links *l, const struct xdplb_maps *m);
/* Explains why some interface is not attached. */
void xdplb__links_explain(const struct xdplb_links *l, struct xdplb_why *why);
/* The interfaces for the API, in l->shown; texts are valid until the next check or change. */
void xdplb__links_show(struct xdplb_links *l);
/* Closes the descriptors. The links stay pinned and attached. */
void xdplb__links_close(struct xdplb_links *l);

/* Detaches and unpins every link in the folder, and adds a line for each to out. */
int xdplb__links_remove(const char *folder, struct buf *out);
