/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units: durations and points in time, and their text forms.
 *
 * Every time and every duration in Maglev is a count of nanoseconds in an int64_t. A point in
 * time is either monotonic (schedules) or since the Unix epoch (what people see); the name of the
 * variable says which.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NSEC_PER_USEC ((int64_t)1000)
#define NSEC_PER_MSEC ((int64_t)1000000)
#define NSEC_PER_SEC ((int64_t)1000000000)

#define DURATION_STRLEN 32

/*
 * Parses Go's grammar for durations: an optional sign, then numbers with an optional fraction and
 * a unit each (ns, us, µs, ms, s, m, h): "1m30s", "1.5s", "-200ms", "0". A bare number other than
 * 0 is refused. -EINVAL on bad syntax, -ERANGE if the value does not fit; *ret is untouched then.
 */
int duration_parse(const char *text, int64_t *ret);
/* Writes the duration as Go prints it: "1m30s", "1.5s", "200ms", "0s"; returns buf. */
const char *duration_format(int64_t ns, char buf[static DURATION_STRLEN]);

#define TIME_STRLEN 40

/* RFC 3339 with nanoseconds, in UTC: "2026-04-15T09:30:00.000000001Z"; returns buf. */
const char *time_format(int64_t unix_ns, char buf[static TIME_STRLEN]);
