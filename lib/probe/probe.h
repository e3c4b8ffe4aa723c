/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: checks one server with ICMP, TCP, TLS, UDP, DNS, HTTP, HTTPS or gRPC, without blocking.
 *
 * A struct probe_env holds what the probes of one loop share: ICMP sockets, TLS contexts, the read
 * buffer and the network namespace. A struct probe belongs to one target. Between questions it
 * keeps only a kept-alive connection and a TLS session, so that thousands of probes can exist.
 * probe_start() begins one question (one check). Its callback is called exactly once, never from
 * within probe_start(), unless probe_cancel() or probe_free() comes first. A probe has at most one
 * question in flight.
 *
 * HTTP responses: without a body pattern the head decides, and the connection is reset at once.
 * With keep_alive the body is read as well, up to 64 KiB and the timeout, so that the connection
 * can be used again; it does not change the verdict. With a body pattern the pattern is matched
 * when the body is complete or 64 KiB of it have arrived. If neither happens before the timeout,
 * the pattern is matched against what has arrived, and the probe succeeds if it matches. It is not
 * matched earlier, because the result of "$" or of a negative look-ahead must not depend on where
 * the network cuts the body.
 *
 * gRPC: grpc.health.v1.Health/Check must answer SERVING for the service, over HTTP/2. With a
 * context (spec.tls), which offers h2, the connection has TLS. Any other status, and a code other
 * than 0, is PROBE_ERR_STATUS with its name in the reason.
 *
 * TCP, TLS and UDP can have one question and one answer in bytes (talk, body). Over TCP and
 * TLS the answer is everything that arrives, up to 64 KiB, and it passes as soon as it matches.
 * Bytes that do not match until the server closes, until the limit or until the timeout are
 * PROBE_ERR_BODY; no bytes at all are PROBE_ERR_TIMEOUT or PROBE_ERR_RESET. Over UDP and DNS the
 * first datagram decides. A port that is unreachable according to ICMP is PROBE_ERR_REFUSED at
 * once.
 *
 * A kept-alive connection serves 10 questions. If the server has closed it meanwhile, the question
 * uses a new connection, and that is not a failure. TLS sessions are resumed, but a full handshake,
 * which verifies the certificate, is done after every failure and at least every 60 s as long as
 * the questions come at even intervals.
 *
 * The timeout measures the server, not this program. Before a question times out, input that has
 * already arrived is processed. If the event loop was late by more than a tenth of the timeout, the
 * question is extended by the time lost, and the outcome says so (granted).
 *
 * An outcome has the stage that was reached, the error there and a reason for people. What it means
 * for load balancing is up to the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"
#include "lib/loop/loop.h"

struct regex;
struct tls_context;
struct probe;
struct probe_env;

enum probe_kind {
	PROBE_ICMP,
	PROBE_TCP,
	PROBE_HTTP,
	PROBE_HTTPS,
	PROBE_GRPC,
	PROBE_TLS, /* the handshake, then as TCP */
	PROBE_UDP,
	PROBE_DNS, /* a question of DNS over UDP */
};

enum probe_stage {
	PROBE_STAGE_LOCAL,   /* nothing was sent: namespace, socket, bind, connect() itself */
	PROBE_STAGE_CONNECT, /* waiting for the TCP handshake, the echo reply or a datagram */
	PROBE_STAGE_TLS,
	PROBE_STAGE_HTTP, /* layer 7: HTTP, gRPC, and the answers of the others */
	PROBE_STAGE_DONE, /* success */
};

enum probe_error {
	PROBE_OK,
	PROBE_ERR_NETNS,       /* stage LOCAL: the namespace could not be entered */
	PROBE_ERR_SOCKET,      /* stage LOCAL: EMFILE, ENFILE, ENOBUFS, EPERM ... (sys_errno) */
	PROBE_ERR_UNREACHABLE, /* LOCAL: connect() found no route; CONNECT: an ICMP error */
	PROBE_ERR_TIMEOUT,     /* in any stage */
	PROBE_ERR_REFUSED,
	PROBE_ERR_RESET,       /* connection reset or closed before the response was complete */
	PROBE_ERR_TLS,	       /* handshake failed */
	PROBE_ERR_CERTIFICATE, /* not valid, expired, wrong name */
	PROBE_ERR_MALFORMED,   /* not HTTP, not an answer of DNS */
	PROBE_ERR_TOO_LARGE,   /* header block over the limit */
	PROBE_ERR_STATUS,      /* the status code is not in spec.codes; DNS: another rcode */
	PROBE_ERR_BODY,	       /* no match in the first 64 KiB, or the match limit was reached */
};

#define PROBE_HEADER_SIZE 64

