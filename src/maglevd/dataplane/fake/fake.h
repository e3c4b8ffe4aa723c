/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake: a data plane in memory, for test programs only.
 *
 * A struct fake_plane stands for the kernel or for VPP: it outlives the drivers that connect to
 * it, so a test can stop one maglevd and start another on the same plane. It keeps a journal of
 * every operation in the order it was carried out, and fails on command.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"
#include "core/l4/lb.h"
#include "src/maglevd/dataplane/dataplane.h"

struct fake_plane {
	struct lb_state state;
	VEC(char *) journal; /* lb_op_print() of each operation carried out */
	unsigned observes;

	/* how it fails */
	double lag; /* s before any answer */
	bool hang;  /* no answer at all until fake_plane_set_up(false) */
	unsigned
		fail_applies; /* that many requests from now on fail, after half their operations */
	unsigned fail_observes;
	const char *fail_match; /* operations whose text holds this always fail; NULL: none */

	/* what it reports: nothing, until these are set */
	bool counts, known;
	struct lb_counters counters;
	struct dataplane_info info;
	VEC(struct dataplane_messages) messages; /* of info */
	VEC(char *) texts;			 /* see fake_plane_keep() */
	/* of attachment(); changed by fake_plane_set_interface() */
	VEC(struct lb_interface) interfaces;
	struct lb_attachment attachment;

	bool up;		  /* set with fake_plane_set_up() */
	struct dataplane *driver; /* connected to it, or NULL */
};

extern const struct dataplane_driver fake_driver;

/* The plane that the next fake_driver.start() connects to. */
void fake_use(struct fake_plane *plane);

void fake_plane_free(struct fake_plane *plane);
/* Goes up in a later turn of the loop; goes down at once, and drops the request under way. */
void fake_plane_set_up(struct fake_plane *plane, bool up);
void fake_plane_clear_journal(struct fake_plane *plane);
/* A copy that lives as long as the plane: for names of events and texts of info. */
const char *fake_plane_keep(struct fake_plane *plane, const char *text);
/*
 * Adds an interface, or replaces the one of that name, and reports the problem of the plane: that
 * of its last interface that is not attached.
 */
void fake_plane_set_interface(struct fake_plane *plane, const struct lb_interface *interface);
/* SIZE_MAX when there is no such line; looks for lines that hold text, from index from on. */
size_t fake_plane_find(const struct fake_plane *plane, const char *text, size_t from);
/* -1 when there is no such VIP or AS. Addresses as text. */
int fake_plane_weight(const struct fake_plane *plane, const char *vip, const char *as);
/* Changes a weight as another program would, without the driver. The VIP and AS must exist. */
void fake_plane_set_weight(struct fake_plane *plane, const char *vip, const char *as,
			   unsigned weight);
