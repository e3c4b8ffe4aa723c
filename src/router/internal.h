/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of a worker: what a data thread has, and who owns it.
 *
 *	client		a client's connection, or one stream of it; owns its exchange while one runs
 *	session		an HTTP/2 connection of a client, with its streams
 *	exchange	a request and its answer; borrows the client, owns a link while it uses one
 *	link		a connection to a server, or a stream of a trunk; belongs to an exchange,
 *			a mirror or a slot
 *	trunk		a connection to a server that many links share (HTTP/2); belongs to a slot
 *	mirror		a copy of a request; owns a link
 *	relay		a connection that is passed on as it is; borrows the client, owns a link
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
#include "core/l7/grpc.h"
#include "core/l7/table.h"
#include "core/l7/trace.h"
#include "lib/h2/h2.h"
#include "lib/http/message.h"
#include "lib/http/websocket.h"
#include "lib/stream/listener.h"
#include "lib/stream/stream.h"
#include "src/router/buffers.h"
#include "src/router/convert.h"
#include "src/router/drop.h"
#include "src/router/generation.h"
#include "src/router/head.h"
#include "src/router/pipes.h"
#include "src/router/worker.h"

#define ROUTER__SCRATCH ((size_t)64 * 1024)

struct exchange;
struct secure;
struct trunk;

/* ---- servers, as a thread sees them ---- */

/* What a link has that is a stream of a trunk (trunk.c). */
struct strand {
	struct h2_stream *h2; /* NULL: the request has not begun, or the stream has ended */
	struct http_body up;  /* the request comes as HTTP/1.1 */
	struct buf trailers;  /* of the request */
	size_t unread;	      /* bytes of content for which the other side has no room yet */
	size_t staged;	      /* of them, those that have not been passed on */
	size_t block;	      /* where the block that is being read begins in what was collected */
	unsigned status;      /* of the block that is being read */
	uint8_t want;	      /* of link_want() */
	bool open;	      /* requests can be sent */
	bool begun;	      /* the head of the request was sent */
	bool is_head;	      /* its method is HEAD */
	bool socket;	      /* the request was an upgrade to a WebSocket */
	bool raw;	      /* and is one: no framing on either side */
	bool reading;	      /* a block of fields is not complete */
	bool answered;	      /* the final head has come */
	bool chunked;	      /* the body of the answer is passed on in chunks */
	bool sized;	      /* the block has a length */
	bool trailing;	      /* trailers were begun */
	bool ended;	      /* the server has sent all */
	char accept[32];      /* of the WebSocket */
};

struct link {
	struct stream stream; /* of a stream of a trunk: only its deadline and its steps */
	struct worker *worker;
	struct trunk *trunk; /* NULL: a connection of its own, with HTTP/1.1 */
	struct strand strand;
	struct slot *slot;
	struct exchange *x; /* all three are NULL: kept */
	struct mirror *mirror;
	struct relay *relay;
	struct seats *seats;	/* of the server */
	uint64_t id;		/* of the server: the slot may be another's by now */
	struct endpoint whose;	/* the client of its PROXY header; unset: it has none */
	struct buffer *in;	/* the start of a head that is not complete; NULL: none */
	TAILQ_ENTRY(link) kept; /* newest first; or among the worker's leaving ones */
	uint64_t served;	/* requests */
	struct addr to;		/* of a server with a name */
	unsigned version;	/* of its addresses, when `to` was last found among them */
	ev_tstamp opened;
	ev_tstamp since;  /* when it was kept */
	double idle_time; /* s for which it is kept */
	uint64_t secure;  /* id of the settings of TLS; 0: none */
	uint8_t failed;	  /* enum l7_ending: how it was lost; L7_ANSWERED: its stream knows */
	const char *why;  /* a word for the access log; NULL: none */
	bool leaving;	  /* what is queued is sent, then it ends */
	bool unseen;	  /* the server has left, and said that it has not looked at the request */
	bool limited;	  /* its stream has a deadline */
};

