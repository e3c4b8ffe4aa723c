/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web: the debug page and its API, on a listener of their own.
 *
 *	GET /			the page
 *	GET /healthz		{"status":"ok"}; the only path that needs no token
 *	GET /api/state		muxes, channels, endpoints, events and the program (show.h)
 *	GET /api/topology	the channels of each mux
 *	GET /api/config		{"actions_enabled":false}
 *	GET /api/test-tcp	connects to an address of a mux or an endpoint, if enabled
 *
 * Everything is read-only; the test of a connection is the only action. With a token, HTTP basic
 * authentication is needed, with any user and the token as the password.
 */
#pragma once

#include "lib/cli/cli.h"
#include "lib/loop/loop.h"

struct daemon;
struct show;
struct web;

struct web_options {
	bool enabled, actions;
	const char *listen; /* "address:port" */
	const char *token;  /* "": everybody may look */
	/* whether a flag or a variable of this program said it */
	bool enabled_given, actions_given, listen_given;
};

/* Rows for the table of flags of the program; values is a struct web_options. */
#define WEB_OPTIONS(values)                                                                        \
	{ .name = "debug-web",                                                                     \
	  .kind = CLI_BOOL,                                                                        \
	  .env = "MAGLEV_MUX_DEBUG_WEB",                                                           \
	  .fallback = "true",                                                                      \
	  .help = "serve the debug page; also DEBUG_WEB_ENABLED",                                  \
	  .given = &(values).enabled_given,                                                        \
	  .boolean = &(values).enabled },                                                          \
		{ .name = "debug-web-listen",                                                      \
		  .kind = CLI_STRING,                                                              \
		  .env = "MAGLEV_MUX_DEBUG_WEB_LISTEN",                                            \
		  .fallback = ":8080",                                                             \
		  .argument = "ADDR",                                                              \
		  .help = "where; also DEBUG_WEB_PORT",                                            \
		  .given = &(values).listen_given,                                                 \
		  .string = &(values).listen },                                                    \
	{                                                                                          \
		.name = "debug-web-actions", .kind = CLI_BOOL,                                     \
		.env = "MAGLEV_MUX_DEBUG_WEB_ACTIONS", .fallback = "false",                        \
		.help = "the page may test TCP connections to the addresses of muxes and to "      \
			"endpoints of channels; also DEBUG_WEB_ACTIONS_ENABLED",                   \
		.given = &(values).actions_given, .boolean = &(values).actions,                    \
	}

/*
 * Fills in what neither a flag nor a variable MAGLEV_MUX_... has said, from the variables of the
 * original: DEBUG_WEB_ENABLED, DEBUG_WEB_PORT, DEBUG_WEB_ACTIONS_ENABLED. The token comes from
 * MAGLEV_MUX_DEBUG_WEB_TOKEN, DEBUG_WEB_AUTH_TOKEN or AUTH_TOKEN, the first that is not empty; it
 * is no flag, because command lines are visible in the list of processes. *text keeps what the
 * listener is called; it belongs to the caller. Returns NULL, or what is wrong as one sentence.
 */
const char *web_options_read(struct web_options *o, struct buf *text);

/*
 * Logs "listening" or "listen-failed"; returns -EINVAL if listen is not an address, else -errno of
 * the listener. If the page is not enabled, *ret is NULL. show and the options are borrowed.
 */
int web_new(const struct daemon *daemon, struct show *show, const struct web_options *o,
	    struct web **ret);
void web_free(struct web *w); /* NULL is allowed */
/* Accepts no new requests; done is called once, when the last answer was sent. */
void web_drain(struct web *w, void (*done)(void *user), void *user);
