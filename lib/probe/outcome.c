/* SPDX-License-Identifier: Apache-2.0 */
/* outcome: the names of stages and errors, and which outcomes have a local cause. */
#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "lib/probe/probe.h"

static const char *const stage_names[] = {
	[PROBE_STAGE_LOCAL] = "local", [PROBE_STAGE_CONNECT] = "connect", [PROBE_STAGE_TLS] = "tls",
	[PROBE_STAGE_HTTP] = "http",   [PROBE_STAGE_DONE] = "done",
};

static const char *const error_names[] = {
	[PROBE_OK] = "ok",
	[PROBE_ERR_NETNS] = "netns",
	[PROBE_ERR_SOCKET] = "socket",
	[PROBE_ERR_UNREACHABLE] = "unreachable",
	[PROBE_ERR_TIMEOUT] = "timeout",
	[PROBE_ERR_REFUSED] = "refused",
	[PROBE_ERR_RESET] = "reset",
	[PROBE_ERR_TLS] = "tls",
	[PROBE_ERR_CERTIFICATE] = "certificate",
	[PROBE_ERR_MALFORMED] = "malformed",
	[PROBE_ERR_TOO_LARGE] = "too-large",
	[PROBE_ERR_STATUS] = "status",
	[PROBE_ERR_BODY] = "body",
};

const char *probe_stage_name(enum probe_stage s)
{
	assert((size_t)s < ARRAY_SIZE(stage_names));
	return stage_names[s];
}

const char *probe_error_name(enum probe_error e)
{
	assert((size_t)e < ARRAY_SIZE(error_names));
	return error_names[e];
}

/* EHOSTUNREACH from connect() is a failed ARP or ND lookup, so it is the target's failure. */
bool probe_outcome_is_local(const struct probe_outcome *o)
{
	if (o->stage != PROBE_STAGE_LOCAL)
		return false;
	if (o->error == PROBE_ERR_NETNS || o->error == PROBE_ERR_SOCKET)
		return true;
	return o->error == PROBE_ERR_UNREACHABLE &&
	       (o->sys_errno == ENETUNREACH || o->sys_errno == EADDRNOTAVAIL);
}
