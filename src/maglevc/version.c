/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version: maglevd has a method for it; a speaker and a router tell theirs with the rest of their
 * state.
 */
#include "src/maglevc/version.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/json/json.h"
#include "src/maglevc/calls.h"
#include "src/maglevc/text.h"
#include "wire/api_methods.h"
#include "wire/router_methods.h"
#include "wire/speaker_methods.h"

struct version {
	const char *program, *version, *commit, *date; /* commit and date: "" if not told */
	int64_t started;
};

static void add_pair(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "  \"%s\": ", key);
	json_write_string(out, text, strlen(text));
}

/* The fields of VersionInfo, whichever program it is. */
static void write_json(const struct version *v, struct buf *out)
{
	buf_adds(out, "{\n");
	add_pair(out, "program", v->program);
	buf_adds(out, ",\n");
	add_pair(out, "version", v->version);
	buf_adds(out, ",\n");
	add_pair(out, "commit", v->commit);
	buf_adds(out, ",\n");
	add_pair(out, "date", v->date);
	buf_printf(out, ",\n  \"started\": \"%lld\"\n}", (long long)v->started);
}

static void write_text(const struct version *v, const struct render *r)
{
	char age[TEXT_AGE_LEN];

	buf_printf(r->out, "%s ", v->program);
	text_add_clean(r->out, str_of(v->version));
	if (*v->commit) {
		buf_adds(r->out, " (");
		text_add_clean(r->out, str_of(v->commit));
		buf_adds(r->out, ", ");
		text_add_clean(r->out, str_of(v->date));
		buf_addc(r->out, ')');
	}
	buf_printf(r->out, " at %s, runs for %s\n", r->server, text_age(r->now - v->started, age));
}

static struct version of_maglevd(const ProtobufCMessage *message)
{
	const Maglev__VersionInfo *m = (const void *)message;

	return (struct version){ "maglevd", m->version, m->commit, m->date, m->started };
}

static struct version of_speaker(const ProtobufCMessage *message)
{
	const Maglev__SpeakerInfo *m = (const void *)message;

	return (struct version){ "maglev-speaker", m->version, "", "", m->started };
}

static struct version of_router(const ProtobufCMessage *message)
{
	const Maglev__RouterInfo *m = (const void *)message;

	return (struct version){ "maglev-router", m->version, "", "", m->started };
}

#define VIEWS(of)                                                                                  \
	static void of##_text(const ProtobufCMessage *message, const struct render *r)             \
	{                                                                                          \
		struct version v = of(message);                                                    \
                                                                                                   \
		write_text(&v, r);                                                                 \
	}                                                                                          \
                                                                                                   \
	static void of##_json(const ProtobufCMessage *message, const struct render *r)             \
	{                                                                                          \
		struct version v = of(message);                                                    \
                                                                                                   \
		write_json(&v, r->out);                                                            \
	}

VIEWS(of_maglevd)
VIEWS(of_speaker)
VIEWS(of_router)

static const struct action actions[SERVERS] = {
	[SERVER_MAGLEVD] = { .method = &api_methods[API_GET_VERSION],
			     .render = of_maglevd_text,
			     .json = of_maglevd_json },
	[SERVER_SPEAKER] = { .server = SERVER_SPEAKER,
			     .method = &speaker_methods[SPEAKER_GET_SPEAKER],
			     .render = of_speaker_text,
			     .json = of_speaker_json },
	[SERVER_ROUTER] = { .server = SERVER_ROUTER,
			    .method = &router_methods[ROUTER_GET_ROUTER],
			    .render = of_router_text,
			    .json = of_router_json },
};

/* A server that no flag names need not exist; without any flag it is maglevd. */
static bool is_asked(const struct session *s, enum server server)
{
	const bool *given = s->options->given;

	return given[server] ||
	       (server == SERVER_MAGLEVD && !given[SERVER_SPEAKER] && !given[SERVER_ROUTER]);
}

/* That of maglevc does not wait for the servers. */
static enum status print_own(const struct session *s)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	const struct cli_version *v = &cli_version;

	buf_printf(&out, "maglevc %s (%s, %s)\n", v->version, v->commit, v->date);
	return session_print(s, &out);
}

static enum status print_text(const struct session *s, const struct answers all[SERVERS])
{
	_cleanup_(buf_free) struct buf out = { 0 };

	for (size_t i = 0; i < SERVERS; i++)
		for (size_t j = 0; j < all[i].n; j++)
			buf_add(&out, all[i].items[j].out.p, all[i].items[j].out.n);
	return session_print(s, &out);
}

static enum status print_json(const struct session *s, const struct answers all[SERVERS])
{
	_cleanup_(buf_free) struct buf out = { 0 };
	const struct cli_version *v = &cli_version;
	bool any = false;

	buf_adds(&out, "{\n");
	add_pair(&out, "version", v->version);
	buf_adds(&out, ",\n");
	add_pair(&out, "commit", v->commit);
	buf_adds(&out, ",\n");
	add_pair(&out, "date", v->date);
	buf_adds(&out, ",\n  \"servers\": [");
	for (size_t i = 0; i < SERVERS; i++) {
		buf_adds(&out, any && all[i].n ? "," : "");
		answers_add_json(&all[i], &out);
		any |= all[i].n > 0;
	}
	buf_adds(&out, "\n  ]\n}\n");
	return session_print(s, &out);
}

static enum status complain(const struct session *s, struct answers all[SERVERS])
{
	enum status failed = STATUS_DONE;

	for (size_t i = 0; i < SERVERS; i++) {
		enum status one = answers_complain(s, &all[i]);

		failed = failed == STATUS_DONE ? one : failed;
	}
	return failed;
}

enum status version_show(struct session *s, const struct command *c)
{
	struct answers all[SERVERS] = { 0 };
	enum status status = s->options->json ? STATUS_DONE : print_own(s);

	for (size_t i = 0; i < SERVERS && status == STATUS_DONE; i++) {
		if (!is_asked(s, (enum server)i))
			continue;
		status = session_connect(s, (enum server)i);
		if (status == STATUS_DONE)
			calls_ask(s, c, &actions[i], NULL, &all[i]);
	}
	if (status == STATUS_DONE)
		status = (s->options->json ? print_json : print_text)(s, all);
	if (status == STATUS_DONE)
		status = complain(s, all);
	for (size_t i = 0; i < SERVERS; i++)
		answers_free(&all[i]);
	return status;
}
