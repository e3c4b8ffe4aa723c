/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify: what the service manager is told (sd_notify(3)).
 *
 * Every message is fire and forget: without NOTIFY_SOCKET it goes nowhere, and a daemon does not
 * change its mind because its manager did not listen.
 */
#include "lib/daemon/notify.h"

#include <assert.h>
#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"

/* A newline would begin another assignment. */
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

void daemon_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, loop_monotonic() / NSEC_PER_USEC);
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
