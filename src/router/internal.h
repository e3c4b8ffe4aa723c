/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of a worker: what a data thread has, and who owns it.
 *
 *	client		a client's connection; owns its exchange while one runs
 *	exchange	a request and its answer; borrows the client, owns a link while it uses one
 *	link		a connection to a server; belongs to an exchange or a mirror, or to a slot
 *	mirror		a copy of a request; owns a link
 *	slot		what this thread knows about one server: its kept links, its counters
 *	era		a generation, as long as an exchange of this thread uses it
 *	port		an address that is listened on
 *
 * Everything here belongs to one thread. A request that waits holds one buffer, a connection that
 * waits holds none.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "core/l7/config.h"
#include "core/l7/table.h"
#include "core/l7/trace.h"
#include "lib/http/message.h"
#include "lib/stream/listener.h"
#include "lib/stream/stream.h"
#include "src/router/buffers.h"
#include "src/router/generation.h"
#include "src/router/head.h"
#include "src/router/worker.h"

#define ROUTER__SCRATCH ((size_t)64 * 1024)

struct exchange;

/* ---- servers, as a thread sees them ---- */

struct link {
	struct stream stream;
	struct worker *worker;
	struct slot *slot;
	struct exchange *x; /* both are NULL: kept */
	struct mirror *mirror;
	struct endpoint whose;	/* the client of its PROXY header; unset: it has none */
	struct buffer *in;	/* the start of a head that is not complete; NULL: none */
	TAILQ_ENTRY(link) kept; /* newest first; or among the worker's leaving ones */
	uint64_t served;	/* requests */
	struct addr to;		/* of a server with a name */
	unsigned version;	/* of its addresses, when `to` was last found among them */
	ev_tstamp opened;
	ev_tstamp since;  /* when it was kept */
	double idle_time; /* s for which it is kept */
	bool leaving;	  /* what is queued is sent, then it ends */
	bool limited;	  /* its stream has a deadline */
};

TAILQ_HEAD(links, link);

/* The addresses of a name, as the thread has copied them; connections go to them in turn. */
struct addresses {
	unsigned version;
	size_t n, turn;
	struct addr list[SERVER_ADDRESSES];
};

struct slot {
	uint64_t id; /* of the server: its number may have been another's before */
	struct seats *seats;
	struct quota_side *side;   /* of this thread, of the quota of the pool */
	TAILQ_ENTRY(slot) of_side; /* among the slots of the pool */
	struct links kept;
	unsigned n_kept, n_open; /* n_open: all links, kept or in use */
	unsigned active;	 /* exchanges */
	struct stats_cell *stats;
	struct addresses *addresses; /* of a server with a name; NULL: not needed yet */
};

/* ---- generations and listeners, as a thread sees them ---- */

struct era {
	struct generation *generation;
	struct tally *tally; /* of this thread */
	uint32_t *turns;     /* of each pool */
	unsigned users;	     /* exchanges, and the worker while it is the current one */
};

struct port {
	TAILQ_ENTRY(port) all;
	struct worker *worker;
	struct endpoint at;
	struct stream_listener listener;
	uint64_t generation; /* that it was opened for */
	bool open;
	const struct generation_port *rules; /* of the current generation; NULL: it has none */
	const struct generation_port *trial; /* of the second one */
	unsigned clients;
};

/* ---- clients ---- */

struct client {
	struct stream stream;
	struct worker *worker;
	struct port *port;
	TAILQ_ENTRY(client) all;
	struct exchange *x;	/* NULL: no request is being answered */
	struct buffer *in;	/* NULL: no bytes wait */
	struct endpoint peer;	/* of the socket */
	struct endpoint source; /* the same, or what the PROXY header says */
	struct addr from;	/* the same, or what trusted proxies say of the present request */
	struct addr counted;	/* its address, as the gate has counted it */
	ev_tstamp since;	/* without a request: when it became idle, or when its head began */
	ev_tstamp opened;
	uint64_t number;   /* of no other client of this thread; later ones are larger */
	uint64_t received; /* bytes */
	uint64_t seen;	  /* bytes that it had moved at the last sweep at which it was waited for */
	int64_t debt;	  /* bytes that it has moved too few */
	uint32_t scanned; /* of the head that is being read */
	uint32_t requests;
	bool ended;    /* the client will send no more */
	bool last;     /* the connection ends after the request that is under way */
	bool closing;  /* no further request is read */
	bool secure;   /* the PROXY header says that the client uses TLS */
	bool leaves;   /* the client has asked for the end of the connection */
	bool flushing; /* it was to end while something was queued */
	bool awaited;  /* at the last sweep it had to send, or to take what was queued */
	bool refused;  /* not counted by the gate: ends after its answer */
};

