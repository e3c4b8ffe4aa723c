/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api.h"
#include "wire/api_private.h"

/* All errors as one text, one line each, without the last newline; "" if there are none. */
static char *text_of(const struct errs *errors, const char *file, struct arena *a)
{
	struct buf text = { 0 };
	char *copy;

	if (errors)
		errs_print(errors, file, &text);
	if (text.n && text.p[text.n - 1] == '\n')
		text.n--;
	copy = arena_strndup(a, text.p, text.n);
	buf_free(&text);
	return copy;
}

#define LINES_MAX (ERRS_MAX + 1) /* one more for the dropped ones */

/* The errors as lines, the last of which counts those that were dropped. */
static char **lines_of(const struct errs *errors, const char *file, struct arena *a, size_t *ret_n)
{
	struct str rest = str_of(text_of(errors, file, a)), line;
	char **lines = arena_array_of(a, LINES_MAX, char *);
	size_t n = 0;

	while (rest.n && n <= ERRS_MAX && str_cut(&rest, '\n', &line))
		lines[n++] = arena_strndup(a, line.p, line.n);
	*ret_n = n;
	return lines;
}

/* No error and no refusal. A list that dropped errors is full, so n is enough. */
static bool is_good(const struct wire_config *c)
{
	return !(c->parse_errors && c->parse_errors->n) &&
	       !(c->semantic_errors && c->semantic_errors->n) && !c->reload_error;
}

/* The lines are borrowed from c->changes. */
static char **changes_of(const struct wire_config *c, struct arena *a, size_t *ret_n)
{
	size_t n = c->changes ? c->changes->n : 0;
	char **lines = arena_array_of(a, n, char *);

	for (size_t i = 0; i < n; i++)
		lines[i] = wire__text(c->changes->lines[i]);
	*ret_n = n;
	return lines;
}

Maglev__CheckConfigResponse *wire_check_config(const struct wire_config *c, struct arena *a)
{
	Maglev__CheckConfigResponse *r =
		API__NEW(a, Maglev__CheckConfigResponse, maglev__check_config_response__init);

	r->ok = is_good(c);
	r->parse_error = text_of(c->parse_errors, c->file, a);
	r->semantic_error = text_of(c->semantic_errors, c->file, a);
	r->warnings = lines_of(c->warnings, c->file, a, &r->n_warnings);
	r->changes = changes_of(c, a, &r->n_changes);
	r->reload_error = wire__text(c->reload_error);
	return r;
}

Maglev__ReloadConfigResponse *wire_reload_config(const struct wire_config *c, struct arena *a)
{
	Maglev__ReloadConfigResponse *r =
		API__NEW(a, Maglev__ReloadConfigResponse, maglev__reload_config_response__init);

	r->ok = is_good(c);
	r->parse_error = text_of(c->parse_errors, c->file, a);
	r->semantic_error = text_of(c->semantic_errors, c->file, a);
	r->reload_error = wire__text(c->reload_error);
	r->warnings = lines_of(c->warnings, c->file, a, &r->n_warnings);
	if (r->ok)
		r->changes = changes_of(c, a, &r->n_changes);
	return r;
}
