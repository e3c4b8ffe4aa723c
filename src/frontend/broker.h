/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker: everything that happened lately, numbered, ready to be sent.
 *
 * All servers publish into one sequence. An event is kept as the text that browsers get; they share
 * it, and nobody keeps it but the ring. That is bounded by count, age and bytes; who asks for what
 * has left it has to start over.
 * An id is "epoch-seq": the epoch is when this process began, so that the numbers of an earlier one
 * are never taken for ours.
 *
 * Time is a parameter: monotonic ns for age, ns since the epoch for what people see.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct broker;

#define BROKER_EVENTS_MAX 2000
#define BROKER_BYTES_MAX ((size_t)32 * 1024 * 1024)
#define BROKER_AGE_MAX ((int64_t)30 * 1000000000)

struct broker_event {
	struct str server, type;
	int64_t at;	    /* unix ns */
	struct str payload; /* JSON */
};

struct broker *broker_new(int64_t epoch);
void broker_free(struct broker *b);

int64_t broker_epoch(const struct broker *b);
/* The number of the newest event; 0 before the first. */
uint64_t broker_newest(const struct broker *b);
/* Events and bytes that are kept now. */
size_t broker_kept(const struct broker *b);
size_t broker_bytes(const struct broker *b);

void broker_publish(struct broker *b, const struct broker_event *event, int64_t now);
/* The event of that number as it is sent, until the next is published; {NULL, 0}: not there. */
struct str broker_event(const struct broker *b, uint64_t seq);
/*
 * The number that follows the one of an id. False when what lies between is not there any more, or
 * the id is not one of ours.
 */
bool broker_resume(struct broker *b, struct str id, int64_t now, uint64_t *ret_next);
/* The event for one browser alone that says so; it carries the number of the newest one. */
void broker_write_resync(const struct broker *b, int64_t at, struct buf *out);
