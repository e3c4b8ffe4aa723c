/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: which messages a VPP knows, and their numbers.
 *
 * A message is identified by its name and the checksum of its layout together
 * ("control_ping_51077d14"): another checksum is another layout, which we cannot encode. The
 * numbers hold for one connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/vpp/message.h"

struct vpp_table_entry {
	char name[VPP_NAME_SIZE];
	uint16_t id;
};

struct vpp_table {
	struct vpp_table_entry *entries; /* sorted by name */
	size_t n;
};

/* Reads n entries of 66 bytes from r. False, with nothing to free, if r has fewer. */
bool vpp_table_read(struct vpp_table *t, struct vpp_reader *r, size_t n);
void vpp_table_free(struct vpp_table *t);

/* -ENOENT if this exact name is not in the table; *ret_id is untouched then. */
int vpp_table_find(const struct vpp_table *t, const char *name, uint16_t *ret_id);
/*
 * The full name of the message with this name and any checksum, borrowed; NULL if there is none.
 * For error messages about a VPP of another version.
 */
const char *vpp_table_like(const struct vpp_table *t, const char *name_without_checksum);
/* Whether any name begins with prefix, for example that of a plugin. */
bool vpp_table_has_prefix(const struct vpp_table *t, const char *prefix);
