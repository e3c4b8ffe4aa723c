/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/drains.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/json/cursor.h"
#include "lib/json/json.h"

static void add_text(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "\"%s\": ", key);
	json_write_string(out, value, strlen(value));
	buf_adds(out, ", ");
}

void drains_format(const struct drain *list, size_t n, struct buf *out)
{
	char address[ADDR_STRLEN];

	buf_adds(out, "{\n  \"drains\": [");
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ",\n    {" : "\n    {");
		add_text(out, "vip", list[i].vip);
		add_text(out, "address", addr_format(&list[i].address, address));
		add_text(out, "reason", list[i].reason);
		add_text(out, "operator", list[i].who.name);
		add_text(out, "operator_address",
			 addr_is_set(&list[i].who.address)
				 ? addr_format(&list[i].who.address, address)
				 : "");
		buf_printf(out, "\"at\": %" PRId64 "}", list[i].at);
	}
	buf_adds(out, n ? "\n  ]\n}\n" : "]\n}\n");
}

static int read_text(const struct json_cursor *of, const char *key, const char **ret)
{
	struct json_cursor c = json_member(of, key);
	int r = json_require(&c);

	return r < 0 ? r : json_get_string(&c, ret);
}

/* Both are optional; an address that is none is not worth losing a drain for. */
static int read_who(const struct json_cursor *of, struct who *ret)
{
	struct json_cursor name = json_member(of, "operator");
	struct json_cursor address = json_member(of, "operator_address");
	const char *text = "", *at = "";

	*ret = (struct who){ 0 };
	if (json_get_string(&name, &text) < 0 || json_get_string(&address, &at) < 0)
		return -EINVAL;
	memcpy(ret->name, text, utf8_fitting(text, strlen(text), sizeof(ret->name) - 1));
	addr_parse(at, &ret->address);
	return 0;
}

static int read_drain(const struct json_cursor *of, struct drain *ret)
{
	struct json_cursor address = json_member(of, "address"), at = json_member(of, "at");
	const char *text = "";

	if (read_text(of, "vip", &ret->vip) < 0 || read_text(of, "reason", &ret->reason) < 0 ||
	    read_text(of, "address", &text) < 0 || json_require(&at) < 0 ||
	    json_get_i64(&at, 1, INT64_MAX, &ret->at) < 0 || read_who(of, &ret->who) < 0)
		return -EINVAL;
	if (addr_parse(text, &ret->address) < 0)
		return json_complain(&address, "\"%s\" is not an address", text);
	return 0;
}

int drains_parse(struct str text, struct arena *arena, const struct drain **ret, size_t *ret_n,
		 struct errs *errors)
{
	const struct json_node *tree;
	struct json_cursor root, all;
	struct drain *list;
	int r = json_parse(text, NULL, arena, &tree, errors);

	if (r < 0)
		return r;
	root = json_cursor_of(tree, errors);
	all = json_member(&root, "drains");
	if (json_require(&all) < 0 || json_get_kind(&all, JSON_KIND_ARRAY) < 0)
		return -EINVAL;
	list = arena_array_of(arena, all.node->n, struct drain);
	for (size_t i = 0; i < all.node->n; i++) {
		struct json_cursor one = json_item(&all, i);

		r = read_drain(&one, &list[i]);
		if (r < 0)
			return r;
	}
	*ret = list;
	*ret_n = all.node->n;
	return 0;
}
