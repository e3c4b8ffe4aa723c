/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/vpp/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sorted.h"

#define ENTRY_SIZE (2 + VPP_NAME_SIZE)
#define CHECKSUM_SIZE 9 /* "_" and eight hexadecimal digits */

/* Total order: for duplicate names the smallest number wins in every run. */
static int by_name(const void *a, const void *b)
{
	const struct vpp_table_entry *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->id > y->id) - (x->id < y->id);
}

bool vpp_table_read(struct vpp_table *t, struct vpp_reader *r, size_t n)
{
	if (r->bad || n > r->n / ENTRY_SIZE)
		return false;

	*t = (struct vpp_table){ .entries = mem_resize(NULL, n, sizeof(*t->entries)), .n = n };
	for (size_t i = 0; i < n; i++) {
		struct vpp_table_entry *e = &t->entries[i];
		struct str name;

		*e = (struct vpp_table_entry){ .id = vpp_get_u16(r) };
		name = vpp_get_name(r, VPP_NAME_SIZE);
		memcpy(e->name, name.p, name.n < VPP_NAME_SIZE ? name.n : VPP_NAME_SIZE - 1);
	}
	qsort(t->entries, n, sizeof(*t->entries), by_name);
	return true;
}

void vpp_table_free(struct vpp_table *t)
{
	free(t->entries);
	*t = (struct vpp_table){ 0 };
}

/* The position of the first name that does not sort before text. */
static size_t lower_bound(const struct vpp_table *t, const char *text)
{
	return sorted_place(t->n, i, strcmp(t->entries[i].name, text) < 0);
}

int vpp_table_find(const struct vpp_table *t, const char *name, uint16_t *ret_id)
{
	size_t i = lower_bound(t, name);

	if (i == t->n || strcmp(t->entries[i].name, name) != 0)
		return -ENOENT;
	*ret_id = t->entries[i].id;
	return 0;
}

static bool is_checksum(const char *text)
{
	return text[0] == '_' && strlen(text) == CHECKSUM_SIZE &&
	       strspn(text + 1, "0123456789abcdef") == CHECKSUM_SIZE - 1;
}

const char *vpp_table_like(const struct vpp_table *t, const char *name_without_checksum)
{
	size_t n = strlen(name_without_checksum);

	for (size_t i = lower_bound(t, name_without_checksum); i < t->n; i++) {
		const char *name = t->entries[i].name;

		if (strncmp(name, name_without_checksum, n) != 0)
			break;
		if (is_checksum(name + n))
			return name;
	}
	return NULL;
}

bool vpp_table_has_prefix(const struct vpp_table *t, const char *prefix)
{
	size_t i = lower_bound(t, prefix);

	return i < t->n && strncmp(t->entries[i].name, prefix, strlen(prefix)) == 0;
}
