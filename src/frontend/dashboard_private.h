/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that answer browsers. */
#pragma once

#include "lib/http/server.h"
#include "src/frontend/blob.h"
#include "src/frontend/dashboard.h"
#include "src/frontend/hosts.h"

struct admin;
struct broker;
struct events;
struct job;
struct page_login;
struct upstream;
struct users;

/* A cached text of the state. */
struct dashboard__text {
	struct blob *blob; /* NULL: not asked for yet */
	uint64_t seq;	   /* the newest event that it contains */
	int64_t at;	   /* when it was made, monotonic ns */
};

/* Upstreams of one kind, in the order of their flag. */
struct dashboard__set {
	struct upstream **items;
	struct dashboard__text *states; /* of each */
	size_t n;
};

struct dashboard {
	struct ev_loop *loop;
	const struct options *options;
	struct tls_context *grpc_tls; /* towards upstreams; NULL: plaintext */
	struct tls_context *tls;      /* towards browsers; NULL: plaintext */
	struct http_server *server;
	struct admin *admin;
	struct broker *broker;
	struct events *events;
	struct page_login *login; /* NULL: there is no /admin/ */
	struct users *users;	  /* of the file; NULL: there is none */
	struct hosts hosts;	  /* the names of this machine */
	struct job *name_job;	  /* looks its full name up; NULL: not running */
	uint64_t acts;		  /* number of acts passed on to a server, speaker or router */
	unsigned asked;		  /* calls for browsers that are under way: ask.c */
	unsigned ways;		  /* that are being looked for */
	struct dashboard__set servers, speakers, routers;

	struct blobs texts;
	struct dashboard__text state; /* of all servers, speakers and routers */

	void (*drained)(void *user); /* set by dashboard_drain() */
	void *drained_user;
};

/* Finds an upstream by its name; NULL if there is none. */
struct upstream *dashboard__find(const struct dashboard__set *set, struct str name);

/* view.c */
void dashboard__on_version(struct http_exchange *x, const struct http_request *request, void *user);
void dashboard__on_maglevds(struct http_exchange *x, const struct http_request *request,
			    void *user);
void dashboard__on_speakers(struct http_exchange *x, const struct http_request *request,
			    void *user);
void dashboard__on_state(struct http_exchange *x, const struct http_request *request, void *user);
void dashboard__on_state_of(struct http_exchange *x, const struct http_request *request,
			    void *user);
void dashboard__on_history(struct http_exchange *x, const struct http_request *request, void *user);
void dashboard__on_speaker(struct http_exchange *x, const struct http_request *request, void *user);
void dashboard__on_routers(struct http_exchange *x, const struct http_request *request, void *user);
void dashboard__on_router(struct http_exchange *x, const struct http_request *request, void *user);
void dashboard__on_events(struct http_exchange *x, const struct http_request *request, void *user);

/* ask.c: replies with what a generation of a router has changed */
void dashboard__reply_difference(struct dashboard *d, struct http_exchange *x, struct upstream *u,
				 struct str number);
/* Replies with the past of the frontends and backends that a query names. */
void dashboard__reply_history(struct dashboard *d, struct http_exchange *x, struct upstream *u,
			      struct str query);

/* way.c */
void dashboard__on_way(struct http_exchange *x, const struct http_request *request, void *user);

/* admin.c */
void dashboard__on_admin(struct http_exchange *x, const struct http_request *request, void *user);

/* host_check.c */
void dashboard__start_hosts(struct dashboard *d);
void dashboard__stop_hosts(struct dashboard *d);
/* Whether the Host of a request is one of ours; if not, the request is answered. */
bool dashboard__admits(struct http_exchange *x, const struct http_request *request, void *user);

/* certificates.c */
/* Checks the files of both sides; the first one that cannot be used is named in why. */
int dashboard__check_certificates(const struct options *o, struct buf *why);
/*
 * Reads both sides, logs what cannot be used, and returns the first error. again: at SIGHUP, not
 * at the start.
 */
int dashboard__read_certificates(struct dashboard *d, bool again);
void dashboard__free_certificates(struct dashboard *d);

/* metrics.c: writes the dashboard's own metric families; user is the struct dashboard */
struct http_stream dashboard__metrics(void *user);
