/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: the configuration of a router after validation: every value checked, every name
 * resolved to an index.
 *
 * It is what a file or POST /routes/update says, in one form. The compiled tables of a generation
 * (core/l7/table.h) are built from it; pools live longer than a generation and are found by name.
 * Everything lives in the caller's arena and refers to nothing in the document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/proxies.h"
#include "core/l7/cors.h"
#include "core/l7/doc.h"
#include "core/l7/headers.h"
#include "core/l7/match.h"
#include "core/l7/path.h"
#include "core/l7/retry.h"
#include "core/l7/rewrite.h"
#include "core/l7/table.h"

/* Bounds of a configuration, beside those of the document's reader. */
#define L7_NAME_MAX 512 /* bytes of a name */
#define L7_ROUTE_HOSTS_MAX 256
#define L7_STREAM_LISTENERS_MAX 256
#define L7_RULES_MAX 256     /* of a route */
#define L7_MATCHES_MAX 64    /* of a rule */
#define L7_GRPC_NAME_MAX 500 /* bytes of the name of a service or a method, or of a pattern */
#define L7_CONDITIONS_MAX 16 /* on headers, and as many on the query */
#define L7_BACKENDS_MAX 16   /* of a rule */
#define L7_EDITS_MAX 16	     /* headers to set, as many to add, and to remove */
#define L7_MIRRORS_MAX 16    /* of a rule */
#define L7_LOGGED_MAX 8	     /* headers in a line of the access log */
#define L7_SERVERS_MAX 65535 /* of a pool */
#define L7_TLS_NAMES_MAX 16  /* that the certificate of a server may have */
#define L7_PEM_MAX 1048576   /* bytes of a certificate, a key or a list of authorities */
#define L7_WEIGHT_MAX 1000000
#define L7_ENTRIES_MAX 1000000 /* host names times matches, of all routes */

/* What holds if nothing is said; times in ns. */
#define L7_CONNECT_TIMEOUT INT64_C(5000000000)
#define L7_PROBE_INTERVAL INT64_C(5000000000)
#define L7_PROBE_TIMEOUT INT64_C(2000000000)
#define L7_PROBE_LOW 200
#define L7_PROBE_HIGH 399
#define L7_LIMIT_WAITING 1024
#define L7_LIMIT_WAIT INT64_C(5000000000)
#define L7_LIMIT_RETRIES 20
#define L7_LIMIT_IDLE 256
#define L7_LIMIT_IDLE_TIME INT64_C(60000000000)
#define L7_CLIENTS 100000    /* connections; by default, one client has a quarter of them */
#define L7_CLIENT_HEAD 16384 /* bytes of a head; also the most that is possible */
#define L7_CLIENT_FIELDS 100 /* the same for its fields */
#define L7_CLIENT_RATE 100   /* bytes per second */
#define L7_CLIENT_GRACE INT64_C(30000000000)
#define L7_RETRY_ATTEMPTS 2 /* only those that are safe: there are no codes */
#define L7_RETRY_BACKOFF INT64_C(25000000)

#define L7_STREAM_IDLE INT64_C(3600000000000) /* of protocol tcp */
#define L7_SESSION_IDLE INT64_C(60000000000)  /* of protocol udp */
#define L7_SESSIONS 20000 /* of all clients: each has a port of this machine, of about 28,000 */

/* ---- pools ---- */

struct l7_server {
	const char *host; /* an address or a name, which is looked up when it is used */
	uint16_t port;
	uint32_t weight; /* 0: no new requests */
	bool tls;
	bool drain;   /* requests that belong to it by persistence still reach it */
	uint32_t idx; /* as given; otherwise they are counted over all pools */
};

enum l7_balance { L7_ROUND_ROBIN, L7_LEAST_REQUEST, L7_RANDOM_TWO, L7_MAGLEV };

/* What a request is identified by, for L7_MAGLEV and for persistence. */
enum l7_key { L7_KEY_SOURCE, L7_KEY_HEADER, L7_KEY_COOKIE };

enum l7_probe_type { L7_PROBE_HTTP, L7_PROBE_GRPC, L7_PROBE_TCP };

