/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: four requests in sequence, and one completion.
 *
 * They are the global configuration, all VIPs, all servers, and the text with what the dumps
 * lack. VPP works in order, so the last answer is the end. VPP forwards no packets while it
 * prints the text, and API clients may ask at any rate: a long text that gather has read recently
 * is used instead.
 *
 * Servers that are deleted and wait for garbage collection are left out. VIPs that are not a
 * single address belong to other programs and are left alone. If the text does not say whether a
 * VIP is sticky, the configured value is assumed, so that the VIP is not replaced for nothing.
 */
#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "core/l4/names.h"
#include "src/maglevd/dataplane/vpp/internal.h"

static void clear(struct vpplb__observe *o)
{
	lb_state_free(&o->state);
	vpplb_text_free(&o->text);
	*o = (struct vpplb__observe){ 0 };
}

static bool is_sticky(const struct dataplane *dp, const struct lb_vip_key *key)
{
	const struct vpplb_text *text =
		dp->observe.text_known ? &dp->gather.text : &dp->observe.text;
	const struct vpplb_text_vip *told = vpplb_text_find(text, key);
	size_t frontend = l4_frontend_of(dp->config, key);

	if (told && told->sticky_told)
		return told->src_ip_sticky;
	return frontend != SIZE_MAX && dp->config->frontends[frontend].src_ip_sticky;
}

/* Without the global configuration the state is useless: the request fails when it ends. */
static void on_conf(void *user, struct vpp_reader *r)
{
	struct dataplane *dp = user;
	struct vpplb__observe *o = &dp->observe;
	int32_t retval = vpplb_decode_conf(r, &o->state.conf);

	if (r->bad)
		return;
	o->state.has_conf = retval == 0;
	if (retval == 0)
		return;
	o->err = -EREMOTEIO;
	vpplb__refused(dp, vpplb_messages[VPPLB_CONF_GET].answer, retval);
}

static void on_vip(void *user, struct vpp_reader *r)
{
	struct dataplane *dp = user;
	struct vpplb_vip found;
	struct lb_vip *vip;

	vpplb_decode_vip(r, &found);
	if (r->bad || !found.host)
		return;
	vip = lb_state_put_vip(&dp->observe.state, &found.key);
	vip->encap = found.encap;
	vip->table_length = found.table_length;
}

/* VIPs were dumped first. A server whose VIP is not listed belongs to a VIP that was left out. */
static void on_as(void *user, struct vpp_reader *r)
{
	struct dataplane *dp = user;
	struct vpplb_as found;
	struct lb_vip *vip;

	vpplb_decode_as(r, &found);
	if (r->bad || !found.host || !found.used)
		return;
	vip = lb_state_vip(&dp->observe.state, &found.vip);
	if (vip)
		lb_vip_put_as(vip, &found.address)->weight = found.weight;
}

/* The servers were requested together with the VIPs; their end is what counts. */
static void on_vips_end(void *user)
{
}

int vpplb__ask_text(struct dataplane *dp, vpp_answer_fn answered)
{
	_cleanup_(buf_free) struct buf fields = { 0 };

	vpplb_encode_cli(VPPLB_TEXT_COMMAND, &fields);
	return vpp_api_call(dp->api, &vpplb_messages[VPPLB_CLI], &fields, answered, dp);
}

bool vpplb__read_text(struct dataplane *dp, struct vpp_reader *r, struct str *ret)
{
	struct vpplb_cli said = vpplb_decode_cli(r);

	if (r->bad)
		return false;
	*ret = said.retval == 0 ? said.text : (struct str){ 0 };
	if (said.retval != 0)
		vpplb__refused(dp, vpplb_messages[VPPLB_CLI].answer, said.retval);
	return true;
}

static void take_text(struct vpplb__observe *o, struct str text)
{
	vpplb_text_parse(text, &o->text);
	o->text_size = text.n;
}

static void on_text(void *user, struct vpp_reader *r)
{
	struct dataplane *dp = user;
	struct str text;

	if (!vpplb__read_text(dp, r, &text))
		return;
	if (text.p)
		take_text(&dp->observe, text);
	ev_timer_start(dp->loop, &dp->tell);
}

/* The text comes last. A VPP that cannot print it is read without. */
static void on_servers_end(void *user)
{
	struct dataplane *dp = user;
	int r = 0;

	dp->observe.text_known = vpplb__gather_knows(dp);
	dp->observe.text_asked = loop_monotonic();
	if (!dp->observe.text_known)
		r = vpplb__ask_text(dp, on_text);
	if (dp->observe.text_known || (r < 0 && r != -ENOTCONN))
		ev_timer_start(dp->loop, &dp->tell);
}

/* All three are sent at once: VPP answers in order. */
static int ask(struct dataplane *dp)
{
	_cleanup_(buf_free) struct buf vips = { 0 }, servers = { 0 };
	int r = vpp_api_call(dp->api, &vpplb_messages[VPPLB_CONF_GET], NULL, on_conf, dp);

	vpplb_encode_vip_dump(&vips);
	if (r == 0)
		r = vpp_api_dump(dp->api, &vpplb_messages[VPPLB_VIP_DUMP], &vips, on_vip,
				 on_vips_end, dp);
	vpplb_encode_as_dump(&servers);
	if (r == 0)
		r = vpp_api_dump(dp->api, &vpplb_messages[VPPLB_AS_DUMP], &servers, on_as,
				 on_servers_end, dp);
	return r;
}

void vpplb__observe(struct dataplane *dp, dataplane_observed_fn done, void *user)
{
	int r;

	assert(dp->up && !dp->observe.done && !dp->apply.done);
	dp->observe = (struct vpplb__observe){ .done = done, .user = user };
	r = ask(dp);
	/* -ENOTCONN: down() follows, and ends the request */
	if (r == 0 || r == -ENOTCONN)
		return;
	dp->observe.err = -ENOBUFS;
	ev_timer_start(dp->loop, &dp->tell);
}

/*
 * The request is cleared before done() is called, which may issue the next one. Whether a VIP is
 * sticky is decided now, because the text arrives after the VIPs.
 */
void vpplb__observe_tell(struct dataplane *dp)
{
	struct vpplb__observe o = dp->observe;

	for (size_t i = 0; i < o.state.vips.n; i++)
		o.state.vips.items[i].src_ip_sticky = is_sticky(dp, &o.state.vips.items[i].key);
	if (o.text_size)
		vpplb__gather_take(dp, &o.text, o.text_size, o.text_asked);
	dp->observe = (struct vpplb__observe){ 0 };
	o.done(o.user, o.err, o.err ? NULL : &o.state);
	clear(&o);
}

void vpplb__observe_drop(struct dataplane *dp)
{
	clear(&dp->observe);
}