struct probe_outcome {
	enum probe_stage stage;
	enum probe_error error;
	int sys_errno;	  /* 0: none */
	unsigned status;  /* HTTP status; 0: none was received */
	int64_t rtt;	  /* ns from start to end */
	int64_t granted;  /* ns beyond the timeout, because the loop was late */
	bool reused;	  /* a kept-alive connection was used */
	bool resumed;	  /* the TLS session was resumed */
	bool answered;	  /* TCP, TLS, UDP: the content of the answer is as expected */
	char reason[128]; /* one line of valid UTF-8 for people; "" on success */
	char header[PROBE_HEADER_SIZE]; /* value of spec.header, UTF-8, cut to fit; "": none */
};

/* Both ends are included. */
struct probe_code_range {
	uint16_t first, last;
};

/* One question in bytes, and what its answer has to contain; see also spec.body. */
struct probe_talk {
	struct str send;   /* UDP: at least 1 byte; others: empty: nothing is sent */
	struct str expect; /* empty: any answer passes */
};

/* A question of DNS, and the answer that passes. */
struct probe_dns {
	const char *name;    /* "www.example.net" */
	uint16_t type;	     /* the number of the record type: 1 is A */
	uint16_t rcode;	     /* the response code that passes: 0 is NOERROR */
	struct addr address; /* must be among the addresses of the answer; none: any answer */
};

/* What to ask. All pointers are borrowed until probe_free() or probe_set_spec(). */
struct probe_spec {
	enum probe_kind kind;
	struct endpoint target; /* port 0 for ICMP */
	struct addr source;	/* none: the kernel chooses */
	int64_t timeout;	/* ns */
	bool keep_alive;
	/*
	 * HTTP(S) and gRPC, without keep_alive: a header of the PROXY protocol (version 2,
	 * LOCAL) comes first.
	 */
	bool send_proxy;
	bool insecure_skip_verify;	       /* HTTPS, TLS */
	union {				       /* by the kind: no other member may be set */
		const char *path;	       /* HTTP(S): NULL: "/" */
		const char *service;	       /* gRPC: NULL or "": the server as a whole */
		const struct probe_talk *talk; /* TCP, TLS: NULL: only connect; UDP: required */
		const struct probe_dns *dns;   /* DNS: required */
	};
	/* HTTP(S) and gRPC; sent as it is; NULL: the address, with the port if not the default */
	const char *host;
	const char *user_agent; /* NULL: not sent */
	/* HTTP(S) */
	const struct probe_code_range *codes;
	size_t n_codes;
	/* pattern for the body of HTTP(S), and for the answer of TCP, TLS and UDP; NULL: none */
	const struct regex *body;
	const char *header; /* response header to report in the outcome; NULL: none */
	/* HTTPS, TLS */
	const char *server_name; /* for SNI and verification; NULL: host if set, else the address */
	/* how the server is verified; NULL: HTTPS, TLS: the system's trust store; gRPC: no TLS */
	struct tls_context *tls;
};

/*
 * Called from the loop when a question has ended. It may start, cancel and free this probe and
 * others and change the namespace, but must not free the environment. *outcome is valid during the
 * call.
 */
typedef void (*probe_done_fn)(struct probe *p, const struct probe_outcome *outcome, void *user);

/*
 * netns: NULL, a name under /run/netns, or an absolute path; copied. It is opened again for every
 * socket: probes fail while the namespace is missing and work again when it is back.
 */
struct probe_env *probe_env_new(struct ev_loop *loop, const char *netns);
/* All probes must have been freed. NULL is allowed. */
void probe_env_free(struct probe_env *env);
/* Used for sockets opened from now on. The same name again has no effect. */
void probe_env_set_netns(struct probe_env *env, const char *netns);

/* *spec is copied, the memory it points to is borrowed. Starts nothing. */
struct probe *probe_new(struct probe_env *env, const struct probe_spec *spec, probe_done_fn done,
			void *user);
/* Cancels a question in flight: no callback. NULL is allowed. */
void probe_free(struct probe *p);
/* Begins a question; none may be in flight. All failures are reported by the callback. */
void probe_start(struct probe *p);
bool probe_in_flight(const struct probe *p);
/* Ends a question in flight without a callback, and drops the connection. */
void probe_cancel(struct probe *p);
/*
 * Replaces the spec and drops connection and TLS session. A question in flight starts again with
 * the new spec, so that the memory of the old one can be freed when this returns.
 */
void probe_set_spec(struct probe *p, const struct probe_spec *spec);

const char *probe_stage_name(enum probe_stage s);
const char *probe_error_name(enum probe_error e);
/* The cause is on this machine (descriptors, namespace, routes), not the server or the network. */
bool probe_outcome_is_local(const struct probe_outcome *o);