/* ---- exchanges ---- */

#define ROUTER__TRIED 4	  /* servers that a request remembers */
#define ROUTER__METHOD 16 /* bytes of a method that are kept; longer ones differ in no rule */

struct exchange {
	union {
		struct exchange *next; /* among the spare ones */
		struct client *client;
	};
	struct link *link; /* NULL: none yet, or no longer */
	struct era *era;
	const struct l7_target *target;
	const struct l7_backend *backend; /* NULL: none was chosen */
	const struct l7_listener *listener;
	struct server *server;			  /* of the present try */
	const struct generation_session *session; /* that the request belongs to; NULL: none */
	struct stats_cell *route, *pool;	  /* pool: NULL if there is none */
	const char *why;  /* a word for an answer of the router or a failure; NULL: none */
	uint64_t in, out; /* bytes from the client, and to it */
	ev_tstamp moved;  /* when bytes came last, from either side */
	/* monotonic ns: the head was complete, the try began, the server's answer began, the end */
	int64_t began, try_began, first, ended; /* first, ended: 0 before that */
	int64_t due, retry_at; /* monotonic ns: end of the request, next try; 0: none */
	int64_t try_due;       /* monotonic ns: end of the present try; 0: none */
	int64_t wait_due;      /* monotonic ns: end of the wait for a link; 0: none */
	struct quota_place place;
	struct quota_side *side;     /* of the pool; NULL: the request is not counted there */
	uint64_t hash;		     /* of the key of the request, for L7_MAGLEV */
	struct buf cors;	     /* lines for the answer */
	LIST_HEAD(, mirror) mirrors; /* copies that get the body, too */
	size_t pushed, fed;    /* bytes of the body: sent in this try, and passed on to copies */
	struct l7_trace trace; /* if it was created here */
	char *kept_head;       /* for the access log, if its place in client->in is gone */
	size_t start;	       /* of the head in client->in */
	size_t head;	       /* its bytes */
	size_t sent;	       /* offset in client->in of the first byte that was not passed on */
	uint64_t room;	       /* bytes of content that the request may still have */
	struct http_body up, down;
	enum head_framing framing; /* of the answer */
	unsigned interim;	   /* answers before the final one */
	unsigned tries;
	uint16_t tried[ROUTER__TRIED]; /* servers of the latest tries, by their place in the pool */
	unsigned status;	       /* of the answer */
	char method[ROUTER__METHOD];
	uint8_t n_method;
	bool old;	   /* the client speaks HTTP/1.0 */
	bool keep;	   /* the client's connection stays open */
	bool keep_link;	   /* the server's does */
	bool repeatable;   /* all of the request is still in client->in */
	bool counted;	   /* how the present try has ended */
	bool done;	   /* the answer is complete */
	bool answering;	   /* the head of the final answer was passed on */
	bool tunnel;	   /* after 101: bytes both ways */
	bool upgrade;	   /* the client asked for one */
	bool full_up;	   /* the client is not read from until the server has taken more */
	bool full_down;	   /* and the other way round */
	bool cut;	   /* the server takes no more of the request */
	bool crooked;	   /* the path is passed on in another form than it came */
	bool traced;	   /* trace is set */
	bool copied;	   /* its copies have begun */
	bool hashed;	   /* hash is set: the request has the key */
	bool admitted;	   /* counted among the limited requests of the pool */
	bool again;	   /* counted among the further tries of the pool */
	bool server_ended; /* of a tunnel */
};

