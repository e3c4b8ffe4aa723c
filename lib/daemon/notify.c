/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify: messages to the service manager (sd_notify(3)).
 *
 * Errors are ignored: without NOTIFY_SOCKET nothing is sent, and a daemon must not behave
 * differently because its manager does not listen.
 */
#include "lib/daemon/notify.h"

#include <assert.h>
#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"

/* A newline in the status would begin another assignment. */
static void add_status(struct buf *out, const char *status)
{
	struct str rest = str_of(status), line;

	buf_add_lit(out, "STATUS=");
	while (str_cut(&rest, '\n', &line)) {
		buf_add(out, line.p, line.n);
		if (rest.p)
			buf_addc(out, ' ');
	}
}

void daemon_ready(const char *status)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	assert(status);

	buf_add_lit(&out, "READY=1\n");
	add_status(&out, status);
	sd_notify(0, buf_cstr(&out));
}

/* Type=notify-reload needs MONOTONIC_USEC to match the message with its reload request. */
void daemon_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, loop_monotonic() / NSEC_PER_USEC);
}

void daemon_hand_over(pid_t pid)
{
	sd_notifyf(0, "MAINPID=%" PRId64, (int64_t)pid);
}

void daemon_status(const char *status)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	assert(status);

	add_status(&out, status);
	sd_notify(0, buf_cstr(&out));
}

void daemon__notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void daemon__notify_watchdog(void)
{
	sd_notify(0, "WATCHDOG=1");
}

int64_t daemon__watchdog_period(void)
{
	uint64_t usec = 0;

	if (sd_watchdog_enabled(0, &usec) <= 0)
		return 0;
	return usec < INT64_MAX / NSEC_PER_USEC ? (int64_t)usec * NSEC_PER_USEC : 0;
}
