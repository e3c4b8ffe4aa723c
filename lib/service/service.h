/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service: the gRPC API of a daemon, set up from its flags.
 *
 * It opens the server of lib/grpc, reads certificates (again on request), knows which clients may
 * change anything, counts calls, and makes long answers part by part. With mutual TLS and a list of
 * operators only these may change anything; other clients with a valid certificate may read.
 *
 * Like lib/admin it logs, because its messages are the same in every daemon: "listening",
 * "listen-failed", "grpc-open", "grpc-tls-failed", "operator-act", "operator-refused" and, at debug
 * level, "grpc-call".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/who.h"
#include "lib/grpc/server.h"
#include "lib/log/who.h"
#include "lib/loop/loop.h"
#include "lib/service/options.h"

struct service;

/* Copied; what it points to is borrowed. */
struct service_config {
	const struct service_options *options;
	const struct grpc_method *methods; /* of the service, and a handler for each */
	const grpc_handler_fn *handlers;
	size_t n_methods;
	void *user; /* of the handlers and of generation() */
	/* Long answers start again when it changes: a part of the old state is no longer true. */
	uint64_t (*generation)(void *user);
	size_t max_message; /* bytes of a request */
	size_t max_queued;  /* bytes of responses that wait in one stream */
	const void *descriptor_set;
	size_t descriptor_set_size;
	int inherited; /* its listening socket, of an earlier process; 0: none */
};

/* Listens. Returns -errno, or -EINVAL for a certificate that cannot be used; logs in any case. */
int service_new(struct ev_loop *loop, const struct service_config *config, struct service **ret);
/* Ends all calls. NULL is allowed. */
void service_free(struct service *s);
/* Reads the certificates again, for new connections. If that fails, the old ones stay in use. */
void service_renew(struct service *s);
/* The listening socket, to be passed to another process. */
int service_socket(const struct service *s);
/* That process has taken over: leaves the socket to it. */
void service_hand_over(struct service *s);
/* Ends streams and lets calls under way finish; then done is called from the loop. */
void service_drain(struct service *s, void (*done)(void *user), void *user);
/* False if this client may only read; the call has then failed with PERMISSION_DENIED. */
bool service_may_change(const struct service *s, struct grpc_call *call);
/* Who makes this call, as far as it is known (base/who.h). */
struct who service_who(const struct service *s, const struct grpc_call *call);
/*
 * The line "operator-act": an act that was carried out, with the operator of the call. text is a
 * word; what follows are fields of the line. Before the call is answered.
 */
#define service_log_act(who, text, ...)                                                            \
	do {                                                                                       \
		char address_[ADDR_STRLEN];                                                        \
		log_info("operator-act", LOG_S("act", text), LOG_WHO(who, address_), __VA_ARGS__); \
	} while (0)
/*
 * Whether clients on other machines may change everything without showing a certificate: the API
 * listens on an address that is not loopback, and there is no client CA. The start warns of it.
 */
bool service_is_open(const struct service *s);
/*
 * An arena for an answer, or a part of one, that is encoded at once: the next call of this function
 * empties it.
 */
struct arena *service_scratch(struct service *s);
/* Calls that ended, by method and status. */
uint64_t service_calls(const struct service *s, size_t method, enum grpc_status status);
const struct grpc_server_stats *service_stats(const struct service *s);

/* ---- long answers ---- */

struct service_answer;
/* Makes the next part of an answer, allocated in arena; NULL: there are no more parts. */
typedef const ProtobufCMessage *(*service_part_fn)(struct service_answer *answer,
						   struct arena *arena);

/* An answer that is being made. May be the first member of a struct with more for the parts. */
struct service_answer {
	/* set by the caller */
	service_part_fn part;
	void *user;
	void (*restart)(struct service_answer *answer); /* before the first part; may be NULL */
	void (*release)(struct service_answer *answer); /* at the end; frees the answer */

	size_t at;	  /* for part() alone; 0 at the first part, also after a restart */
	bool refused;	  /* set by the last part if it has failed the call */
	struct buf bytes; /* the parts so far, encoded */
	struct grpc_call *call;
	struct service *service;
	uint64_t generation; /* that the parts show */
	TAILQ_ENTRY(service_answer) queue;
};

/*
 * Makes the answer from parts and sends it: in this turn of the loop, or over several turns when it
 * is long. Owns the answer from now on, and takes over the call's grpc_on_cancel().
 */
void service_answer(struct service *s, struct grpc_call *call, struct service_answer *answer);
/* The same for an answer that needs nothing but `at` and user. */
void service_answer_in_parts(struct service *s, struct grpc_call *call, service_part_fn part,
			     void *user);