TAILQ_HEAD(links, link);
TAILQ_HEAD(trunks, trunk);

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
	struct trunks trunks;
	unsigned n_trunks;
	unsigned n_idle; /* of them, those without a request */
	enum l7_server_protocol
		speaks; /* with L7_AUTO: what ALPN has decided last; L7_AUTO: unknown */
	struct tls_session *session; /* to be resumed; NULL: none */
	uint64_t session_of;	     /* id of the settings of TLS that it was made with */
	ev_tstamp verified;	     /* when a handshake was complete last */
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
	enum generation_opening opening;     /* of its rules, or of those that it had last */
	const struct generation_port *rules; /* of the current generation; NULL: it has none */
	const struct generation_port *trial; /* of the second one */
	unsigned clients;
};

/* ---- clients ---- */

/*
 * One of three things: a connection of HTTP/1, with at most one request at a time; a connection of
 * HTTP/2, which has given its stream to lib/h2 and has no requests; a stream of such a connection,
 * with one request.
 */
struct client {
	struct stream stream;	 /* of HTTP/2: without a socket; a stream has its deadline here */
	struct session *session; /* of HTTP/2: of this connection, or of the one of this stream */
	struct worker *worker;
	struct port *port;
	TAILQ_ENTRY(client) all; /* of the worker, or of the session */
	struct exchange *x;	 /* NULL: no request is being answered */
	struct relay *relay;	 /* NULL: it is not passed on as it is */
	struct tls_hello *hello; /* NULL: its first message is not being read */
	struct buffer *in;	 /* NULL: no bytes wait */
	struct endpoint peer;	 /* of the socket */
	struct endpoint source;	 /* the same, or what the PROXY header says */
	struct addr from;	 /* the same, or what trusted proxies say of the present request */
	struct addr counted;	 /* its address, as the gate has counted it */
	ev_tstamp since; /* without a request: when it became idle, or when its head began */
	ev_tstamp opened;
	uint64_t number;   /* of no other client of this thread; later ones are larger */
	uint64_t received; /* bytes */
	uint64_t seen;	  /* bytes that it had moved at the last sweep at which it was waited for */
	int64_t debt;	  /* bytes that it has moved too few */
	uint32_t scanned; /* of the head that is being read */
	uint32_t requests;
	uint64_t found_in;			 /* number of a generation, or 0 */
	const struct generation_listener *found; /* there: that of the server name; NULL: none */
	bool ended;				 /* the client will send no more */
	bool last;	/* the connection ends after the request that is under way */
	bool closing;	/* no further request is read */
	bool secure;	/* TLS ends here, or before, as the PROXY header says */
	bool leaves;	/* the client has asked for the end of the connection */
	bool flushing;	/* it was to end while something was queued */
	bool awaited;	/* at the last sweep it had to send, or to take what was queued */
	bool refused;	/* not counted by the gate: ends after its answer */
	bool proxied;	/* it sends a PROXY header */
	bool is_stream; /* of an HTTP/2 connection */
};

/* A connection of HTTP/2. It is the area of its struct h2_conn. */
struct session {
	struct client *client;
	TAILQ_HEAD(, client) streams;
	unsigned n_streams;
	bool open;    /* the client's SETTINGS have come */
	bool leaving; /* GOAWAY was sent */
};

/*
 * A stream of HTTP/2. Its request is in client.in as the text that an HTTP/1.1 client would have
 * sent; its answer goes out as fields and content. It is the area of its struct h2_stream.
 */
