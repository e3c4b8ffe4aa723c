/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: a cluster in memory for tests of the planner.
 *
 * Objects are JSON. They pass through the decoder, the tables of kinds and the caches that the
 * program uses, and the writes of a plan are applied as an API server would: merge patches,
 * preconditions, and a refusal of Services whose ports are not unique.
 */
#pragma once

#include "lib/k8s/cache.h"
#include "src/mux/plan.h"

enum test_kind {
	TEST_SERVICE,
	TEST_SLICE,
	TEST_ENDPOINTS,
	TEST_CONFIG_MAP,
	TEST_NAMESPACE,
	TEST_KINDS
};

struct test_cluster;

struct test_cluster *test_cluster_new(void);
void test_cluster_free(struct test_cluster *c);

/* JSON in which ' stands for "; printf-like. metadata.namespace and name are taken from `where`. */
void test_put(struct test_cluster *c, enum test_kind kind, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* A merge patch of a user. */
void test_patch(struct test_cluster *c, enum test_kind kind, const char *where, const char *fmt,
		...) __attribute__((format(printf, 4, 5)));
void test_delete(struct test_cluster *c, enum test_kind kind, const char *where);
bool test_exists(const struct test_cluster *c, enum test_kind kind, const char *where);
size_t test_count(const struct test_cluster *c, enum test_kind kind);

/* A mux without ports; notes are pairs such as "'port-range':'1-2'", without the prefix. */
void test_mux(struct test_cluster *c, const char *where, const char *notes);
/* A channel of svc-mux/mux with ports such as "http:80 dns:53/UDP", and a slice with one pod. */
void test_channel(struct test_cluster *c, const char *where, const char *ports, const char *notes);
/* Sets one annotation of a Service; NULL removes it. */
void test_note(struct test_cluster *c, const char *where, const char *key, const char *value);

/*
 * One pass of the mux, of which at most `writes` are made. Returns how many were planned. Events go
 * to the log.
 */
size_t test_pass(struct test_cluster *c, const char *where, size_t writes);
/* A pass over the view that there is, for these channels ("ns/name ns/name", or ""). */
size_t test_scoped_pass(struct test_cluster *c, const char *where, const char *channels);
/* Passes until nothing is written; fails if that takes more than two. */
void test_settle(struct test_cluster *c);
/* The view is forgotten, as after a restart. */
void test_restart(struct test_cluster *c);
void test_set_time(struct test_cluster *c, int64_t now);

const struct mux_settings *test_settings(const struct test_cluster *c);
const struct mux_view *test_view(const struct test_cluster *c);
const struct mux_plan *test_plan(const struct test_cluster *c); /* of the last pass */
const struct k8s_cache *test_cache(const struct test_cluster *c, enum test_kind kind);

/* "80/TCP=bcaefde 443/TCP=...", by number. The text is valid until the next call. */
const char *test_ports(struct test_cluster *c, const char *mux);
/* A value of an object by its path, "metadata.annotations|svc-mux.nowake.ai/ports"; "" if absent */
const char *test_get(struct test_cluster *c, enum test_kind kind, const char *where,
		     const char *path);
/* The value of an annotation of ours; "" if absent. */
const char *test_value(struct test_cluster *c, const char *where, const char *key);
/* Whether the log has an event "Reason ns/name: ..." that begins so. */
bool test_logged(const struct test_cluster *c, const char *start);
void test_forget_log(struct test_cluster *c);
const char *test_log(struct test_cluster *c);
