/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a mux: what is read is written and read again, and is the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "src/mux/state.h"

static void check_lists(const struct mux_claim *a, const struct mux_claim *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (mux_claim_cmp(&a[i], &b[i]) != 0 || a[i].mux_port != b[i].mux_port ||
		    a[i].channel_port != b[i].channel_port || a[i].automatic != b[i].automatic)
			abort();
}

static void write_and_read(struct mux_state *s, struct arena *arena)
{
	struct buf out = { 0 };
	struct mux_state again;
	const char *why;

	s->namespace = s->namespace ? s->namespace : "";
	s->name = s->name ? s->name : "";
	mux_state_write(s, &out);
	if (mux_state_parse(buf_cstr(&out), arena, &again, &why) < 0 || again.migrated ||
	    again.n_claims != s->n_claims || again.n_released != s->n_released)
		abort();
	check_lists(again.claims, s->claims, s->n_claims);
	check_lists(again.released, s->released, s->n_released);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *text = arena_strndup(arena, (const char *)data, size), *why = NULL;
	struct mux_state s = { 0 };
	int r = mux_state_parse(text, arena, &s, &why);

	if ((r < 0) != (why != NULL) || (r < 0 && s.n_claims))
		abort();
	if (r == 0)
		write_and_read(&s, arena);
	arena_free(arena);
	return 0;
}