struct l7_probe {
	bool enabled;
	enum l7_probe_type type;
	const char *path;	   /* of HTTP; otherwise NULL */
	const char *service;	   /* of gRPC; NULL: the server as a whole */
	const char *host;	   /* NULL: that of the server */
	unsigned low, high;	   /* of accepted statuses */
	bool send_proxy;	   /* as that of the pool */
	int64_t interval, timeout; /* ns */
	unsigned rise, fall;
};

/* Passive: a server that fails too often gets no requests for a time. */
struct l7_ejection {
	unsigned failures; /* in a row; 0: never */
	int64_t time;	   /* ns, doubled each time in a row */
	unsigned most;	   /* per cent of the servers that may be ejected at once */
};

struct l7_limits {
	unsigned connections; /* to one server, of all threads; 0: no limit */
	unsigned waiting;     /* requests that wait for a connection; above, 503 */
	int64_t wait;	      /* ns that one waits at most */
	unsigned requests;    /* under way, of the pool; above, 503; 0: no limit */
	unsigned retries;     /* per cent of them that may be further tries */
	unsigned idle;	      /* kept connections to one server, of each thread */
	int64_t idle_time;    /* ns */
};

/* What is spoken to servers. */
enum l7_server_protocol {
	L7_HTTP1,
	L7_H2,	 /* without TLS: with prior knowledge */
	L7_AUTO, /* ALPN decides */
};

/* A name that the certificate of a server may have. */
struct l7_tls_name {
	bool uri; /* otherwise a DNS name */
	const char *value;
};

/* A certificate, a key or a list of authorities: the path of a file, or the PEM text itself. */
struct l7_pem {
	const char *given; /* NULL: none */
	const char *text;  /* what the file has; set by the program that reads it */
};

/* TLS to servers, and how they are verified; zeroed but for verify: what holds without it. */
struct l7_pool_tls {
	bool given;
	bool verify;
	bool newest;	  /* TLS 1.3 only; otherwise also 1.2 */
	struct l7_pem ca; /* none: the authorities of the system */
	struct l7_pem certificate, key;
	const char *name; /* for SNI and verification; NULL: the host of the server */
	const struct l7_tls_name *names; /* one of them replaces the name in verification */
	size_t n_names;
};

struct l7_pool {
	const char *name;
	const struct l7_server *servers;
	size_t n_servers;
	enum l7_balance balance;
	enum l7_key key;      /* with L7_MAGLEV */
	const char *key_name; /* of the header or cookie */
	struct l7_probe probe;
	struct l7_ejection ejection;
	struct l7_limits limits;
	int64_t connect_timeout, slow_start; /* ns; slow_start 0: none */
	bool send_proxy;		     /* PROXY protocol, version 2 */
	enum l7_server_protocol protocol;
	struct l7_pool_tls tls; /* of the servers with TLS */
};

/* ---- routes ---- */

struct l7_mirror {
	size_t pool;
	uint32_t numerator, denominator; /* of requests; 100 per cent: 1/1 */
};

/* What is done to a request and its answer; zeroed: nothing. */
struct l7_filters {
	struct l7_header_edits request, response;
	const struct l7_redirect *redirect; /* NULL: none; the request is answered by it */
	const struct l7_rewrite *rewrite;
	const struct l7_mirror *mirrors;
	size_t n_mirrors;
	const struct l7_cors *cors;
};

#define L7_NO_POOL SIZE_MAX

struct l7_backend {
	size_t pool; /* L7_NO_POOL: invalid; keeps its share and answers 500 */
	uint32_t weight;
	struct l7_filters filters;
};

struct l7_persistence {
	bool enabled;
	enum l7_key key; /* L7_KEY_HEADER or L7_KEY_COOKIE */
	const char *name;
	const char *path; /* of the cookie */
	int64_t lifetime; /* ns; 0: the cookie ends with the browser's session */
};

struct l7_rule {
	/* as given, else "ROUTE/1" with its number from 0; without rules, that of the route */
	const char *name;
	const struct l7_match *matches;
	size_t n_matches;
	struct l7_filters filters;
	const struct l7_backend *backends;
	size_t n_backends;
	int64_t request_timeout; /* ns over all tries; 0: none */
	int64_t try_timeout;	 /* ns of each; 0: none */
	struct l7_retry retry;
	struct l7_persistence persistence;
	bool grpc_web; /* calls of gRPC-Web become calls of gRPC */
};

