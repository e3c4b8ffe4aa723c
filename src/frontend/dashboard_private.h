/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that answer browsers share. */
#pragma once

#include "lib/http/server.h"
#include "src/frontend/blob.h"
#include "src/frontend/dashboard.h"

struct admin;
struct broker;
struct events;
struct login;
struct upstream;

/* A text as it was last asked for. */
struct dashboard__text {
	struct blob *blob; /* NULL: not yet */
	uint64_t seq;	   /* the newest event then */
	int64_t at;	   /* monotonic ns */
};

struct dashboard {
	struct ev_loop *loop;
	const struct options *options;
	struct tls_context *grpc_tls; /* towards maglevds; NULL: plaintext */
	struct tls_context *tls;      /* towards browsers; NULL: plaintext */
	struct http_server *server;
	struct admin *admin;
	struct broker *broker;
	struct events *events;
	struct login *login; /* NULL: there is no /admin/ */
	uint64_t acts;	     /* passed on */
	struct upstream **upstreams;
	size_t n_upstreams;

	struct blobs texts;
	struct dashboard__text state;	/* of all servers */
	struct dashboard__text *states; /* of each */

	void (*drained)(void *user); /* set by dashboard_drain() */
	void *drained_user;
};

/* By name; NULL when there is none. */
struct upstream *dashboard__find(const struct dashboard *d, struct str name);

/* view.c */
void dashboard__on_version(struct http_exchange *x, const struct http_request *request, void *user);
void dashboard__on_maglevds(struct http_exchange *x, const struct http_request *request,
			    void *user);
void dashboard__on_state(struct http_exchange *x, const struct http_request *request, void *user);
void dashboard__on_state_of(struct http_exchange *x, const struct http_request *request,
			    void *user);
void dashboard__on_events(struct http_exchange *x, const struct http_request *request, void *user);

/* files.c: the file of that path below /view/ or /admin/, or 404 */
void dashboard__reply_file(struct http_exchange *x, const struct http_request *request,
			   struct str path);

/* admin.c */
void dashboard__on_admin(struct http_exchange *x, const struct http_request *request, void *user);

/* certificates.c */
/* Whether they can be used; otherwise the first file that cannot, and why. */
int dashboard__check_certificates(const struct options *o, struct buf *why);
/* Of both sides. What cannot be used is logged, and the first error returned. */
int dashboard__read_certificates(struct dashboard *d, bool anew);
void dashboard__free_certificates(struct dashboard *d);

/* metrics.c: a page of the dashboard's own families; user is the struct dashboard */
struct http_stream dashboard__metrics(void *user);