struct session_stream {
	struct client client;
	struct h2_stream *h2;	      /* NULL: it has ended */
	struct convert_fields fields; /* of the head, while it comes; in client.in */
	struct buf held;	      /* content that has not got into client.in, from held_at on */
	struct buf tail;	      /* trailer lines of the request, from tail_at on */
	struct buf trailers;	      /* trailer lines of the answer */
	size_t held_at, tail_at;
	uint64_t length;		  /* of the content; UINT64_MAX: not known */
	char key[HTTP_WEBSOCKET_KEY + 1]; /* of a WebSocket; "": none */
	bool headed;			  /* the head is complete */
	bool chunked;			  /* the body is written in chunks */
	bool waits;			  /* for its end: it has announced no content */
	bool wants;			  /* the exchange takes more */
	bool finished;			  /* the client has ended its side, and that matters */
	bool told;			  /* the exchange knows it */
	bool responded;			  /* the head of the answer was sent */
	bool answered;			  /* our side has ended */
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
	struct buf trailers;	     /* lines of the server, with web */
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
	enum l7_grpc_code code;	       /* that the client gets; L7_GRPC_NONE: none so far */
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
	bool lasting;	   /* has seen a sweep */
	bool grpc;	   /* a call of gRPC: the router answers in its form */
	bool web;	   /* of gRPC-Web: it is translated */
};

/* Written by the worker alone, and read by any thread. */
struct counters {
	_Atomic uint64_t requests, retries, answers[WORKER_CLASSES], aborts, clients, links;
	_Atomic uint64_t streams, sessions; /* of HTTP/2: requests, and connections now */
	_Atomic uint64_t overflows[WORKER_LIMITS];
	_Atomic uint64_t copies[WORKER_COPIES];
	_Atomic uint64_t handshakes[2]; /* with clients: full, resumed */
	_Atomic uint64_t server_handshakes[WORKER_HANDSHAKES], trunks;
	_Atomic uint64_t refusals[REFUSALS];
	/* of datagrams */
	_Atomic uint64_t flows, flows_begun, evictions, dropped[DROPS];
	_Atomic uint64_t received, sent; /* from clients, and to them */
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
	_Atomic(struct edition *) pending;	 /* NULL: nothing new */
	_Atomic(struct socket_gift *) gifts;	 /* sockets for the next generation */
	_Atomic(struct session_gift *) sessions; /* of another process */
	atomic_int channel;			 /* for sessions that are handed over; -1: none */
	_Atomic(struct inquiry_part *) asked;	 /* list */
	struct inquiry_part *answering;		 /* list: what is being answered */
	_Atomic(struct quota_side *) calls;	 /* of other threads: turns to take */
	atomic_bool stop;
	atomic_uint drain; /* of enum worker_drain: what is wanted */
	unsigned phase;	   /* what is done of it */
	ev_tstamp drain_began;
	struct era *era;   /* the current one; NULL before the first */
	struct era *trial; /* a second one, for some clients; NULL: none */
	struct worker_trial split;
	TAILQ_HEAD(, port) ports;
	TAILQ_HEAD(, client) clients; /* connections */
	unsigned n_clients;
	struct h2_host *h2;   /* those that speak HTTP/2 */
	uint64_t last_client; /* its number */
	unsigned n_refused;   /* of them, those that the gate did not let in */
	struct links leaving;
	struct h2_host *trunks;	       /* their host; NULL: there were none yet */
	struct link *spare_links;      /* list by `next`: streams of trunks, for the next use */
	struct link *staged;	       /* whose answer is in stage; NULL: nobody's */
	struct buf stage;	       /* a part of an answer, as HTTP/1.1 */
	struct fields_request *fields; /* that is being sent; NULL: none was sent yet */
	TAILQ_HEAD(, strand_area) left_behind; /* streams that nobody waits for */
	ev_tstamp told;			       /* when a failure of TLS was logged last */
	unsigned untold;		       /* failures since */
	struct slot **slots;		       /* by the number of a server; NULL: not used yet */
	uint32_t n_slots;
	uint64_t random; /* state of the generator */
	struct buffers buffers;
	struct pipes pipes;
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
	struct datagrams *datagrams; /* NULL: it has no listener for them */
};

