/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/outcome.h"

#include <assert.h>

#include "base/cleanup.h"

/*
 * The code of each error, by the stage in which it happened. The stage only matters where the
 * error itself does not tell the layer: timeouts and resets.
 */
static const struct {
	enum health_code local, connect, tls, http;
} codes[] = {
	[PROBE_ERR_NETNS] = { CODE_L4CON, CODE_L4CON, CODE_L4CON, CODE_L4CON },
	[PROBE_ERR_SOCKET] = { CODE_SOCKERR, CODE_SOCKERR, CODE_SOCKERR, CODE_SOCKERR },
	[PROBE_ERR_UNREACHABLE] = { CODE_L4CON, CODE_L4CON, CODE_L4CON, CODE_L4CON },
	[PROBE_ERR_TIMEOUT] = { CODE_L4TOUT, CODE_L4TOUT, CODE_L6TOUT, CODE_L7TOUT },
	[PROBE_ERR_REFUSED] = { CODE_L4CON, CODE_L4CON, CODE_L4CON, CODE_L4CON },
	[PROBE_ERR_RESET] = { CODE_L4CON, CODE_L4CON, CODE_L6RSP, CODE_L7RSP },
	[PROBE_ERR_TLS] = { CODE_L6RSP, CODE_L6RSP, CODE_L6RSP, CODE_L6RSP },
	[PROBE_ERR_CERTIFICATE] = { CODE_L6RSP, CODE_L6RSP, CODE_L6RSP, CODE_L6RSP },
	[PROBE_ERR_MALFORMED] = { CODE_L7RSP, CODE_L7RSP, CODE_L7RSP, CODE_L7RSP },
	[PROBE_ERR_TOO_LARGE] = { CODE_L7RSP, CODE_L7RSP, CODE_L7RSP, CODE_L7RSP },
	[PROBE_ERR_STATUS] = { CODE_L7STS, CODE_L7STS, CODE_L7STS, CODE_L7STS },
	[PROBE_ERR_BODY] = { CODE_L7RSP, CODE_L7RSP, CODE_L7RSP, CODE_L7RSP },
};

/* The highest layer that was checked. */
static enum health_code pass_code(enum probe_kind kind, bool answered)
{
	switch (kind) {
	case PROBE_ICMP:
		return CODE_L4OK;
	case PROBE_TCP:
	case PROBE_UDP:
		return answered ? CODE_L7OK : CODE_L4OK;
	case PROBE_TLS:
		return answered ? CODE_L7OK : CODE_L6OK;
	case PROBE_HTTP:
	case PROBE_HTTPS:
	case PROBE_GRPC:
	case PROBE_DNS:
		break;
	}
	return CODE_L7OK;
}

enum health_code outcome_code(enum probe_kind kind, const struct probe_outcome *outcome)
{
	if (outcome->error == PROBE_OK)
		return pass_code(kind, outcome->answered);
	assert(outcome->error < ARRAY_SIZE(codes));
	switch (outcome->stage) {
	case PROBE_STAGE_LOCAL:
		return codes[outcome->error].local;
	case PROBE_STAGE_CONNECT:
		return codes[outcome->error].connect;
	case PROBE_STAGE_TLS:
		return codes[outcome->error].tls;
	case PROBE_STAGE_HTTP:
	case PROBE_STAGE_DONE:
		break;
	}
	return codes[outcome->error].http;
}