/* Written by the worker alone, and read by any thread. */
struct counters {
	_Atomic uint64_t requests, retries, answers[WORKER_CLASSES], aborts, clients, links;
	_Atomic uint64_t overflows[WORKER_LIMITS];
	_Atomic uint64_t copies[WORKER_COPIES];
	_Atomic uint64_t refusals[REFUSALS];
};

static inline void count(_Atomic uint64_t *counter, int by)
{
	uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, before + (uint64_t)by, memory_order_relaxed);
}

struct worker {
	struct worker_config config;
	struct ev_loop *loop;
	pthread_t thread;
	bool running;
	ev_async wake;
	ev_timer drain_limit;
	ev_timer sweep; /* looks for connections that have been silent for too long */
	_Atomic(struct edition *) pending;    /* NULL: nothing new */
	_Atomic(struct socket_gift *) gifts;  /* sockets for the next generation */
	_Atomic(struct inquiry_part *) asked; /* list */
	struct inquiry_part *answering;	      /* list: what is being answered */
	_Atomic(struct quota_side *) calls;   /* of other threads: turns to take */
	atomic_bool stop;
	atomic_uint drain; /* of enum worker_drain: what is wanted */
	unsigned phase;	   /* what is done of it */
	ev_tstamp drain_began;
	struct era *era;   /* the current one; NULL before the first */
	struct era *trial; /* a second one, for some clients; NULL: none */
	struct worker_trial split;
	TAILQ_HEAD(, port) ports;
	TAILQ_HEAD(, client) clients;
	unsigned n_clients;
	uint64_t last_client; /* its number */
	unsigned n_refused;   /* of them, those that the gate did not let in */
	struct links leaving;
	struct slot **slots; /* by the number of a server; NULL: not used yet */
	uint32_t n_slots;
	uint64_t random; /* state of the generator */
	struct buffers buffers;
	struct exchange *spare;
	TAILQ_HEAD(, mirror) mirrors;
	unsigned n_mirrors;
	struct mirror *spare_mirrors;
	struct http_head head;		/* that is being parsed: one at a time */
	const struct exchange *head_of; /* whose head it still is; NULL: that is not known */
	struct buf out;			/* the head that is being written */
	struct buf path;		/* that is being rewritten */
	struct buf straight;		/* the target of a request whose path had another form */
	char scratch[ROUTER__SCRATCH];
	struct counters counters;
};

/* worker.c */
struct slot *worker_slot(struct worker *w, const struct server *server);
void worker_release_era(struct worker *w, struct era *era);
/* The one that a request of this client begins with, while there are two. */
struct era *worker_trial_era(const struct worker *w, const struct client *c);
/* The last connection may have ended. */
void worker_look(struct worker *w);

/* choose.c */
enum choice { CHOICE_SERVER, CHOICE_ANSWER, CHOICE_REDIRECT, CHOICE_PATH_REFUSED };

/*
 * Finds the rule of a request, and its backend. The path of the request becomes that of which the
 * rules speak. *ret_status is that of CHOICE_ANSWER.
 */
enum choice choose_rule(struct exchange *x, struct l7_request *r, unsigned *ret_status);
/*
 * A server of the backend's pool, if possible none that was tried before; NULL: none can be used.
 * The caller counts the try. *ret_full: there are some, but they have no connection to spare. A
 * fresh link cannot be one that is kept.
 */
struct server *choose_server(struct exchange *x, bool fresh, bool *ret_full);
/* The next server of a pool, for a copy of a request; NULL: none can be used now. */
struct server *choose_any(struct worker *w, struct era *era, const struct generation_pool *pool);

/* client.c */
/* A new connection; refused if the gate does not let it in. */
void client_new(struct port *port, int fd, struct endpoint peer);
/* Answers with the words of a refusal and ends the connection, if no request is under way. */
void client_refuse(struct client *c, enum refusal why);
/* Its exchange has ended: goes on with the next request, or ends. */
void client_next(struct client *c);
/* Ends the connection after what is queued was sent. */
void client_end(struct client *c);
/* The same after a whole answer; may free the client at once. */
void client_leave(struct client *c);
void client_free(struct client *c);
/* An answer of the router itself. */
struct client_answer {
	unsigned status;
	struct str lines; /* further fields, each with CRLF */
	const char *text; /* content; NULL: the reason of the status */
	bool keep;	  /* the connection stays open */
	bool head;	  /* no content, because the method is HEAD */
};

