/* SPDX-License-Identifier: Apache-2.0 */
/*
 * render_config: the configuration in force; the errors and warnings of the server's file, and the
 * changes that a reload makes.
 */
#include "base/cleanup.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

/* Strings of a repeated field. */
struct list {
	char *const *lines;
	size_t n;
};

static void add_lines(struct buf *out, const char *prefix, struct list list)
{
	for (size_t i = 0; i < list.n; i++)
		text_add_lines(out, prefix, list.lines[i]);
}

/*
 * Writes the errors, each of which may span lines or be empty. If the server has sent none, that
 * is said, because the exit code alone would not explain the failure.
 */
static void add_errors(const struct render *r, const char *const *errors, size_t n)
{
	size_t before = r->err->n;

	for (size_t i = 0; i < n; i++)
		text_add_lines(r->err, "", errors[i]);
	if (r->err->n == before)
		buf_adds(r->err, "the server did not say what is wrong\n");
}

/* Writes the verdict and the list of changes below it. */
static void add_changes(const struct render *r, const char *some, const char *none,
			struct list changes)
{
	buf_adds(r->out, changes.n ? some : none);
	add_lines(r->out, "  ", changes);
}

void render_config_check(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__CheckConfigResponse *m = (const void *)message;
	const char *const errors[] = { m->parse_error, m->semantic_error, m->reload_error };

	add_lines(r->err, "warning: ", (struct list){ m->warnings, m->n_warnings });
	if (*m->reload_error)
		add_changes(r, "configuration is good, but needs a restart, which would change:\n",
			    "configuration is good, but needs a restart\n",
			    (struct list){ m->changes, m->n_changes });
	if (m->ok)
		add_changes(r, "configuration is good; a reload would change:\n",
			    "configuration is good; a reload would change nothing\n",
			    (struct list){ m->changes, m->n_changes });
	else
		add_errors(r, errors, ARRAY_SIZE(errors));
}

void render_config_reload(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ReloadConfigResponse *m = (const void *)message;
	const char *const errors[] = { m->parse_error, m->semantic_error, m->reload_error };

	add_lines(r->err, "warning: ", (struct list){ m->warnings, m->n_warnings });
	if (m->ok)
		add_changes(r, "configuration reloaded:\n",
			    "configuration reloaded, nothing changed\n",
			    (struct list){ m->changes, m->n_changes });
	else
		add_errors(r, errors, ARRAY_SIZE(errors));
}

/*
 * The text is a document that another program reads, so it is written as it is: the server has
 * quoted what is not printable.
 */
void render_config(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__GetConfigResponse *m = (const void *)message;

	for (size_t i = 0; i < m->n_text; i++)
		buf_adds(r->out, m->text[i]);
}