/* worker.c */
struct slot *worker_slot(struct worker *w, const struct server *server);
void worker_release_era(struct worker *w, struct era *era);
/* The one that a request of this client begins with, while there are two. */
struct era *worker_trial_era(const struct worker *w, const struct endpoint *peer);
/* The last connection may have ended. */
void worker_look(struct worker *w);
/* Counts a try for or against a server, which the caller's generation holds. */
void worker_judge(struct worker *w, struct server *server, const struct l7_ejection *rule,
		  bool failed);

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
/*
 * A server for a connection or datagrams of that source that are no requests of HTTP; with
 * L7_MAGLEV by the source. If possible not one that was tried (may be NULL). NULL: none can be
 * used now.
 */
struct server *choose_for(struct worker *w, struct era *era, const struct generation_pool *pool,
			  const struct addr *source, const struct server *tried);

/* The same for a relay, which remembers the server as tried. */
struct server *choose_relay(struct relay *r, bool *ret_full);

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
/* The head of a request, of n bytes at in->at, is in worker->head: it begins, or is refused. */
void client_take_head(struct client *c, size_t n);
/* Whether bytes of the client, or its taking some, are waited for; and whether it is too slow. */
bool client_is_awaited(const struct client *c);
bool client_is_too_slow(struct client *c, unsigned rate);
void client_end_slow(struct client *c);
/* An answer of the router itself. */
struct client_answer {
	unsigned status;
	struct str lines; /* further fields, each with CRLF */
	const char *text; /* content; NULL: the reason of the status */
	bool keep;	  /* the connection stays open */
	bool head;	  /* no content, because the method is HEAD */
	bool bare;	  /* no content, and no type of it but that in lines */
};

/* Sends it. Returns its bytes, negative if the connection has to end. */
ssize_t client_answer(struct client *c, const struct client_answer *a);
/* Ends what has been silent for too long. */
void client_sweep(struct client *c, ev_tstamp now);
/* Its address is no longer served: ends the connection as soon as no request is under way. */
void client_drain(struct client *c);

/* session.c: HTTP/2 */
/* The connection speaks HTTP/2; what was read of it so far is in c->in. */
void session_begin(struct client *c);
/* No further request: GOAWAY; those that are under way, or on their way, are still served. */
void session_drain(struct client *c);
void session_sweep(struct client *c, ev_tstamp now);
struct h2_host *session_host_new(struct worker *w);
/* The byte stream of the connection, to ask for addresses and TLS. */
const struct stream *session_transport(const struct client *c);

/* Of streams, called through the functions of clients below. */
void session_want(struct client *c, unsigned what);
size_t session_unsent(const struct client *c);
bool session_is_full(const struct client *c);
uint64_t session_moved(const struct client *c);
/* The exchange has ended; the answer is complete or was queued. */
void session_rest(struct client *c);
/* Drops the stream; the client is told if it is still there. */
void session_drop(struct client *c);
/* The head of an answer; last: nothing follows. Returns its bytes, or a negative errno. */
ssize_t session_respond(struct client *c, const struct field *fields, size_t n, bool last);
ssize_t session_inform(struct client *c, const struct field *fields, size_t n);
/* Content, which is copied. */
void session_send(struct client *c, struct str content);
/* Trailer lines of the answer, in pieces as they come. */
void session_trail(struct client *c, struct str lines);
/* The answer is complete. -EBADMSG: its trailers are malformed. */
int session_finish(struct client *c);
/* The answer to an extended CONNECT: the tunnel begins, maybe with what has come already. */
void session_tunnel(struct client *c);
/* Whether the value proves that the server speaks WebSocket. */
bool session_accepts(const struct client *c, struct str accept);

#define CLIENT_SLACK 16 /* bytes of a buffer in which no chunk of HTTP/2 is begun */

static inline struct client *client_connection(struct client *c)
{
	return c->is_stream ? c->session->client : c;
}

static inline const struct stream *client_transport(const struct client *c)
{
	return c->session ? session_transport(c) : &c->stream;
}

