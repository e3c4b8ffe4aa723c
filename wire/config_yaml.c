/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_yaml: connects the schema of maglev.yaml (core/l4/schema.h), which does not
 * depend on YAML, to the reader of documents (lib/config/document.h), which does not
 * depend on load balancing.
 */
#include "wire/config_yaml.h"

#include "core/l4/schema.h"

int config_yaml_parse(const char *bytes, size_t n, enum config_mode mode, struct arena *arena,
		      struct l4_doc *ret, struct errs *errors)
{
	struct l4_doc doc = { 0 };
	int r = config_document_parse((struct str){ bytes, n }, mode, &l4_schema, arena, &doc,
				      errors);

	if (r == 0)
		*ret = doc;
	return r;
}

int config_yaml_load(const struct config_sources *sources, enum config_mode mode,
		     struct arena *arena, struct l4_doc *ret, struct errs *errors)
{
	struct l4_doc doc = { 0 };
	int r = config_document_load(sources, mode, &l4_schema, arena, &doc, errors);

	if (r == 0)
		*ret = doc;
	return r;
}
