/* SPDX-License-Identifier: Apache-2.0 */
/* The annotations and classes that users of maglev-mux write. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lib/tls/digest.h"
#include "src/mux/names.h"
#include "src/mux/notes.h"

#define PREFIX "svc-mux.nowake.ai"

/* A refusal has a sentence, which is one line. */
static void check(int r, const char *why)
{
	if ((r < 0) != (why != NULL) || (why && strchr(why, '\n')))
		abort();
}

static void parse_ports(const char *text, struct arena *arena)
{
	struct mux_overrides o;
	const char *why = NULL;
	int r = mux_parse_external_ports(PREFIX, text, arena, &o, &why);

	check(r, why);
	for (size_t i = 0; r == 0 && i < o.n; i++)
		if (!*o.items[i].name || !mux_override_of(&o, o.items[i].name))
			abort();
}

static void parse_range(const char *text, struct arena *arena)
{
	struct mux_ranges r, again;
	const char *why = NULL, *shown;
	int ret = mux_parse_port_range(PREFIX, text, arena, &r, &why);

	check(ret, why);
	if (ret < 0)
		return;
	/* what is shown means the same */
	shown = mux_ranges_show(&r, arena);
	if (mux_parse_port_range(PREFIX, shown, arena, &again, &why) < 0 || again.n != r.n ||
	    (r.n && memcmp(again.items, r.items, r.n * sizeof(*r.items)) != 0))
		abort();
}

static void parse_class(const char *text, struct arena *arena)
{
	static const struct mux_settings settings = { PREFIX, "default", tls_sha256 };
	const char *class = arena_printf(arena, PREFIX "/%s", text), *why = NULL;
	struct mux_reference ref;
	int r = mux_class_parse(&settings, class, arena, &ref, &why);

	check(r, why);
	if (r == 0 && (!mux_is_label(str_of(ref.name)) || !mux_is_label(str_of(ref.namespace))))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *text = arena_strndup(arena, (const char *)data, size), *why = NULL;
	struct mux_admits admits;
	unsigned max;
	int64_t grace;

	parse_ports(text, arena);
	parse_range(text, arena);
	parse_class(text, arena);
	check(mux_parse_max_ports(PREFIX, text, arena, &max, &why), why);
	why = NULL;
	check(mux_parse_release_grace(PREFIX, text, arena, &grace, &why), why);
	why = NULL;
	check(mux_parse_allowed_namespaces(PREFIX, text, arena, &admits, &why), why);
	mux_mapped_port(text, "http");
	arena_free(arena);
	return 0;
}
