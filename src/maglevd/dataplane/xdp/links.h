/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links: the program on its interfaces.
 *
 * Each interface has a link, pinned beside the maps under a name that says the interface; a link
 * that an earlier maglevd has left is taken over. Looking at them every second finds what others
 * have done to them, and puts it right. An interface that is not there, or does not take the
 * program, is told of once and tried again.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"
#include "src/maglevd/dataplane/xdp/folder.h"

struct xdplb_link {
	char name[IFNAMSIZ];
	struct xdp_link *link; /* NULL: not attached */
	uint32_t queues;       /* when it was attached or last updated; 0: not known */
	bool refit;	       /* the mode was changed */
	char problem[128];     /* why it is not attached; "": it is */
};

struct xdplb_links {
	const char *folder; /* the caller's */
	enum xdp_mode mode;
	VEC(struct xdplb_link) list;
};

/* Takes the interfaces and the mode of a configuration; lets go of those that it has not. */
void xdplb__links_set(struct xdplb_links *l, const struct l4_xdp *c);
/* Unpins, and thereby detaches, links in the folder of interfaces that are not ours. */
void xdplb__links_tidy(const struct xdplb_links *l);
/* Looks after all of them. How many are attached. */
size_t xdplb__links_check(struct xdplb_links *l, const struct xdplb_maps *m);
/* Puts the program of these maps in the place of that of others, between two packets. */
void xdplb__links_switch(struct xdplb_links *l, const struct xdplb_maps *m);
/* Why none is attached. */
void xdplb__links_explain(const struct xdplb_links *l, struct xdplb_why *why);
/* Links stay where they are pinned. */
void xdplb__links_close(struct xdplb_links *l);

/* Detaches and unpins every link in the folder; a line for each into out. */
int xdplb__links_remove(const char *folder, struct buf *out);
