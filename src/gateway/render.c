/* SPDX-License-Identifier: Apache-2.0 */
/*
 * render: entries as text, after the rules of the router have found nothing wrong with them.
 *
 * A router refuses a document with a mistake as a whole. So every entry is checked here by the same
 * rules, alone, and one with a mistake never leaves the translator: it becomes a condition of the
 * object that it was made from.
 */
#include "base/cleanup.h"
#include "src/gateway/model.h"
#include "wire/router_json.h"

const char *gw__render(struct gw *g, const struct l7_doc *doc, enum gw_entry_kind kind,
		       struct buf *out)
{
	static const enum router_entry kinds[] = { [GW_LISTENERS] = ROUTER_LISTENERS,
						   [GW_ROUTES] = ROUTER_ROUTES,
						   [GW_STREAMS] = ROUTER_STREAMS,
						   [GW_POOLS] = ROUTER_POOLS };
	struct errs errors = { .arena = g->scratch }, warnings = { .arena = g->scratch };
	struct l7_config config;

	if (l7_config_build(doc, g->scratch, &g->settings.calls.regex, &config, &errors,
			    &warnings) < 0)
		return errors.n ? arena_printf(g->scratch, "%s: %s", errors.items[0].key,
					       errors.items[0].text)
				: "it is not valid";
	router_json_entry_whole(&config, kinds[kind], 0, out);
	return NULL;
}
