/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the admin API: api.c (the server), api_read.c (what is shown),
 * api_change.c (what changes the configuration) and api_rollout.c.
 */
#pragma once

#include "src/router/access.h"
#include "src/router/api.h"

#define API_TAG_MAX 64 /* bytes */

struct api {
	struct api_config config;
	struct http_server *server;
	struct access *access;
	bool is_unix;
	uint64_t instance; /* of this process, different for each */
	/* What the client that made a generation calls it. */
	char tag[API_TAG_MAX + 1];
	uint64_t tagged; /* the generation that has the tag; 0: none */
};

/* ---- answers ---- */

/* JSON; one that is larger than the limit becomes the error "AnswerTooLarge". */
void api__reply(struct api *a, struct http_exchange *x, unsigned status, struct buf *body);
void api__unknown_path(struct http_exchange *x);
void api__too_large(struct http_exchange *x, size_t n, size_t max);
/* {"status":"error","error":code,"message":...} */
void api__refuse(struct http_exchange *x, unsigned status, const char *code, struct str message);
/* "key":"text", after a comma unless it is the first of an object or list. */
void api__key(struct buf *out, const char *key);
void api__text(struct buf *out, const char *key, struct str text);
void api__number(struct buf *out, const char *key, uint64_t number);
void api__flag(struct buf *out, const char *key, bool flag);

/* ---- requests ---- */

/* The value of a parameter of the query; false if it is not there. */
bool api__parameter(const struct http_request *request, const char *key, struct str *ret);
/* The same for a number; false after the answer, if it is not one. Absent: *ret is untouched. */
bool api__number_parameter(struct http_exchange *x, const struct http_request *request,
			   const char *key, uint64_t max, uint64_t *ret);
/* A part of a path or query, percent-decoded; -EINVAL if it cannot be. */
int api__decode(struct str text, struct buf *out);

/* The parameters of a rollout; false after the answer, if they have mistakes. */
bool api__read_rollout(struct http_exchange *x, const struct http_request *request,
		       struct rollout_config *ret);

/*
 * Whether a change may be made: the generation that its parameter "generation" names is in force,
 * and its tag is not too long. False after the answer.
 */
bool api__may_change(struct api *a, struct http_exchange *x, const struct http_request *request);
/* The change was made: the generation in force has the tag of the request, if there is one. */
void api__tag(struct api *a, const struct http_request *request);

/* ---- the state ---- */

/* An empty one before the first. */
const struct l7_config *api__config(const struct api *a);
uint64_t api__generation(const struct api *a);

/* ---- handlers; the user is the struct api ---- */

void api__on_routes(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_pools(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_current(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_config(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_listeners(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_generations(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_generation(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_update(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_check(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_servers(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_connections(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_rollout(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_promote(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_abort(struct http_exchange *x, const struct http_request *request, void *user);
void api__on_rollback(struct http_exchange *x, const struct http_request *request, void *user);
