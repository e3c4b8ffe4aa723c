/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal: shared by the files of lib/probe.
 *
 * A question goes through states. connect.c, https.c, http.c, grpc.c, talk.c and icmp.c advance it
 * and end it with probe__fail() or probe__succeed(). After one of these two the probe must not be
 * used, because the callback may have freed it.
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
#define PROBE_FULL_HANDSHAKE (INT64_C(60000000000)) /* ns, at most between two of them */
#define PROBE_INTERIM_MAX 8			    /* 1xx responses before the final one */
#define PROBE_ECHOES_MAX 65536			    /* in flight; sequence numbers are 16 bits */
#define PROBE_ECHO_BATCH 32			    /* packets per recvmmsg() */

enum probe__state {
	STATE_IDLE,
	STATE_READY, /* ended within probe_start(); the callback follows from the loop */
	STATE_ECHO,
	STATE_CONNECT,
	STATE_TLS,
	STATE_SEND,
	STATE_HEAD,
	STATE_BODY,
	STATE_CALL, /* gRPC: the connection belongs to lib/h2 */
	STATE_TALK, /* bytes or a datagram are awaited */
};

/* An HTTP response without a verdict yet; allocated when its first byte arrives. */
struct probe__answer {
	struct buf head;		/* empty if the head arrived in one read */
	size_t scanned;			/* bytes of head in which the parser found no end */
	unsigned interim;		/* 1xx responses so far */
	struct http_body body;		/* state of the body's framing */
	struct buf content;		/* collected only for a pattern; at most PROBE_BODY_MAX */
	uint64_t seen;			/* bytes of content, collected or not */
	char header[PROBE_HEADER_SIZE]; /* value of spec.header; "": none */
};

struct probe {
	struct probe_env *env;
	struct probe_spec spec;
	probe_done_fn done;
	void *user;
	struct stream stream; /* has a socket while idle if kept alive; deadline: the question's */
	int64_t started;      /* monotonic ns */
	int64_t granted;      /* ns beyond the timeout, because the loop was late */
	int64_t late_before;  /* loop_late() when the question began or was extended */
	int64_t previous;     /* when the previous question started */
	struct probe_outcome *ready;  /* in STATE_READY */
	struct probe__answer *answer; /* NULL until the response begins */
	struct tls_session *session;  /* to resume; NULL: none */
	int64_t full_handshake;	      /* when the certificate was last verified */
	union {
		uint64_t cookie;	  /* ICMP: random payload of the echo */
		struct probe__call *call; /* gRPC: NULL: none */
		ino_t place;		  /* others: the namespace of the kept connection */
	};
	uint16_t sequence; /* of the echo; index into probe__echoes.pending. DNS: the id */
	uint16_t status;
	uint8_t state;	   /* enum probe__state */
	uint8_t questions; /* number of ended questions; wraps */
	uint8_t served;	   /* questions sent on this connection */
	bool starting : 1; /* inside probe_start(): the callback must wait */
	bool reused : 1;   /* the question uses a kept connection */
	bool resumed : 1;
	bool keep : 1; /* the connection can be used again */
};

struct probe__echo_socket {
	struct probe_env *env;
	struct task task;	/* receives one batch of packets per step */
	ev_io io;		/* fd -1: not open */
	struct net_ns_id where; /* the namespace it was opened in */
};

struct probe__echoes {
	struct probe__echo_socket sockets[2]; /* IPv4, IPv6 */
	struct probe **pending;		      /* by sequence number; NULL: free */
	size_t cap, used;		      /* cap is a power of two */
	uint16_t next, id;		      /* next sequence number; random identifier */
	uint64_t cookies[32];		      /* random numbers, fetched 32 at a time */
	unsigned n_cookies;		      /* of which are unused */
	struct probe__batch *batch;	      /* allocated with the first socket */
};

/* A connection that was detached from its probe and is still to be closed. */
struct probe__left {
	int fd;
	struct tls *tls; /* NULL: plain */
};

struct probe_env {
	struct ev_loop *loop;
	struct net_ns ns;
	struct tls_context *tls[2][2]; /* [ALPN of HTTP][verify]; created when first needed */
	struct h2_host *h2;	       /* the same, for gRPC */
	struct probe__echoes echoes;
	int64_t (*clock)(void); /* monotonic ns; replaced by tests */
	size_t n_probes;
	VEC(struct probe__left) left;
	struct task closer;    /* closes the connections in left */
	struct buf request;    /* scratch for the request being sent */
	char input[32 * 1024]; /* scratch for one read */
};

/* probe.c */
void probe__fail(struct probe *p, enum probe_stage stage, enum probe_error error, int sys_errno,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void probe__succeed(struct probe *p);

/* connect.c: a TCP connection, from socket() until it is established. */
void probe__connect(struct probe *p);
/* There is a kept connection, and it is in the namespace that a new one would be in. */
bool probe__connection_is_here(const struct probe *p);
void probe__on_connecting(struct probe *p);
/* The request has been sent. */
void probe__on_asked(const struct probe *p);
/* Closes with RST. */
void probe__disconnect(struct probe *p);
/* Detaches the connection and closes it in a later turn: for loops over thousands of probes. */
void probe__let_go(struct probe *p);
void probe__left_init(struct probe_env *env);
void probe__left_free(struct probe_env *env); /* closes them all */
/* bind(), connect() or sendmsg() itself has failed. err is positive. */
void probe__fail_local(struct probe *p, const char *doing, int err);
/* No socket could be opened; entered tells whether the namespace was entered. */
void probe__fail_socket(struct probe *p, bool entered, int err);

/* https.c */
void probe__tls_start(struct probe *p);
void probe__on_secured(struct probe *p);
void probe__on_handshake_failed(struct probe *p, int err);
void probe__tls_end(struct probe *p, bool good); /* keeps the session, or drops it */
void probe__tls_prepare(struct probe *p);	 /* drops a session that is too old to resume */
void probe__tls_forget(struct probe *p);

/* http.c */
void probe__http_send(struct probe *p);
void probe__http_sent(struct probe *p);
void probe__http_send_failed(struct probe *p, int err);
void probe__http_receive(struct probe *p);
void probe__http_deadline(struct probe *p);
void probe__answer_free(struct probe__answer *a);

/* The value of Host. */
void probe__add_host(struct buf *b, const struct probe_spec *spec);

/* grpc.c */
void probe__grpc_send(struct probe *p);
/* Ends the call of the question, if there is one. */
void probe__grpc_end(struct probe *p);
struct h2_host *probe__grpc_host(struct probe_env *env);

/* talk.c */
static inline bool probe__is_datagram(const struct probe_spec *spec)
{
	return spec->kind == PROBE_UDP || spec->kind == PROBE_DNS;
}
/* Whether the content of the answer is checked in talk.c. */
bool probe__judges(const struct probe_spec *spec);
/* Whether an answer is awaited there at all. */
bool probe__talks(const struct probe_spec *spec);
/* The connection is there: asks, or succeeds if nothing is to be asked. */
void probe__talk_start(struct probe *p);
void probe__talk_receive(struct probe *p);
void probe__talk_deadline(struct probe *p);
/* The socket has failed; err is positive. */
void probe__talk_failed(struct probe *p, int err);

/* icmp.c */
void probe__echo_init(struct probe_env *env);
void probe__echo_close(struct probe_env *env); /* sockets only */
void probe__echo_free(struct probe_env *env);
void probe__echo_start(struct probe *p);
/* Receives replies that have arrived; the question may have ended when it returns. */
void probe__echo_look(struct probe *p);
void probe__echo_forget(struct probe *p);