/* Sends it. Returns its bytes, negative if the connection has to end. */
ssize_t client_answer(struct client *c, const struct client_answer *a);
/* Ends what has been silent for too long. */
void client_sweep(struct client *c, ev_tstamp now);
/* Its address is no longer served: ends the connection as soon as no request is under way. */
void client_drain(struct client *c);

/* exchange.c */
/* Begins the exchange of the head that was just parsed into w->head: n bytes at client->in->at. */
void exchange_begin(struct client *c, size_t n);
/* The client has sent more. */
void exchange_push(struct exchange *x);
/* The client's queue is empty again. */
void exchange_resume(struct exchange *x);
/* Reads from the two sides as their queues allow. */
void exchange_steer(struct exchange *x);
/* The thread takes a turn for the quota of a pool: requests that wait may begin. */
void exchange_turn(struct quota_side *side);
/* The deadline of the client's stream has passed. */
void exchange_expired(struct exchange *x);
void exchange_sweep(struct exchange *x, ev_tstamp now);
/* Whether the exchange waits for the rest of the request, and could take it. */
bool exchange_awaits_client(const struct exchange *x);
/* The client is too slow. */
void exchange_too_slow(struct exchange *x);
/* The client is gone: drops the exchange without an answer. */
void exchange_drop(struct exchange *x);

/* Called by link.c. */
void exchange_connected(struct exchange *x);
/* The server has sent n bytes: returns how many were used; -1: the link is no longer in use. */
ssize_t exchange_pull(struct exchange *x, const char *p, size_t n);
/* The server has ended the connection, or it failed with a negative errno. */
void exchange_lost(struct exchange *x, int error);
/* The server's queue is empty again. */
void exchange_flushed(struct exchange *x);
/* The try takes too long. */
void exchange_late(struct exchange *x);

/*
 * Between exchange.c, which has its states, request.c and answer.c, which pass the two directions
 * on.
 */
static inline struct worker *exchange__worker(const struct exchange *x)
{
	return x->client->worker;
}

static inline struct str exchange__method(const struct exchange *x)
{
	return (struct str){ x->method, x->n_method };
}

static inline const struct l7_clients *worker_clients(const struct worker *w)
{
	return &w->era->generation->config.clients;
}

/* A server gets the request. */
static inline bool exchange__is_sending(const struct exchange *x)
{
	return x->link && x->link->stream.state == STREAM_OPEN;
}

static inline void exchange__add_edits(const struct l7_header_edits *e,
				       const struct l7_header_edits **list, size_t *n)
{
	if (e->n_set + e->n_add + e->n_remove)
		list[(*n)++] = e;
}

/* Bytes came from one of the sides. */
void exchange__move(struct exchange *x);
/* The head will be overwritten: keeps a copy if it may be needed for the access log. */
void exchange__keep_head(struct exchange *x);
/* Chooses a server and sends the request; on a new connection if it must be fresh. */
void exchange__try_server(struct exchange *x, bool fresh);
/* The try has failed: begins another one, or answers. */
void exchange__fail(struct exchange *x, enum l7_ending ending);
/* Counts the try for or against its server. */
void exchange__judge(struct exchange *x, const struct l7_try *t);
/* Whether the status of an answer leads to another try, which is then begun. */
bool exchange__retry_status(struct exchange *x, unsigned status);
/* Answers without a server. The rest of a body that was not read ends the connection. */
void exchange__answer(struct exchange *x, unsigned status);
void exchange__answer_with(struct exchange *x, unsigned status, struct str lines);
/* Answers with the words of a refusal, or ends an answer that has begun; the connection ends. */
void exchange__refuse(struct exchange *x, enum refusal why);
/* Ends the exchange, whose answer is complete. */
void exchange__leave(struct exchange *x, bool keep);
/* Both sides of a tunnel have ended. */
void exchange__end_tunnel(struct exchange *x);
void exchange__drop_link(struct exchange *x);
void exchange__disarm(struct exchange *x);
/* Sets the deadline for what comes first. */
void exchange__arm(struct exchange *x);
/* waiting.c: a link to a server, or a place in the queue. */
enum exchange__seat { SEAT_TAKEN, SEAT_NONE, SEAT_FULL };
void exchange__wait(struct exchange *x);
void exchange__stop_waiting(struct exchange *x);
void exchange__overflow(struct exchange *x, enum worker_limit limit);
/* request.c: takes a link for the next try; exchange__begin_try() begins it. */
enum exchange__seat exchange__take_link(struct exchange *x, bool fresh, bool *ret_open);
void exchange__begin_try(struct exchange *x, bool fresh, bool open);
void exchange__steer_client(struct exchange *x);
void exchange__steer_server(struct exchange *x);
/* Does not read from the server until the client has taken what is queued. */
void exchange__slow_down(struct exchange *x);

