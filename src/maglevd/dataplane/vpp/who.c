/* SPDX-License-Identifier: Apache-2.0 */
/*
 * who: what is known of the VPP at the other end, and counts of messages. Strings are cut to
 * valid UTF-8, because the API of maglevd shows them.
 */
#include <assert.h>

#include "base/cleanup.h"
#include "lib/log/log.h"
#include "src/maglevd/dataplane/vpp/internal.h"

/* Names that lib/vpp reports besides those of vpplb_messages. */
static const char *const others[] = { "sockclnt_create_455fb9c4", "sockclnt_create_reply_35166268",
				      "unexpected" };

/* The buffers may have moved: the pointers in info are set again after every change. */
static void show(struct vpplb__who *who)
{
	who->info.version = buf_cstr(&who->version);
	who->info.build_date = buf_cstr(&who->build_date);
	who->info.build_directory = buf_cstr(&who->build_directory);
	who->info.problem = buf_cstr(&who->problem);
}

static void set(struct buf *b, struct str text)
{
	b->n = 0;
	buf_add_utf8(b, text.p, text.n);
}

/* The table of messages is complete from the start, so that counting never allocates. */
void vpplb__who_init(struct vpplb__who *who)
{
	size_t n = 0;

	for (size_t i = 0; i < VPPLB_MESSAGES; i++) {
		who->messages[n++].name = vpplb_messages[i].request;
		who->messages[n++].name = vpplb_messages[i].answer;
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		who->messages[n++].name = others[i];
	assert(n == ARRAY_SIZE(who->messages));
	who->info.messages = who->messages;
	who->info.n_messages = n;
	vpplb__who_trouble(who, "VPP was not reached yet");
}

void vpplb__who_free(struct vpplb__who *who)
{
	buf_free(&who->version);
	buf_free(&who->build_date);
	buf_free(&who->build_directory);
	buf_free(&who->problem);
	buf_free(&who->logged);
}

void vpplb__who_trouble(struct vpplb__who *who, const char *problem)
{
	set(&who->problem, str_of(problem));
	show(who);
}

void vpplb__who_forget(struct vpplb__who *who)
{
	who->version.n = who->build_date.n = who->build_directory.n = 0;
	who->info.pid = 0;
	who->info.boot_time = who->info.connect_time = 0;
	show(who);
}

void vpplb__who_version(struct vpplb__who *who, const struct vpplb_version *v)
{
	set(&who->version, v->version);
	set(&who->build_date, v->build_date);
	set(&who->build_directory, v->build_directory);
	show(who);
}

bool vpplb__who_is_new(struct vpplb__who *who, const char *trouble)
{
	if (str_eq((struct str){ who->logged.p, who->logged.n }, str_of(trouble)))
		return false;
	who->logged.n = 0;
	buf_adds(&who->logged, trouble);
	return true;
}

/* Names are compared as text, because lib/vpp reports names of its own. */
static struct dataplane_messages *find(struct vpplb__who *who, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(who->messages); i++)
		if (strcmp(who->messages[i].name, name) == 0)
			return &who->messages[i];
	assert(false);
	return NULL;
}

/* Every message is logged at debug level, for diagnosis of a VPP that misbehaves. */
static void log_message(enum vpp_trace what, const char *name, bool said_no)
{
	bool sent = what == VPP_SENT || what == VPP_SEND_FAILED;
	bool fine = what == VPP_SENT || (what == VPP_RECEIVED && !said_no);

	log_debug(sent ? "vpp-api-send" : "vpp-api-recv", LOG_S("message", name),
		  LOG_S("result", fine ? "success" : "failure"));
}

/* An answer is traced after its callback, which may have called vpplb__refused(). */
void vpplb__who_count(void *user, enum vpp_trace what, const char *name)
{
	struct dataplane *dp = user;
	struct dataplane_messages *m = find(&dp->who, name);

	log_message(what, name, dp->who.said_no);
	switch (what) {
	case VPP_SENT:
		m->sent++;
		break;
	case VPP_SEND_FAILED:
		m->send_failures++;
		break;
	case VPP_RECEIVED:
		m->received += !dp->who.said_no;
		m->receive_failures += dp->who.said_no;
		dp->who.said_no = false;
		break;
	case VPP_RECEIVE_FAILED:
		m->receive_failures++;
		break;
	}
}

void vpplb__refused(struct dataplane *dp, const char *name, int32_t retval)
{
	dp->who.said_no = true;
	log_debug("vpp-refused", LOG_S("message", name), LOG_I("retval", retval));
}
