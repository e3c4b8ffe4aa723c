/* SPDX-License-Identifier: Apache-2.0 */
/* drop: why datagrams are dropped, with the words for the metric. */
#pragma once

enum drop {
	DROP_SESSIONS,	    /* there are as many as there may be */
	DROP_SESSIONS_EACH, /* the client has as many as one may have */
	DROP_NO_STREAM,	    /* the listener has none, or has gone, or the router is stopping */
	DROP_NO_BACKEND,    /* the share of an invalid one, or there is none */
	DROP_NO_SERVER,	    /* none of the pool can be used */
	DROP_NO_SOCKET,	    /* no port or descriptor is left for a session */
	DROP_SERVER,	    /* could not be sent to the server */
	DROP_CLIENT,	    /* could not be sent to the client */
	DROP_TRUNCATED,	    /* came in parts only */
	DROP_QUEUE,	    /* by the kernel: the router was too slow */
	DROPS
};

extern const char *const drop_words[DROPS];
