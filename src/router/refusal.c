/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/refusal.h"

const struct refusal_words refusal_words[REFUSALS] = {
	[REFUSAL_CONNECTIONS] = { 503, "connections", "too many connections" },
	[REFUSAL_CONNECTIONS_EACH] = { 503, "connections_each",
				       "too many connections from this address" },
	[REFUSAL_PROXY] = { 0, "proxy", "there is no PROXY header" },
	[REFUSAL_TLS] = { 0, "tls", "the TLS handshake has failed" },
	[REFUSAL_PLAIN] = { 400, "plain",
			    "this port takes HTTPS, and the request came without TLS" },
	[REFUSAL_MALFORMED] = { 400, "malformed", "the request is malformed" },
	[REFUSAL_PATH] = { 400, "path", "the path is malformed or ambiguous" },
	[REFUSAL_HEAD_BYTES] = { 431, "head_bytes", "the head is too large" },
	[REFUSAL_FIELDS] = { 431, "fields", "the head has too many fields" },
	[REFUSAL_BODY_BYTES] = { 413, "body_bytes", "the body is too large" },
	[REFUSAL_HEAD_TIME] = { 408, "head_time", "the head takes too long" },
	[REFUSAL_BODY_TIME] = { 408, "body_time", "the body comes too slowly" },
	[REFUSAL_READ_TIME] = { 0, "read_time", "the answer is taken too slowly" },
	[REFUSAL_ABUSE] = { 0, "abuse", "too many frames without a request" },
	[REFUSAL_PROTOCOL] = { 0, "protocol", "the frames are malformed" },
};
