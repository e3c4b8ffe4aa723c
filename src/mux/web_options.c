/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "src/mux/web.h"

/* As the original reads them: all other words are false. */
static bool is_true(const char *text)
{
	static const struct str words[] = { { "true", 4 }, { "1", 1 }, { "yes", 3 }, { "on", 2 } };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_ieq(str_trim(str_of(text)), words[i]))
			return true;
	return false;
}

static void read_bool(const char *name, bool given, bool *value)
{
	const char *text = getenv(name);

	if (text && *text && !given)
		*value = is_true(text);
}

static const char *read_port(struct web_options *o, struct buf *text)
{
	const char *given = getenv("DEBUG_WEB_PORT");
	uint64_t port;

	if (!given || !*given || o->listen_given)
		return NULL;
	if (str_to_u64(str_of(given), UINT16_MAX, &port) < 0)
		return "DEBUG_WEB_PORT is not a port";
	text->n = 0;
	buf_printf(text, ":%u", (unsigned)port);
	o->listen = buf_cstr(text);
	return NULL;
}

static const char *read_token(void)
{
	static const char *const names[] = { "MAGLEV_MUX_DEBUG_WEB_TOKEN", "DEBUG_WEB_AUTH_TOKEN",
					     "AUTH_TOKEN" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *token = getenv(names[i]);

		if (token && *token)
			return token;
	}
	return "";
}

const char *web_options_read(struct web_options *o, struct buf *text)
{
	read_bool("DEBUG_WEB_ENABLED", o->enabled_given, &o->enabled);
	read_bool("DEBUG_WEB_ACTIONS_ENABLED", o->actions_given, &o->actions);
	o->token = read_token();
	return read_port(o, text);
}
