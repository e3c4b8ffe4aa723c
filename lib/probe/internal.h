/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal: what the files of this room share.
 *
 * A question runs through states; connect.c, https.c, http.c and icmp.c each move it on and end it
 * through probe__fail() or probe__succeed(), after which they must not touch the probe: its owner
 * may have freed it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "lib/http/message.h"
#include "lib/net/net.h"
#include "lib/probe/probe.h"
#include "lib/stream/stream.h"
#include "lib/tls/tls.h"

#define PROBE_BODY_MAX ((size_t)64 * 1024)
#define PROBE_KEEP_ALIVE_MAX 10			    /* questions per connection */
#define PROBE_FULL_HANDSHAKE (INT64_C(60000000000)) /* ns between two at most */
#define PROBE_INTERIM_MAX 8			    /* 1xx answers before the one that counts */
#define PROBE_ECHOES_MAX 65536			    /* in flight per environment */
#define PROBE_ECHO_BATCH 32			    /* packets taken at once */

enum probe__state {
	STATE_IDLE,
	STATE_READY, /* ended within probe_start(); the callback comes with the next turn */
	STATE_ECHO,
	STATE_CONNECT,
	STATE_TLS,
	STATE_SEND,
	STATE_HEAD,
	STATE_BODY,
};

/* An HTTP answer that is not yet judged. */
struct probe__answer {
	struct buf head; /* only when it did not come in one piece */
	size_t scanned;
	unsigned interim;
	struct http_body body;
	struct buf content;		/* only with a pattern; at most PROBE_BODY_MAX */
	uint64_t seen;			/* bytes of content */
	char header[PROBE_HEADER_SIZE]; /* the one that is asked for; "": none */
};

struct probe {
	struct probe_env *env;
	struct probe_spec spec;
	probe_done_fn done;
	void *user;
	struct stream stream; /* idle with a socket: kept alive; its deadline is the question's */
	int64_t started;
	int64_t granted;     /* ns beyond the timeout, for lateness of our own */
	int64_t late_before; /* of the loop, when the question began or was granted more */
	int64_t previous;    /* start of the question before */
	struct probe_outcome *ready;
	struct probe__answer *answer;
	struct tls_session *session;
	int64_t full_handshake; /* when the certificate was last seen */
	uint64_t cookie;	/* of the echo */
	ino_t place;		/* the namespace of a kept connection */
	uint16_t sequence;	/* of the echo */
	uint16_t status;
	uint8_t state;
	uint8_t questions; /* that have ended; wraps */
	uint8_t served;	   /* questions that the connection has carried */
	bool starting;	   /* no callback now */
	bool reused;	   /* this question goes over a kept connection */
	bool resumed;
	bool keep; /* the connection is fit to serve again */
};

struct probe__echo_socket {
	struct probe_env *env;
	struct task task; /* takes a batch of replies in each step */
	ev_io io;	  /* fd -1: none */
	struct net_ns_id where;
};

struct probe__echoes {
	struct probe__echo_socket sockets[2]; /* IPv4, IPv6 */
	struct probe **pending;		      /* by sequence number */
	size_t cap, used;
	uint16_t next, id;
	uint64_t cookies[32]; /* random bytes not used yet */
	unsigned n_cookies;
	struct probe__batch *batch;
};

/* A connection whose probe has let go of it, and that is still to be closed. */
struct probe__left {
	int fd;
	struct tls *tls; /* NULL: plain */
};

struct probe_env {
	struct ev_loop *loop;
	struct net_ns ns;
	struct tls_context *tls[2]; /* [verify]; made when first needed */
	struct probe__echoes echoes;
	int64_t (*clock)(void); /* monotonic ns; tests put their own here */
	size_t n_probes;
	VEC(struct probe__left) left;
	struct task closer; /* closes them */
	struct buf request; /* the one being sent */
	char input[32 * 1024];
};

/* probe.c */
void probe__fail(struct probe *p, enum probe_stage stage, enum probe_error error, int sys_errno,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void probe__succeed(struct probe *p);

/* connect.c: a connection, from socket() to the first byte that may be sent. */
void probe__connect(struct probe *p);
/* There is a kept connection, and it is in the namespace that new ones would be in. */
bool probe__connection_is_here(const struct probe *p);
void probe__on_connecting(struct probe *p);
/* The request is out. */
void probe__on_asked(const struct probe *p);
/* Closes by reset. */
void probe__disconnect(struct probe *p);
/* The same, but in one of the next turns: for callers who may be doing it for thousands. */
void probe__let_go(struct probe *p);
void probe__left_init(struct probe_env *env);
void probe__left_free(struct probe_env *env); /* closes them all */
/* Local failures of connect() and sendmsg() themselves. */
void probe__fail_local(struct probe *p, const char *doing, int err);
/* A socket that could not be had. */
void probe__fail_socket(struct probe *p, bool entered, int err);

/* https.c */
void probe__tls_start(struct probe *p);
void probe__on_secured(struct probe *p);
void probe__on_handshake_failed(struct probe *p, int err);
void probe__tls_end(struct probe *p, bool good); /* keeps the session, or drops it */
void probe__tls_prepare(struct probe *p);	 /* drops what may not be resumed any longer */
void probe__tls_forget(struct probe *p);

/* http.c */
void probe__http_send(struct probe *p);
void probe__http_sent(struct probe *p);
void probe__http_send_failed(struct probe *p, int err);
void probe__http_receive(struct probe *p);
void probe__http_deadline(struct probe *p);
void probe__answer_free(struct probe__answer *a);

/* icmp.c */
void probe__echo_init(struct probe_env *env);
void probe__echo_close(struct probe_env *env); /* sockets only */
void probe__echo_free(struct probe_env *env);
void probe__echo_start(struct probe *p);
/* Takes replies that wait; the question may be over then. */
void probe__echo_look(struct probe *p);
void probe__echo_forget(struct probe *p);
