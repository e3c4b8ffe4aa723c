/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history: one figure over the last hour and the last day, in bounded memory.
 *
 * Time is divided into steps of HISTORY_STEP, which the caller numbers (its clock divided by the
 * length of a step). The last HISTORY_HOUR steps are kept one by one; the last HISTORY_DAY groups
 * of HISTORY_GROUP steps each are kept as one value, the mean or the largest of the group. A step
 * for which nothing was put is a gap, and so is a group without a value: a gap is never 0.
 *
 * A value takes 16 bits, the upper half of a float: it is off by at most 1/256 of itself, and whole
 * numbers up to 256 are exact. A line has HISTORY_BYTES, and none before its first value.
 *
 * Pure; a zeroed struct has only gaps.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

#define HISTORY_STEP (10 * NSEC_PER_SEC)
#define HISTORY_HOUR 360 /* steps */
#define HISTORY_GROUP 12 /* steps: 2 min */
#define HISTORY_DAY 720	 /* groups */
#define HISTORY_BYTES ((HISTORY_HOUR + HISTORY_DAY) * sizeof(uint16_t))

enum history_merge { HISTORY_MEAN, HISTORY_LARGEST };
enum history_span { HISTORY_SPAN_HOUR, HISTORY_SPAN_DAY };
#define HISTORY_SPANS 2

struct history {
	uint16_t *values; /* of the hour, then of the day; NULL: there was none yet */
	int64_t newest;	  /* the number of the last step that was put */
	float merged;	  /* of the group under way */
	uint32_t n;	  /* values in it */
};

void history_free(struct history *h);
/*
 * Puts the value of a step; NAN is a gap. Steps that were left out are gaps. A step that is not
 * after the newest one is ignored. step is not negative.
 */
void history_put(struct history *h, int64_t step, float value, enum history_merge merge);
/*
 * The value of a step (hour), or of a group (day), whose number is that of its steps divided by
 * HISTORY_GROUP. NAN: a gap, or not kept. A group has a value when a later one has begun.
 */
float history_get(const struct history *h, enum history_span span, int64_t number);

const char *history_span_name(enum history_span span); /* "hour", "day" */
size_t history_points(enum history_span span);	       /* how many are kept */
int64_t history_length(enum history_span span);	       /* ns of one point */
/* The number of the newest complete point when `step` is the newest step; below 0: none. */
int64_t history_newest(enum history_span span, int64_t step);
/* The last step of a point. */
int64_t history_last_step(enum history_span span, int64_t number);
