/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/router_doc.h"

int router_doc_parse(struct str bytes, enum router_syntax syntax, struct arena *arena,
		     struct l7_doc *ret, struct errs *errors)
{
	*ret = (struct l7_doc){ 0 };
	return (syntax == ROUTER_JSON ? config_document_parse_json : config_document_parse)(
		bytes, CONFIG_STRICT, &l7_schema, arena, ret, errors);
}

int router_doc_load(const struct config_sources *sources, enum router_syntax syntax,
		    struct arena *arena, struct l7_doc *ret, struct errs *errors)
{
	struct config_sources own = *sources;

	own.json = syntax == ROUTER_JSON;
	*ret = (struct l7_doc){ 0 };
	return config_document_load(&own, CONFIG_STRICT, &l7_schema, arena, ret, errors);
}

int router_doc_parse_servers(struct str bytes, struct arena *arena, struct l7_doc_pool *ret,
			     struct errs *errors)
{
	*ret = (struct l7_doc_pool){ 0 };
	return config_document_parse_json(bytes, CONFIG_STRICT, &l7_servers_schema, arena, ret,
					  errors);
}
