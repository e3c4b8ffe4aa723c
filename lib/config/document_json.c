/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/config/document_node.h"
#include "lib/json/tree.h"

/* 5.0 and 1e3 are whole numbers, too, but no setting is written so. */
static enum config__type type_of(const struct json_node *j)
{
	static const enum config__type types[] = {
		[JSON_KIND_NULL] = CONFIG__NOTHING, [JSON_KIND_BOOL] = CONFIG__BOOL,
		[JSON_KIND_NUMBER] = CONFIG__INT,   [JSON_KIND_STRING] = CONFIG__TEXT,
		[JSON_KIND_ARRAY] = CONFIG__LIST,   [JSON_KIND_OBJECT] = CONFIG__MAPPING,
	};

	if (j->kind == JSON_KIND_NUMBER && strpbrk(j->text, ".eE"))
		return CONFIG__FLOAT;
	return types[j->kind];
}

static struct config__node view(const struct json_node *j)
{
	struct config__node node = {
		.type = type_of(j), .truth = j->truth, .at = j->at, .n = j->n, .tree = j
	};

	if (j->kind == JSON_KIND_STRING || j->kind == JSON_KIND_NUMBER)
		node.text = j->text;
	return node;
}

/* Programs write JSON, and larger documents than people write in YAML. */
static const struct json_options options = {
	.limits = { .bytes = (size_t)64 << 20, .members = 10000000 },
};

static int parse(struct str bytes, struct arena *arena, struct config__node *ret,
		 struct errs *errors)
{
	const struct json_node *root;
	int e = json_parse(bytes, &options, arena, &root, errors);

	if (e == 0)
		*ret = view(root);
	return e;
}

static struct config__node item(const struct config__node *list, size_t i)
{
	return view(&((const struct json_node *)list->tree)->items[i]);
}

static struct config__node pair(const struct config__node *mapping, size_t i,
				struct config__node *ret_key)
{
	const struct json_member *m = &((const struct json_node *)mapping->tree)->members[i];

	*ret_key = (struct config__node){
		.type = CONFIG__TEXT, .at = m->at, .n = strlen(m->key), .text = m->key
	};
	return view(&m->value);
}

const struct config__syntax config__json = {
	.parse = parse, .item = item, .pair = pair, .null_is_absent = true
};
