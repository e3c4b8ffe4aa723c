/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/convert.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static int convert(const char *text, const char *version, struct buf *out)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf json = { 0 };
	struct errs errors = { .arena = arena };
	const struct json_node *node;

	buf_adds(&json, text);
	for (size_t i = 0; i < json.n; i++)
		json.p[i] = json.p[i] == '\'' ? '"' : json.p[i];
	assert_int_equal(json_parse((struct str){ json.p, json.n }, NULL, arena, &node, &errors),
			 0);
	return convert_peer(node, version, out);
}

static void expect(const char *text, const char *version, const char *want)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_int_equal(convert(text, version, &out), 0);
	for (size_t i = 0; i < out.n; i++)
		out.p[i] = out.p[i] == '"' ? '\'' : out.p[i];
	assert_string_equal(buf_cstr(&out), want);
}

#define OLD "metallb.io/v1beta1"
#define NEW "metallb.io/v1beta2"

/* MetalLB makes an explicit 0 of a timer that is not set, which switches it off. */
static void timers_that_are_not_set_stay_so(void **state)
{
	expect("{'apiVersion':'" OLD "','kind':'BGPPeer','metadata':{'name':'a'},'spec':{'myASN':1,"
	       "'holdTime':'0s','keepaliveTime':'0s','peerPort':0}}",
	       NEW,
	       "{'apiVersion':'" NEW
	       "','kind':'BGPPeer','metadata':{'name':'a'},'spec':{'myASN':1}}");
	expect("{'apiVersion':'" OLD
	       "','kind':'BGPPeer','spec':{'holdTime':'1m30s','peerPort':1790}}",
	       NEW,
	       "{'apiVersion':'" NEW
	       "','kind':'BGPPeer','spec':{'holdTime':'1m30s','peerPort':1790}}");
}

static void the_old_version_gets_what_it_knows(void **state)
{
	expect("{'apiVersion':'" NEW
	       "','kind':'BGPPeer','spec':{'myASN':1,'vrf':'red','connectTime':"
	       "'1s','nodeSelectors':[{'matchLabels':{'a':'b'}}],'passwordSecret':{'name':'s'}}}",
	       OLD,
	       "{'apiVersion':'" OLD "','kind':'BGPPeer','spec':{'myASN':1,'nodeSelectors':[{'"
	       "matchLabels':{'a':'b'}}]}}");
}

static void other_objects_are_refused(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	assert_int_equal(convert("{'kind':'Pod'}", NEW, &out), -EINVAL);
	assert_int_equal(convert("{'kind':'BGPPeer'}", "metallb.io/v9", &out), -EINVAL);
	assert_int_equal(convert("[]", NEW, &out), -EINVAL);
	assert_int_equal(out.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_that_are_not_set_stay_so),
		cmocka_unit_test(the_old_version_gets_what_it_knows),
		cmocka_unit_test(other_objects_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