struct l7_route {
	const char *name;
	const struct str *hosts; /* n 0: every host */
	size_t n_hosts;
	const size_t *listeners; /* n 0: every listener */
	size_t n_listeners;
	const struct l7_rule *rules; /* the earlier goes first among equals, as do earlier routes */
	size_t n_rules;
};

/* ---- streams ---- */

/* Connections that are passed on as they are, or datagrams. */
struct l7_stream {
	const char *name;
	const size_t *listeners; /* at least one; all of the same protocol */
	size_t n_listeners;
	const struct str *hosts; /* that clients name in TLS (SNI); n 0: every one, and none */
	size_t n_hosts;
	const struct l7_backend *backends; /* without filters */
	size_t n_backends;
	int64_t idle_timeout; /* ns without a byte from either side */
	unsigned answers;     /* of protocol udp: to each datagram of a client; 0: any number */
};

/* ---- listeners ---- */

enum l7_protocol { L7_HTTP, L7_TCP, L7_UDP };

enum l7_forwarded {
	L7_FORWARDED_APPEND,
	L7_FORWARDED_REPLACE,
	L7_FORWARDED_KEEP,
	L7_FORWARDED_DROP
};

/* Which fields name the client and what it asked for. */
enum l7_forwarded_fields { L7_X_FORWARDED = 1, L7_FORWARDED = 2, L7_FORWARDED_BOTH = 3 };

/* What is done to traceparent and tracestate. */
enum l7_tracing {
	L7_TRACING_PASS,   /* they are passed on as they came */
	L7_TRACING_CREATE, /* the same if they are valid, else they are replaced */
	L7_TRACING_OFF	   /* they are dropped */
};

enum l7_tls_mode {
	L7_TLS_OFF,
	L7_TLS_TERMINATE,   /* the router has the certificates */
	L7_TLS_PASSTHROUGH, /* the servers have them; only the name in the first message is read */
};

/* Whether clients present certificates. */
enum l7_tls_clients {
	L7_TLS_CLIENTS_OFF,
	L7_TLS_CLIENTS_REQUIRE,
	L7_TLS_CLIENTS_OPTIONAL, /* an invalid one is refused */
	L7_TLS_CLIENTS_FALLBACK, /* asked for, but nothing is refused */
};

#define L7_CERTIFICATES_MAX 64 /* of a listener */

/* Each is the path of a file or, except for ocsp, PEM text itself. */
struct l7_certificate {
	const char *certificate, *key;
	const char *ocsp; /* NULL: none */
};

struct l7_listener_tls {
	enum l7_tls_mode mode;
	bool newest;	     /* TLS 1.3 only; otherwise also 1.2 */
	bool tickets;	     /* sessions are resumed */
	const char *ciphers; /* with ":" between them; NULL: the usual ones */
	const struct l7_certificate *certificates;
	size_t n_certificates;
	enum l7_tls_clients clients;
	const char *ca;	   /* of the clients' certificates, as above; NULL without clients */
	struct str header; /* that tells servers the subject of the certificate; empty: none */
};

struct l7_listener {
	const char *name;
	struct endpoint at;
	enum l7_protocol protocol;
	struct str host;   /* requests for other hosts belong to other listeners; empty: all */
	bool expect_proxy; /* PROXY protocol */
	bool http2;	   /* clients may speak it */
	enum l7_forwarded forwarded;	 /* of what clients say about theirs */
	enum l7_forwarded_fields fields; /* that are written */
	/* whose word about the client counts; n 0: nobody's, but it is passed on */
	struct proxies trusted;
	enum l7_tracing tracing;
	unsigned trace_percent; /* of the traces that are created: those to be recorded */
	bool server_timing;	/* answers say how long they took */
	enum l7_paths paths;	/* what is done to the paths of requests */
	struct l7_listener_tls tls;
};

