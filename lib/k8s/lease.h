/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease: leader election with a Lease (coordination.k8s.io/v1), as client-go does it.
 *
 * The holder renews the lease every `retry`. Others take it when they have seen no renewal for the
 * duration that it names; they measure that with their own clock, so clocks need not agree.
 *
 * A holder that cannot renew stops to lead `renew` after the last renewal was sent, which is before
 * anybody else may take the lease. k8s_lease_is_held() reads the clock, which also runs while the
 * process or the machine is stopped: after a pause that was longer than the lease it is false
 * before any callback tells so. A program asks it before each write; the client does that with its
 * gate:
 *
 *	options.may_write = ... k8s_lease_is_held(lease) ...
 *
 * The lease's own requests do not pass the gate and are not subject to the rate limit.
 */
#pragma once

#include "lib/k8s/client.h"

struct k8s_lease;

/* Zero means the default. Strings are copied. */
struct k8s_lease_config {
	struct k8s_client *client;
	const char *namespace, *name;
	const char *identity; /* of this process, different for each */
	int64_t duration;     /* 15 s, at least 1 s; whole seconds are written, rounded up */
	int64_t renew;	      /* 10 s; less than duration */
	int64_t retry;	      /* 2 s; less than renew */
	/* Leadership was won or lost. It may free the lease when it was lost. */
	void (*changed)(bool leads, void *user);
	/* Another holder was seen; "": none. May be NULL. */
	void (*observed)(const char *holder, void *user);
	/* A request has failed. May be NULL. */
	void (*trouble)(enum k8s_code code, const char *message, void *user);
	void *user;
};

struct k8s_lease *k8s_lease_new(const struct k8s_lease_config *config);
/* Does not give the lease back. NULL is allowed. */
void k8s_lease_free(struct k8s_lease *l);

void k8s_lease_start(struct k8s_lease *l);
/*
 * Stops to lead, without changed(), and gives the lease back if it was held, so that another one
 * need not wait. done() is called from the loop, when that was tried.
 */
void k8s_lease_release(struct k8s_lease *l, void (*done)(void *user));

bool k8s_lease_is_held(const struct k8s_lease *l);
/* Who holds it, as far as known; "": nobody. */
const char *k8s_lease_holder(const struct k8s_lease *l);
uint64_t k8s_lease_renewals(const struct k8s_lease *l);

/* Pure: what a Lease says. holder is in the arena. */
struct k8s_lease_record {
	const char *holder;  /* "": nobody */
	const char *version; /* resourceVersion */
	int64_t duration;    /* ns */
	int64_t transitions;
};
/* -EINVAL with complaints; *ret is untouched then. */
struct arena;
struct errs;
int k8s_lease_parse(struct str text, struct arena *arena, struct k8s_lease_record *ret,
		    struct errs *errors);
