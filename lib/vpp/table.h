/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: which messages one VPP knows, and under which numbers.
 *
 * A message is known by its name and the checksum of its layout together ("control_ping_51077d14"):
 * another checksum is another layout, that nobody here speaks. Numbers hold for one connection.
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
	struct vpp_table_entry *entries; /* by name */
	size_t n;
};

/* n entries of 66 bytes from r; false, and nothing to free, when they are not there. */
bool vpp_table_read(struct vpp_table *t, struct vpp_reader *r, size_t n);
void vpp_table_free(struct vpp_table *t);

/* -ENOENT when this very name is not there. */
int vpp_table_find(const struct vpp_table *t, const char *name, uint16_t *ret_id);
/* The full name of a message of that name, whatever its checksum; NULL when there is none. */
const char *vpp_table_like(const struct vpp_table *t, const char *name_without_checksum);
/* Whether any name begins so. */
bool vpp_table_has_prefix(const struct vpp_table *t, const char *prefix);
