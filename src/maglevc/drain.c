/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/drain.h"

#include <inttypes.h>
#include <string.h>

/* False for none, which holds no flows, and after a reading that had none. */
static bool counts_flows(const Maglev__VPPLBState *s)
{
	return strcmp(s->dataplane, "none") != 0 && (s->has_as_flows || !s->counted);
}

static bool add_vip(struct drain *d, const Maglev__VPPLBVIP *vip)
{
	bool drained = true;

	for (size_t i = 0; i < vip->n_application_servers; i++) {
		const Maglev__VPPLBAS *as = vip->application_servers[i];

		if (!as->present)
			continue;
		if (as->weight > d->weight)
			d->weight = as->weight;
		d->flows += as->flows;
		drained &= as->drained;
	}
	return drained;
}

/* A server that is not in the data plane has no flows; but that has to be read, not remembered. */
struct drain drain_of(const Maglev__VPPLBState *s)
{
	struct drain d = { .readable = s->connected && !s->as_of };
	bool drained = true;

	if (!counts_flows(s))
		return (struct drain){ .state = DRAIN_UNKNOWN };
	for (size_t i = 0; d.readable && i < s->n_vips; i++)
		drained &= add_vip(&d, s->vips[i]);
	d.state = d.readable && drained ? DRAIN_OVER : DRAIN_RUNNING;
	return d;
}

void drain_describe(const struct drain *d, struct buf *out)
{
	if (d->state == DRAIN_OVER)
		buf_adds(out, "drained");
	else if (d->state == DRAIN_UNKNOWN)
		buf_adds(out, "the data plane does not count flows");
	else if (!d->readable)
		buf_adds(out, "the data plane cannot be read");
	else if (d->weight)
		buf_printf(out, "its weight is %u", d->weight);
	else if (d->flows)
		buf_printf(out, "%" PRIu64 " flow%s left", d->flows, d->flows == 1 ? "" : "s");
	else
		buf_adds(out, "its flows are not counted yet");
}

enum drain_state drain_judge_backend(const ProtobufCMessage *message, struct buf *left)
{
	struct drain d = drain_of((const Maglev__VPPLBState *)message);

	drain_describe(&d, left);
	return d.state;
}

/* A drain that was lifted meanwhile may never end. */
enum drain_state drain_judge_vip(const ProtobufCMessage *message, struct buf *left)
{
	const Maglev__AnnouncementInfo *a = (const Maglev__AnnouncementInfo *)message;

	buf_adds(left, a->drained ? a->state : "its drain was ended");
	if (!a->drained)
		return DRAIN_UNKNOWN;
	return strcmp(a->state, "withdrawn") == 0 ? DRAIN_OVER : DRAIN_RUNNING;
}