/* Bytes that wait to be taken by the client. */
static inline size_t client_unsent(const struct client *c)
{
	return c->is_stream ? session_unsent(c) : stream_unsent(&c->stream);
}

/* Whether the server has to wait for the client. */
static inline bool client_is_full(const struct client *c)
{
	return c->is_stream ? session_is_full(c) : stream_unsent(&c->stream) > 0;
}

static inline void client_want(struct client *c, unsigned what)
{
	if (c->is_stream)
		session_want(c, what);
	else
		stream_want(&c->stream, what);
}

/* Whether more of the request can be read into its buffer. */
static inline bool client_has_room(const struct client *c)
{
	size_t most = c->is_stream ? BUFFER_SIZE - CLIENT_SLACK : BUFFER_SIZE;

	return !c->in || c->in->n < most;
}

/* secure.c */
/* Begins the handshake, after a PROXY header if one is expected. */
void secure_begin(struct client *c);
/* The handshake has failed. True if the client gets an answer, otherwise it has to end. */
bool secure_failed(struct client *c, int error);
/* The listener that the client has asked for by the server name; NULL: it is there no more. */
const struct generation_listener *secure_listener(struct client *c, const struct era *era);
/* Whether a request for a host of listener l came over TLS that was made for another one. */
bool secure_is_misdirected(struct client *c, const struct era *era,
			   const struct generation_listener *l);
/* The subject of the client's certificate, if that was verified. */
struct str secure_subject(const struct client *c);

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
/* The server has not seen anything of the try: it begins again, maybe at another server. */
void exchange_again(struct exchange *x);

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

static inline bool link_is_open(const struct link *l)
{
	return l->trunk ? l->strand.open : l->stream.state == STREAM_OPEN;
}

