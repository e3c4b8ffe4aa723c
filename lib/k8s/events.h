/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events: tells the users of a cluster what a controller does (events.k8s.io/v1).
 *
 * An event that repeats (same object, type, reason, action and note) is one Event with a series: it
 * is counted here, and the count is written at most once every `series`. Each object has a budget
 * of new events. What is over it, and what does not fit into the cache, is dropped and counted:
 * events are for people, and must never load a server.
 *
 * Writing is retried with growing delays. Events do not pass the gate for writes: a program that
 * does not lead does not emit any.
 */
#pragma once

#include "lib/k8s/client.h"

struct k8s_events;

/* What an event is about. */
struct k8s_reference {
	const char *api_version, *kind, *namespace, *name, *uid; /* namespace "": of the cluster */
	const char *field_path;					 /* NULL: none */
};

/* Longer texts are cut: reason and action at 128 bytes, note at 1024. */
struct k8s_event {
	struct k8s_reference regarding;
	bool warning; /* else Normal */
	const char *reason, *action, *note;
};

/* Zero means the default. Strings are copied. */
struct k8s_events_config {
	struct k8s_client *client;
	const char *controller; /* "example.net/name" */
	const char *instance;	/* of the pod or host */
	size_t max_kept;	/* 1024; different events that are known */
	unsigned burst;		/* 25; new events of one object at once */
	int64_t refill;		/* 60 s; for one more */
	int64_t series;		/* 60 s; between two counts of a series */
	/* An Event could not be written for good. May be NULL. */
	void (*trouble)(enum k8s_code code, const char *message, void *user);
	void *user;
};

struct k8s_events_stats {
	uint64_t created, counted; /* Events and series that were written */
	uint64_t repeated;	   /* that were counted instead of written */
	uint64_t dropped;	   /* over a budget, or given up */
	size_t kept;
};

struct k8s_events *k8s_events_new(const struct k8s_events_config *config);
/* What was not written yet is lost. NULL is allowed. */
void k8s_events_free(struct k8s_events *e);
void k8s_events_emit(struct k8s_events *e, const struct k8s_event *event);
const struct k8s_events_stats *k8s_events_stats(const struct k8s_events *e);
