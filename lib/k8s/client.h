/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: requests to a Kubernetes API server, on a loop.
 *
 * A client takes care of what all requests have in common: the connection (lib/http/client.h), TLS,
 * credentials that are renewed (files that change, exec plugins, 401), a rate limit, and answers
 * that ask for patience (429, and 5xx with Retry-After): those are repeated after the time that
 * they name. Other failures are reported and never repeated here, since only the caller knows
 * whether that makes sense.
 *
 * Redirects are not followed: an API server does not redirect, and one that does would get our
 * token sent elsewhere.
 *
 * Nothing blocks, except for reading small files of credentials. All callbacks are called from the
 * loop, never from within a function of this file. For the main thread, since exec plugins and name
 * lookups fork.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/k8s/config.h"
#include "lib/loop/loop.h"

struct k8s_client;
struct k8s_call;

/* Zero means the default. Strings are copied. */
struct k8s_client_options {
	const char *user_agent; /* "maglev" */
	unsigned rate;		/* requests a second: 50; lists and watches count, too */
	unsigned burst;		/* at once: 100 */
	size_t max_calls;	/* 10,000; under way and waiting */
	/*
	 * Asked before each write is begun, and again right before it is sent, because it may have
	 * waited for its connection: false ends it with K8S_NOT_ALLOWED. For leader election
	 * (lease.h) and dry runs. NULL: all are allowed.
	 */
	bool (*may_write)(void *user);
	void *user;
};

/* A kind of objects in the paths of the API. group is "" for the core. */
struct k8s_resource {
	const char *group, *version, *plural;
};

enum k8s_verb {
	K8S_VERB_GET,
	K8S_VERB_LIST, /* also watches: the answer comes in pieces */
	K8S_VERB_CREATE,
	K8S_VERB_UPDATE, /* the body has the resourceVersion that it replaces, or none */
	K8S_VERB_DELETE,
	K8S_VERB_MERGE_PATCH,
	K8S_VERB_JSON_PATCH,
	K8S_VERB_APPLY,
};

/* How a call ended; each has a name (k8s_code_name()). */
enum k8s_code {
	K8S_OK,
	K8S_BAD_REQUEST,
	K8S_UNAUTHORIZED,
	K8S_FORBIDDEN,
	K8S_NOT_FOUND,
	K8S_CONFLICT, /* another writer was first */
	K8S_EXISTS,
	K8S_EXPIRED, /* 410: the version or token is too old */
	K8S_INVALID,
	K8S_THROTTLED,	 /* 429, and the repetitions are used up */
	K8S_TOO_NEW,	 /* the server does not know that version yet, or not any more */
	K8S_REFUSED,	 /* another answer of 3xx or 4xx */
	K8S_SERVER,	 /* 5xx */
	K8S_NETWORK,	 /* no answer, or not a whole one */
	K8S_MALFORMED,	 /* the answer is not what it should be */
	K8S_TOO_LARGE,	 /* the same */
	K8S_NO_IDENTITY, /* credentials or certificates cannot be had */
	K8S_NOT_ALLOWED, /* may_write() said no */
	K8S_CODES,
};

struct k8s_result {
	enum k8s_code code;
	unsigned status;     /* of HTTP; 0: none */
	const char *reason;  /* of a Status, such as "AlreadyExists"; "" */
	const char *message; /* what happened, for people; "" if all is well */
	struct str body;     /* of a good answer without take() */
};

/* Zero means the default. Everything is copied but the functions. */
struct k8s_call_config {
	enum k8s_verb verb;
	const struct k8s_resource *resource;
	const char *namespace;	 /* NULL or "": of the cluster, or of all namespaces */
	const char *name;	 /* not for K8S_VERB_LIST and K8S_VERB_CREATE */
	const char *subresource; /* "status"; NULL: none */
	const char *path;	 /* instead of all these: "/version" */
	const char *query;	 /* "a=b&c=d", already escaped; NULL: none */
	struct str body;	 /* JSON; for K8S_VERB_DELETE the library writes it */
	const char *manager;	 /* fieldManager of writes; NULL: none, K8S_VERB_APPLY needs it */
	bool force;		 /* K8S_VERB_APPLY: takes fields from other managers */
	bool dry_run;		 /* the server does all but store */
	/* preconditions of K8S_VERB_DELETE; NULL and 0: none */
	const char *uid;
	uint64_t version;
	const char *propagation; /* "Background", "Foreground", "Orphan"; NULL: the server's */
	int64_t timeout;	 /* ns for each time that it is sent; 60 s */
	size_t max_body;	 /* 16 MiB, without take() */
	bool urgent;		 /* not subject to the rate limit: leases */
	bool ungated;		 /* may_write() is not asked: leases, events */
	/*
	 * The body of a good answer (2xx) in pieces. NULL: collected for done(). May cancel the
	 * call.
	 */
	void (*take)(struct str piece, void *user);
	/* The call is freed when this returns. Not called after k8s_call_cancel(). */
	void (*done)(const struct k8s_result *result, void *user);
	void *user;
};

struct k8s_client_stats {
	uint64_t calls, writes; /* sent, repetitions included */
	uint64_t repeated;	/* after 429, 5xx or 401 */
	uint64_t throttled;	/* have waited for the rate limit */
	size_t waiting, running;
	uint64_t renewed; /* credentials or certificates */
	uint64_t codes[K8S_CODES];
};

/* config is borrowed and must outlive the client; options may be NULL. */
struct k8s_client *k8s_client_new(struct ev_loop *loop, const struct k8s_config *config,
				  const struct k8s_client_options *options);
/* Calls are cancelled. NULL is allowed. Not within a callback. */
void k8s_client_free(struct k8s_client *c);
const struct k8s_client_stats *k8s_client_stats(const struct k8s_client *c);
struct ev_loop *k8s_client_loop(const struct k8s_client *c);
const struct k8s_config *k8s_client_config(const struct k8s_client *c);

/* -EINVAL if the config makes no request, -EBUSY above max_calls; *ret is untouched then. */
int k8s_call(struct k8s_client *c, const struct k8s_call_config *config, struct k8s_call **ret);
/* Ends the call without done(). Allowed at any time. NULL is allowed. */
void k8s_call_cancel(struct k8s_call *call);

/* "ok", "not-found", ... */
const char *k8s_code_name(enum k8s_code code);
/* Whether a later try may succeed without anybody changing something first. */
bool k8s_code_is_passing(enum k8s_code code);

/* Appends the path of a resource: "/api/v1/namespaces/NS/services/NAME". */
void k8s_path(struct buf *out, const struct k8s_resource *r, const char *namespace,
	      const char *name, const char *subresource);