/* A server gets the request. */
static inline bool exchange__is_sending(const struct exchange *x)
{
	return x->link && link_is_open(x->link);
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
/* Whether the answer whose head was just parsed leads to another try, which is then begun. */
bool exchange__retry_status(struct exchange *x);
/* Answers without a server. The rest of a body that was not read ends the connection. */
void exchange__answer(struct exchange *x, unsigned status);
void exchange__answer_with(struct exchange *x, unsigned status, struct str lines);
/* Answers with the words of a refusal, or ends an answer that has begun; the connection ends. */
void exchange__refuse(struct exchange *x, enum refusal why);
/* The server has failed, or the router, or the answer is not complete. */
static inline bool exchange__has_failed(const struct exchange *x)
{
	return !x->tunnel &&
	       (!x->done || x->status >= 500 || (x->code > L7_GRPC_OK && l7_grpc_failed(x->code)));
}

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
/* answer.c: trailers of the server, with the empty line; then the end of the body. */
void exchange__trail(struct exchange *x, struct str lines);
int exchange__mark_end(struct exchange *x);
/* request.c: takes a link for the next try; exchange__begin_try() begins it. */
enum exchange__seat exchange__take_link(struct exchange *x, bool fresh, bool *ret_open);
void exchange__begin_try(struct exchange *x, bool fresh, bool open);
void exchange__steer_client(struct exchange *x);
void exchange__steer_server(struct exchange *x);
/* Does not read from the server until the client has taken what is queued. */
void exchange__slow_down(struct exchange *x);

/* call.c: calls of gRPC; x->grpc is set */
/* Whether a request is one. */
bool call_is(const struct http_head *h);
/* Its rule is for calls: it may be a stream, on which both sides are silent as they like. */
bool call_may_be_quiet(const struct exchange *x);
/* ns for the call whose head was just parsed: that of its rule, or less if it asks for less. */
int64_t call_time(const struct exchange *x);
/*
 * The head of an answer was parsed. If it has a code, the call has ended with it; returns the
 * status of HTTP that stands for it, otherwise the given one.
 */
unsigned call_read_head(struct exchange *x, unsigned status);
void call_read_trailers(struct exchange *x, const struct field *fields, size_t n);
/* Puts the code that stands for a status into an answer of the router. */
void call_answer(struct exchange *x, struct client_answer *a);
/* Ends an answer that has begun with the code for a status. False: that is not possible. */
bool call_end(struct exchange *x, unsigned status);

/* gRPC-Web: whether a request is such a call. */
bool call_is_web(const struct http_head *h);
/* What makes a request of it one of gRPC, and an answer of a server one for it. */
extern const struct l7_header_edits call_web_request, call_web_answer, call_web_code;
/* Appends the trailers as content, in a frame of their own. -EBADMSG: they are malformed. */
int call_web_frame(struct exchange *x, struct buf *out);

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

/* greeting.c */
/* A new connection, or its PROXY header has come. False: the caller goes on with its requests. */
bool greeting_begin(struct client *c);
/* Its TLS handshake is done. As before. */
bool greeting_secured(struct client *c);
/* More of the client's first message, while c->hello is there. */
void greeting_read(struct client *c);
/* That message takes too long. */
void greeting_late(struct client *c);

/* relay.c */
struct relay_wish {
	struct era *era;
	const struct generation_listener *listener;
	struct str
		host; /* that the client names, in lower case and with a NUL after it; or empty */
};

/* Passes the connection on; what is in client->in goes first. */
void relay_begin(struct client *c, const struct relay_wish *wish);
/* Ends it at once, with RST on both sides. Frees the client. */
void relay_drop(struct relay *r, const char *why);
void relay_sweep(struct relay *r, ev_tstamp now);
/* The deadline of the client's stream has passed. */
void relay_expired(struct relay *r);
/* The thread takes a turn for the quota of a pool. */
enum quota_result relay_serve(struct quota_place *p);
/* Called by client.c: the client's stream is ready for something. */
void relay_ready(struct relay *r, unsigned what);
/* Called by link.c; as those of exchanges. */
void relay_connected(struct relay *r);
void relay_link_ready(struct relay *r, unsigned what);
void relay_lost(struct relay *r, int error);
void relay_late(struct relay *r);

/* journal.c: the access log */
/* At the end of an exchange: writes its line if it has to have one. */
void journal_write(struct exchange *x);
/* At the end of a relay. */
void journal_relay(const struct relay *r);
/* The same for a request without an exchange, or a connection that was refused. */
void journal_refused(struct client *c, unsigned status, const char *why);

/* link.c */
/* What a link is needed for. */
struct link_wish {
	const struct l7_pool *pool;
	const struct secure *secure; /* for servers with TLS; may be NULL otherwise */
	const struct client *client; /* for the PROXY header, if the pool has one */
	bool fresh;		     /* not one that was kept */
	bool raw;		     /* bytes are passed on as they are */
};

/*
 * A kept link or a new one that is being connected. NULL: as many as the pool allows are open. The
 * caller sets x, mirror or relay at once.
 */
struct link *link_take(struct worker *w, struct server *server, const struct link_wish *wish);
/* Whether a server has a link to spare that needs no new connection. */
bool link_is_spare(const struct slot *slot);
/* Whether the slot is still that of its server. */
static inline bool link_is_known(const struct link *l)
{
	return l->slot->id == l->id;
}
/* Where the next connection to a server goes; of a name, its addresses take turns. */
struct endpoint link_address(struct worker *w, struct slot *slot, struct server *server);
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
/* Ends all that are kept. */
void link_end_kept(struct slot *slot);
void link_free(struct link *l);
/* The link is lost: what uses it is told. */
void link_lose(struct link *l, int error);
/* How a link that was lost has failed. */
enum l7_ending link_ending(const struct link *l);

/* As those of streams. What is sent and received is HTTP/1.1, also if the server speaks HTTP/2. */
int link_sendv(struct link *l, const struct str *pieces, size_t n);
bool link_is_full(const struct link *l);
size_t link_unsent(const struct link *l);
void link_want(struct link *l, unsigned what);
void link_shutdown(struct link *l);

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