/* Which requests have a line in the access log. */
struct l7_access_log {
	bool enabled;
	uint32_t numerator, denominator; /* of all requests */
	int64_t slow;			 /* ns: those that take as long always have one; 0: none */
	bool failed;			 /* those that fail always have one */
	const struct str *headers;	 /* of the request, to be added */
	size_t n_headers;
};

/* Limits for clients; those with 0 do not exist then. */
struct l7_clients {
	bool given;	      /* the document has them; otherwise these are the defaults */
	unsigned connections; /* in all, of all threads and listeners */
	unsigned each;	      /* of one client: an IPv4 address or an IPv6 /64 */
	unsigned sessions, sessions_each; /* the same for datagrams */
	unsigned requests;		  /* of one connection; or 0 */
	unsigned head, fields;		  /* bytes of a head, and its fields */
	uint64_t body;			  /* bytes of content of a request; or 0 */
	unsigned rate;			  /* bytes per second that a client sends or takes; or 0 */
	int64_t grace;			  /* ns for which it may be slower, in all */
};

struct l7_config {
	const struct l7_listener *listeners;
	size_t n_listeners;
	const struct l7_route *routes;
	size_t n_routes;
	const struct l7_stream *streams;
	size_t n_streams;
	const struct l7_pool *pools; /* in the order of the document: pool_idx counts them */
	size_t n_pools;
	/* default_route: for requests that no route matches; NULL: 404 */
	const struct l7_rule *fallback;
	struct l7_clients clients;
	/* a host that is in none of them is answered 421; n 0: any */
	const struct str *allowed_hosts;
	size_t n_allowed_hosts;
	struct l7_access_log log;
};

/* ---- from a document ---- */

/* What the rules need from outside. */
struct l7_calls {
	/*
	 * Compiles a pattern, which must match a whole text. NULL if it is not valid; reason then
	 * says why, in at most size bytes. The result lives at least as long as the configuration.
	 */
	const struct l7_regex *(*compile)(const char *pattern, char *reason, size_t size,
					  void *user);
	void *user;
};

/*
 * Checks a document and builds the configuration in arena. -EINVAL if anything was added to errors;
 * *ret is untouched then. All mistakes are reported at once, each with a code (struct err), sorted
 * by place.
 */
int l7_config_build(const struct l7_doc *doc, struct arena *arena, const struct l7_calls *calls,
		    struct l7_config *ret, struct errs *errors, struct errs *warnings);

/* ---- what is derived from a configuration ---- */

/* Where the entry of a table came from. */
struct l7_target {
	const struct l7_route *route;
	const struct l7_rule *rule;
	const struct l7_match *match;
};

struct l7_entries {
	const struct l7_entry *entries;	 /* for l7_table_build() */
	const struct l7_target *targets; /* of the entry at the same index */
	size_t n;
};

/*
 * The entries of one listener: each host name of each route that belongs to it, with each match.
 * The name is that of the route, so that it alone ranks; a name that no request of the listener
 * can have is left out. Without listeners in the configuration, all routes belong to the only one
 * (0). Paths have the form in which the listener brings those of requests. The result lives in
 * arena and borrows from the configuration.
 */
struct l7_entries l7_config_entries(const struct l7_config *c, size_t listener,
				    struct arena *arena);

/* The streams of one listener. */
struct l7_stream_entries {
	const struct l7_entry *entries; /* for l7_table_build(); their path is "/" */
	const size_t *streams;		/* of the entry at the same index */
	size_t n;
};

/*
 * Each host name of each stream that belongs to a listener, as for l7_config_entries(). A stream
 * without hosts has one entry, for every host.
 */
struct l7_stream_entries l7_config_streams(const struct l7_config *c, size_t listener,
					   struct arena *arena);

/*
 * The index of the backend that gets a request, by weight; random is any number. L7_NONE: there is
 * none, or all weights are 0.
 */
size_t l7_pick_backend(const struct l7_backend *backends, size_t n, uint64_t random);

/* Whether a mirror gets a copy of a request; random is any number. */
bool l7_mirror_takes(const struct l7_mirror *m, uint64_t random);
/* Whether requests for a host, which may have a port, are answered at all. */
bool l7_config_allows(const struct l7_config *c, struct str host);
