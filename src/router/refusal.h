/* SPDX-License-Identifier: Apache-2.0 */
/* refusal: why the router refuses a client, with the words for the answer and for the metric. */
#pragma once

enum refusal {
	REFUSAL_CONNECTIONS,	  /* too many in all */
	REFUSAL_CONNECTIONS_EACH, /* too many of the client */
	REFUSAL_PROXY,		  /* no PROXY header where one is required, or from a stranger */
	REFUSAL_TLS,		  /* the handshake has failed, or took too long */
	REFUSAL_PLAIN,		  /* HTTP without TLS where TLS is required */
	REFUSAL_MALFORMED,
	REFUSAL_PATH,
	REFUSAL_HEAD_BYTES,
	REFUSAL_FIELDS,
	REFUSAL_BODY_BYTES,
	REFUSAL_HEAD_TIME,
	REFUSAL_BODY_TIME, /* of a request: too slow, or none at all */
	REFUSAL_READ_TIME, /* the client takes its answer too slowly; it gets none */
	REFUSAL_ABUSE,	   /* of HTTP/2: too many frames that do nothing; GOAWAY */
	REFUSAL_PROTOCOL,  /* an error of HTTP/2 that ends the connection; GOAWAY */
	REFUSALS
};

struct refusal_words {
	unsigned status; /* 0: the connection ends without an answer */
	const char *label;
	const char *text; /* the content of the answer */
};

extern const struct refusal_words refusal_words[REFUSALS];
