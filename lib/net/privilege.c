/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: a thin layer over libcap-ng, which keeps the sets of the calling thread.
 *
 * The sets are read once. After that raising and lowering is one capset() each, cheap enough for
 * every socket. The kernel always allows lowering; should it fail, the process aborts rather than
 * run with more rights than intended.
 */
#include "lib/net/privilege.h"

#include <assert.h>
#include <cap-ng.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool known; /* libcap-ng has read this process's sets */

static void learn(void)
{
	if (known)
		return;
	if (capng_get_caps_process() < 0) {
		fprintf(stderr, "cannot read the capabilities of this process\n");
		abort();
	}
	known = true;
}

static bool in_set(capng_type_t set, int cap)
{
	assert(cap >= 0);
	learn();
	return capng_have_capability(set, (unsigned)cap) == 1;
}

bool privilege_held(int cap)
{
	return in_set(CAPNG_PERMITTED, cap);
}

bool privilege_effective(int cap)
{
	return in_set(CAPNG_EFFECTIVE, cap);
}

/* libcap-ng changes its own copy first; if the kernel refuses, the copy is corrected. */
int privilege_raise(int cap)
{
	if (privilege_effective(cap))
		return 0;
	if (!privilege_held(cap))
		return -EPERM;
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, (unsigned)cap);
	if (capng_apply(CAPNG_SELECT_CAPS) == 0)
		return 1;
	capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, (unsigned)cap);
	return -EPERM;
}

void privilege_lower(int cap)
{
	if (!privilege_effective(cap))
		return;
	capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, (unsigned)cap);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0) {
		fprintf(stderr, "cannot lower capability %d\n", cap);
		abort();
	}
}

/* The sets are read again, since other code may have changed them before this call. */
int privilege_keep(uint64_t mask)
{
	uint64_t keep = 0;

	known = false;
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if ((mask >> cap & 1) && privilege_held(cap))
			keep |= UINT64_C(1) << cap;

	/*
	 * The bounding set comes first: dropping from it needs CAP_SETPCAP, which is dropped
	 * below.
	 */
	learn();
	capng_clear(CAPNG_SELECT_BOUNDS);
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (keep >> cap & 1)
			capng_update(CAPNG_ADD, CAPNG_BOUNDING_SET, (unsigned)cap);
	if (privilege_effective(CAP_SETPCAP))
		capng_apply(CAPNG_SELECT_BOUNDS);

	capng_clear(CAPNG_SELECT_CAPS);
	capng_clear(CAPNG_SELECT_AMBIENT);
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (keep >> cap & 1)
			capng_update(CAPNG_ADD, CAPNG_PERMITTED, (unsigned)cap);
	if (capng_apply(CAPNG_SELECT_AMBIENT) != 0 || capng_apply(CAPNG_SELECT_CAPS) != 0) {
		known = false;
		return -EPERM;
	}
	return 0;
}
