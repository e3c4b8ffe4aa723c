/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: ask one server one question, without blocking.
 *
 * A struct probe_env is what the probes of one loop share: the ICMP sockets, the TLS contexts, the
 * read buffer, the namespace. A struct probe belongs to one target for as long as the target is
 * probed; it keeps what outlives a single question (a kept-alive connection, a TLS session) and
 * nothing else, so that thousands may exist. probe_start() asks once; the callback is called
 * exactly once for it, never from within probe_start(), unless probe_cancel() or probe_free() came
 * first. At most one question per probe is in flight.
 *
 * How an HTTP answer is judged: without a pattern for the body the head decides, and the connection
 * is reset at once; with keep_alive the body is read as well (up to 64 KiB and the timeout) so that
 * the connection can serve again, but it no longer changes the verdict. With a pattern the body
 * decides once it is whole or 64 KiB of it have come; a body that is neither at the timeout is
 * tried as it is then and passes if it matches. It is not tried earlier: where the network cuts a
 * body must not change what "$" or a negative look-ahead says.
 *
 * A kept connection serves 10 questions. One that the server closed meanwhile is replaced within
 * the same question, which is no failure. TLS sessions are resumed, with a full handshake (which
 * sees the certificate) after every failure and so often that 60 s never pass without one while
 * questions come evenly.
 *
 * The timeout counts the server's time, not ours. When it is over, what has already arrived is
 * looked at first. When this program was late meanwhile, by more than a tenth of the timeout, the
 * question goes on for as long as we were late; the outcome says so.
 *
 * An outcome says how far it got (stage), what went wrong there (error), and a reason for people.
 * What that means for a load balancer is the caller's business.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "lib/loop/loop.h"

struct regex;
struct probe;
struct probe_env;

enum probe_kind { PROBE_ICMP, PROBE_TCP, PROBE_HTTP, PROBE_HTTPS };

enum probe_stage {
	PROBE_STAGE_LOCAL, /* before anything was sent: namespace, socket, bind, connect() itself */
	PROBE_STAGE_CONNECT, /* waiting for the handshake, or for the echo */
	PROBE_STAGE_TLS,
	PROBE_STAGE_HTTP,
	PROBE_STAGE_DONE, /* success */
};

enum probe_error {
	PROBE_OK,
	PROBE_ERR_NETNS,       /* stage LOCAL: the namespace could not be entered */
	PROBE_ERR_SOCKET,      /* stage LOCAL: EMFILE, ENFILE, ENOBUFS, EPERM ... (sys_errno) */
	PROBE_ERR_UNREACHABLE, /* LOCAL: connect() itself found no way; CONNECT: ICMP error */
	PROBE_ERR_TIMEOUT,     /* in whichever stage */
	PROBE_ERR_REFUSED,
	PROBE_ERR_RESET,       /* connection reset or closed before the answer was whole */
	PROBE_ERR_TLS,	       /* handshake failed */
	PROBE_ERR_CERTIFICATE, /* not valid, expired, wrong name */
	PROBE_ERR_MALFORMED,   /* not HTTP */
	PROBE_ERR_TOO_LARGE,   /* header block over the limit */
	PROBE_ERR_STATUS,      /* code not wanted */
	PROBE_ERR_BODY,	       /* pattern not found (or over the match limit) in the first 64 KiB */
};

#define PROBE_HEADER_SIZE 64

struct probe_outcome {
	enum probe_stage stage;
	enum probe_error error;
	int sys_errno;			/* 0 when none */
	unsigned status;		/* HTTP status, 0 before there was one */
	int64_t rtt;			/* ns from start to end */
	int64_t granted;		/* ns beyond the timeout, because we were late ourselves */
	bool reused;			/* asked over a kept-alive connection */
	bool resumed;			/* TLS session was resumed */
	char reason[128];		/* one valid UTF-8 line for people; "" on success */
	char header[PROBE_HEADER_SIZE]; /* of the answer, where spec.header asks; as reason, cut */
};

struct probe_code_range {
	uint16_t first, last;
};

/* What to ask. Strings are borrowed, for as long as the probe lives or until probe_set_spec(). */
struct probe_spec {
	enum probe_kind kind;
	struct endpoint target; /* port 0 for ICMP */
	struct addr source;	/* none: the kernel chooses */
	int64_t timeout;	/* ns */
	bool keep_alive;
	/* HTTP(S) */
	const char *path; /* NULL: "/" */
	const char *host; /* sent as it is; NULL: the address, and the port unless the usual one */
	const char *user_agent; /* NULL: not sent */
	const struct probe_code_range *codes;
	size_t n_codes;
	const struct regex *body; /* NULL: not looked at */
	const char *header;	  /* whose value the outcome has; NULL: none */
	/* HTTPS */
	const char
		*server_name; /* SNI and the name verified; NULL: host if given, else the address */
	bool insecure_skip_verify;
};

/*
 * May start, cancel and free this probe and others, and may change the namespace; may not free the
 * environment. *outcome is gone afterwards.
 */
typedef void (*probe_done_fn)(struct probe *p, const struct probe_outcome *outcome, void *user);

/*
 * netns: NULL, a name under /run/netns, or an absolute path; copied. It is opened again for every
 * socket, so that one that vanished fails the probe and one that came back heals it.
 */
struct probe_env *probe_env_new(struct ev_loop *loop, const char *netns);
/* All probes must be freed before. */
void probe_env_free(struct probe_env *env);
/* From the next socket on. The same name again changes nothing. */
void probe_env_set_netns(struct probe_env *env, const char *netns);

struct probe *probe_new(struct probe_env *env, const struct probe_spec *spec, probe_done_fn done,
			void *user);
/* Cancels what is in flight. NULL is fine. */
void probe_free(struct probe *p);
void probe_start(struct probe *p);
bool probe_in_flight(const struct probe *p);
void probe_cancel(struct probe *p);
/*
 * Asks another question from now on; drops connection and TLS session. One in flight starts again
 * with it, so that nothing of the old spec is needed any longer.
 */
void probe_set_spec(struct probe *p, const struct probe_spec *spec);

const char *probe_stage_name(enum probe_stage s);
const char *probe_error_name(enum probe_error e);
/* A failure of this machine's own making, not of the server's or the network's. */
bool probe_outcome_is_local(const struct probe_outcome *o);