/* account.c: what is counted about an exchange */
/* The name of its route, also if it has none. */
const struct name *account_route(const struct exchange *x);
/* Its rule is chosen, or why there is none. */
void account_begin(struct exchange *x);
/* It goes to a server. */
void account_try(struct exchange *x);
/* Another try follows, at x->retry_at. */
void account_again(struct exchange *x);
/* The server's answer has begun. */
void account_first(struct exchange *x);
/* The server's answer is complete, or it leads to another try. */
void account_answered(struct exchange *x, unsigned status);
/* The server has failed: STATS_CONNECT, STATS_BROKEN or STATS_TIMEOUT. */
void account_failure(struct exchange *x, enum stats_counter kind, const char *why);
/* The server is no longer needed: if nothing of the above happened, that counts as an abort. */
void account_left(struct exchange *x);
/* The last thing that happens to it: x->done says how. */
void account_end(struct exchange *x);

/* journal.c: the access log */
/* At the end of an exchange: writes its line if it has to have one. */
void journal_write(struct exchange *x);
/* The same for a request without an exchange, or a connection that was refused. */
void journal_refused(struct client *c, unsigned status, const char *why);

/* link.c */
/* What a link is needed for. */
struct link_wish {
	const struct l7_pool *pool;
	const struct client *client; /* for the PROXY header, if the pool has one */
	bool fresh;		     /* not one that was kept */
};

/*
 * A kept link or a new one that is being connected. NULL: as many as the pool allows are open. The
 * caller sets x or mirror at once.
 */
struct link *link_take(struct worker *w, struct server *server, const struct link_wish *wish);
static inline bool link_is_open(const struct link *l)
{
	return l->stream.state == STREAM_OPEN;
}
/* Ends one that is kept, of any server of the pool. False: there are none. */
bool link_yield(struct quota_side *side);
/* The exchange no longer needs it: kept within the limits, or closed if there are none. */
void link_give(struct link *l, const struct l7_limits *limits);
/* The exchange no longer needs it: ends after what is queued was sent. */
void link_leave(struct link *l);
/* Time until exchange_late(); 0: none. */
void link_limit(struct link *l, int64_t ns);
/* After a failed write: passes on what the server had sent before. False if that is nothing. */
bool link_rescue(struct link *l);
/* Ends those that were kept for too long. */
void link_sweep(struct slot *slot, ev_tstamp now);
void link_free(struct link *l);

/* mirror.c */
/* Begins the copies of a request, whose head is the same; mirror_feed() follows. */
void mirror_begin(struct exchange *x, struct str head);
/* A part of the body is sent. */
void mirror_feed(struct exchange *x, struct str body);
/* The request ends before its body: so do its copies. */
void mirror_abandon(struct exchange *x);
void mirror_sweep(struct worker *w, ev_tstamp now);
void mirror_clean_up(struct worker *w);
/* The link of the copy after *m, which it becomes; of the first one after NULL. NULL: no more. */
const struct link *mirror_next(const struct worker *w, const struct mirror **m);

/* Called by link.c; as those of exchanges. */
void mirror_connected(struct mirror *m);
ssize_t mirror_pull(struct mirror *m, const char *p, size_t n);
void mirror_lost(struct mirror *m, int error);
