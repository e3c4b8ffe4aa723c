/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/config/document_node.h"
#include "lib/yaml/yaml.h"

static enum config__type type_of(const struct yaml_node *y)
{
	static const enum config__type types[] = {
		[YAML_NULL] = CONFIG__NOTHING, [YAML_BOOL] = CONFIG__BOOL, [YAML_INT] = CONFIG__INT,
		[YAML_FLOAT] = CONFIG__FLOAT,  [YAML_TEXT] = CONFIG__TEXT,
	};

	if (y->kind == YAML_SCALAR)
		return types[y->type];
	return y->kind == YAML_MAPPING ? CONFIG__MAPPING : CONFIG__LIST;
}

static struct config__node view(const struct yaml_node *y)
{
	struct config__node node = {
		.type = type_of(y), .plain = y->plain, .at = y->at, .n = y->n, .tree = y
	};

	if (y->kind == YAML_SCALAR)
		node.text = y->text;
	/* "true", "True" or "TRUE" */
	if (node.type == CONFIG__BOOL)
		node.truth = (y->text[0] | 0x20) == 't';
	return node;
}

static int parse(struct str bytes, struct arena *arena, struct config__node *ret,
		 struct errs *errors)
{
	const struct yaml_node *root;
	int e = yaml_parse(bytes.p, bytes.n, arena, &root, errors);

	if (e == 0)
		*ret = view(root);
	return e;
}

static struct config__node item(const struct config__node *list, size_t i)
{
	return view(((const struct yaml_node *)list->tree)->items[i]);
}

static struct config__node pair(const struct config__node *mapping, size_t i,
				struct config__node *ret_key)
{
	const struct yaml_pair *p = &((const struct yaml_node *)mapping->tree)->pairs[i];

	*ret_key = view(p->key);
	return view(p->value);
}

const struct config__syntax config__yaml = { .parse = parse, .item = item, .pair = pair };
