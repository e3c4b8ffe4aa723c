/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker: the recent events of all servers, numbered and ready to be sent.
 *
 * All servers publish into one sequence. An event is kept once, as the text that browsers receive,
 * in a ring that is bounded by count, age and bytes. A browser that asks for an event that has left
 * the ring must read the whole state again.
 *
 * An id is "epoch-seq". The epoch is the start time of this process, so that numbers of an earlier
 * process are never mistaken for ours.
 *
 * Time is a parameter: monotonic ns for age, ns since the epoch for what is shown.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct broker;

#define BROKER_EVENTS_MAX 2000
#define BROKER_BYTES_MAX ((size_t)32 * 1024 * 1024)
#define BROKER_AGE_MAX ((int64_t)30 * 1000000000) /* ns */

struct broker_event {
	const char *kind; /* of the server: the key of its name */
	struct str server, type;
	int64_t at;	    /* unix ns */
	struct str payload; /* JSON without a newline */
};

struct broker *broker_new(int64_t epoch);
void broker_free(struct broker *b);

int64_t broker_epoch(const struct broker *b);
/* The number of the newest event; 0 before the first. */
uint64_t broker_newest(const struct broker *b);
/* The number and the size of the events in the ring. */
size_t broker_kept(const struct broker *b);
size_t broker_bytes(const struct broker *b);

/* Copies the event. Drops events that are too old or too many. */
void broker_publish(struct broker *b, const struct broker_event *event, int64_t now);
/*
 * The text of an event, valid until the next call that publishes or resumes; {NULL, 0} if it has
 * left the ring.
 */
struct str broker_event(const struct broker *b, uint64_t seq);
/*
 * Finds the event that follows the one with this id. False if events in between have left the
 * ring, or if the id is not of this epoch; *ret_next is untouched then.
 */
bool broker_resume(struct broker *b, struct str id, int64_t now, uint64_t *ret_next);
/*
 * Writes the event that tells a single browser to read the state again. It carries the number of
 * the newest event, so that the browser continues from there.
 */
void broker_write_resync(const struct broker *b, int64_t at, struct buf *out);
