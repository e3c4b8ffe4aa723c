/* SPDX-License-Identifier: Apache-2.0 */
/* render: what the views share: states, ages, overrides and addresses as text. */
#include "src/maglevc/render.h"

#include <string.h>

#include "base/cleanup.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

/*
 * States are strings in the API, so that a newer server can have more of them. An unknown state
 * has no colour.
 */
enum tint render__tint(const char *state)
{
	static const struct {
		const char *state;
		enum tint tint;
	} tints[] = {
		{ "up", TINT_GOOD },	    { "down", TINT_BAD },	  { "unknown", TINT_DOUBT },
		{ "paused", TINT_OFF },	    { "disabled", TINT_OFF },	  { "removed", TINT_OFF },
		{ "announced", TINT_GOOD }, { "withdrawn", TINT_BAD },	  { "worse", TINT_DOUBT },
		{ "draining", TINT_OFF },   { "Established", TINT_GOOD }, { "owner", TINT_GOOD },
		{ "ejected", TINT_BAD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tints); i++)
		if (strcmp(state, tints[i].state) == 0)
			return tints[i].tint;
	return TINT_NONE;
}

const char *render__or_dash(const char *text)
{
	return *text ? text : "-";
}

/*
 * An override is shown with its act, end and reason. Without one only a state that takes the
 * backend out of service is shown, such as disabled by the configuration.
 */
void render__add_mark(const char *state, const Maglev__Override *o, struct buf *out)
{
	char from[TEXT_TIME_LEN], until[TEXT_TIME_LEN];

	if (o) {
		buf_printf(out, "[%s", o->act);
		if (o->from)
			buf_printf(out, " from %s", text_time(o->from, from));
		if (o->until)
			buf_printf(out, " until %s", text_time(o->until, until));
		buf_printf(out, "]%s%s", *o->reason ? " " : "", o->reason);
	} else if (render__tint(state) == TINT_OFF) {
		buf_printf(out, "[%s]", state);
	}
}

void render__add_operator(const char *operator, const char * address, struct buf *out)
{
	buf_adds(out, operator);
	if (*address)
		buf_printf(out, "%sfrom %s", *operator? " " : "", address);
}

void render__add_list(char *const *names, size_t n, struct buf *out)
{
	if (!n)
		buf_addc(out, '-');
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", names[i]);
}

/*
 * Port 0 is a VIP for all ports and protocols. IPv6 addresses need brackets before a port (RFC
 * 5952, section 6).
 */
void render__add_vip(const char *address, const char *protocol, uint32_t port, struct buf *out)
{
	if (!port)
		buf_adds(out, address);
	else
		buf_printf(out, strchr(address, ':') ? "[%s]:%u/%s" : "%s:%u/%s", address, port,
			   protocol);
}

void render__age_cell(struct columns *c, const struct render *r, int64_t at)
{
	char age[TEXT_AGE_LEN];

	columns_cell(c, TINT_NONE, "%s", at ? text_age(r->now - at, age) : "-");
}

void render__pair(struct columns *c, const char *label, const char *fmt, ...)
{
	_cleanup_(buf_free) struct buf value = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&value, fmt, ap);
	va_end(ap);
	columns_cell(c, TINT_LABEL, "%s", label);
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&value));
	columns_end_row(c);
}

void render__pair_if(struct columns *c, const char *label, const char *text)
{
	if (*text)
		render__pair(c, label, "%s", text);
}

void render__pair_state(struct columns *c, const struct render *r, const char *state, int64_t since)
{
	char age[TEXT_AGE_LEN];

	columns_cell(c, TINT_LABEL, "state");
	columns_cell(c, render__tint(state), "%s%s%s", state, since ? " for " : "",
		     since ? text_age(r->now - since, age) : "");
	columns_end_row(c);
}

void render__pair_time(struct columns *c, const struct render *r, const char *label, int64_t at)
{
	char time[TEXT_TIME_LEN], age[TEXT_AGE_LEN];

	if (at)
		render__pair(c, label, "%s (%s ago)", text_time(at, time),
			     text_age(r->now - at, age));
	else
		render__pair(c, label, "never");
}
