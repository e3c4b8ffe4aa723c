/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/maglevc/testing.h"

static struct command command;

/* Renders without colour and compares both streams. */
static void check(render_fn render, const void *message, const char *want, const char *want_err)
{
	_cleanup_(buf_free) struct buf out = { 0 }, err = { 0 };
	struct render r = { .now = TESTING_NOW, .command = &command, .out = &out, .err = &err };

	render(message, &r);
	assert_string_equal(buf_cstr(&out), want);
	assert_string_equal(buf_cstr(&err), want_err);
}

static void frontends_are_a_row_each(void **state)
{
	check(render_frontends, testing_frontends(),
	      "NAME  VIP                   STATE    AGE    POOL     UP   DESCRIPTION\n"
	      "dns   2001:db8::53          unknown  -      -        0/0\n"
	      "www   198.51.100.10:80/tcp  up       3m12s  primary  1/3  public web\n",
	      "");
}

static void a_frontend_shows_its_pools_and_why_a_backend_gets_nothing(void **state)
{
	check(render_frontend, testing_frontend(),
	      "name           www\n"
	      "description    public web\n"
	      "address        198.51.100.10\n"
	      "protocol       tcp\n"
	      "port           80\n"
	      "state          up for 3m12s\n"
	      "active-pool    primary\n"
	      "src-ip-sticky  no\n"
	      "flush-on-down  yes\n"
	      "pools                  STATE     WEIGHT  EFFECTIVE\n"
	      "  primary [active]\n"
	      "    web1               up        100     100\n"
	      "    web2               disabled  50      0          [weight 100 in the file] "
	      "[disabled until 2026-04-15T10:20:00Z] new disk\n"
	      "  fallback\n"
	      "    spare-with-a-name  paused    100     0          [paused]\n",
	      "");
}

static void a_frontend_that_is_not_released_says_so(void **state)
{
	check(render_frontend, testing_frontends()->frontends[0],
	      "name           dns\n"
	      "address        2001:db8::53\n"
	      "protocol       any\n"
	      "state          unknown\n"
	      "active-pool    -\n"
	      "src-ip-sticky  yes\n"
	      "flush-on-down  no\n"
	      "data-plane     left alone by the warm-up\n",
	      "");
}

static void backends_are_a_row_each_with_their_override(void **state)
{
	check(render_backends, testing_backends(),
	      "NAME   ADDRESS       STATE     AGE    CODE   HEALTHCHECK  FRONTENDS\n"
	      "spare  2001:db8::99  up        1d3h   -      -            -\n"
	      "web1   10.0.0.11     up        3m12s  L7OK   web          shop, www\n"
	      "web2   10.0.0.12     disabled  10m    L7STS  web          www        [disabled "
	      "until 2026-04-15T10:20:00Z] new disk\n",
	      "");
}

static void a_backend_shows_its_counter_and_history(void **state)
{
	check(render_backend, testing_backend(),
	      "name         web1\n"
	      "address      10.0.0.11\n"
	      "healthcheck  web\n"
	      "state        up for 3m12s\n"
	      "enabled      yes\n"
	      "counter      4 of 4 (rise 2, fall 3)\n"
	      "last-probe   L7OK in 3.141ms, 1s ago\n"
	      "frontends    shop, www\n"
	      "transitions             AGE    FROM     TO    CODE   REASON              OPERATOR\n"
	      "  2026-04-15T09:26:48Z  3m12s  down     up    L7OK\n"
	      "  2026-04-15T08:00:00Z  1h30m  unknown  down  L4CON  connection refused\n",
	      "");
}

static void an_overridden_backend_shows_reason_and_end(void **state)
{
	check(render_backend, testing_disabled(),
	      "name         web2\n"
	      "address      10.0.0.12\n"
	      "healthcheck  web\n"
	      "state        disabled for 10m\n"
	      "enabled      no\n"
	      "counter      0 of 4 (rise 2, fall 3)\n"
	      "last-probe   L7STS in 1ms, 10m1s ago\n"
	      "last-reason  status 503\n"
	      "override     [disabled until 2026-04-15T10:20:00Z] new disk (10m ago)\n"
	      "frontends    www\n",
	      "");
}

static void a_static_backend_has_no_probe(void **state)
{
	check(render_backend, testing_backends()->backends[0],
	      "name         spare\n"
	      "address      2001:db8::99\n"
	      "healthcheck  -\n"
	      "state        up for 1d3h\n"
	      "enabled      yes\n"
	      "frontends    -\n",
	      "");
}

static void health_checks_are_a_row_each(void **state)
{
	check(render_healthchecks, testing_healthchecks(),
	      "NAME  TYPE   PORT  INTERVAL  FAST   DOWN   TIMEOUT  RISE  FALL  BACKENDS\n"
	      "ping  icmp   -     2s        2s     2s     1s       1     1     -\n"
	      "web   https  443   2s        500ms  1m30s  1s       2     3     web1, web2\n",
	      "");
}

static void a_health_check_shows_what_its_type_has(void **state)
{
	check(render_healthcheck, testing_healthcheck(),
	      "name                  web\n"
	      "type                  https\n"
	      "port                  443\n"
	      "interval              2s\n"
	      "fast-interval         500ms\n"
	      "down-interval         1m30s\n"
	      "timeout               1s\n"
	      "rise                  2\n"
	      "fall                  3\n"
	      "probe-ipv4-src        192.0.2.1\n"
	      "path                  /healthz\n"
	      "response-code         200-299\n"
	      "response-regexp       ^OK\n"
	      "keep-alive            no\n"
	      "server-name           www.example.net\n"
	      "insecure-skip-verify  no\n"
	      "backends              web1, web2\n",
	      "");
	check(render_healthcheck, testing_healthchecks()->healthchecks[0],
	      "name           ping\n"
	      "type           icmp\n"
	      "interval       2s\n"
	      "fast-interval  2s\n"
	      "down-interval  2s\n"
	      "timeout        1s\n"
	      "rise           1\n"
	      "fall           1\n"
	      "backends       -\n",
	      "");
}

static void vpp_is_shown_with_its_age(void **state)
{
	check(render_vpp_info, testing_vpp_info(),
	      "version       26.10-rc0\n"
	      "build-date    2026-04-01T00:00:00\n"
	      "build-dir     /build/vpp\n"
	      "vpp-pid       4711\n"
	      "vpp-boottime  2026-04-14T08:28:59Z (1d1h ago)\n"
	      "connected     2026-04-15T09:29:15Z (45s ago)\n"
	      "\n"
	      "MESSAGE           SENT  SEND-FAILED  RECEIVED  RECEIVE-FAILED\n"
	      "lb_as_set_weight  12    0            11        1\n",
	      "");
}

static void what_is_wrong_with_vpp_comes_first(void **state)
{
	static char why[] = "VPP has no lb plugin";
	Maglev__VPPInfo v;

	maglev__vppinfo__init(&v);
	v.problem = why;
	check(render_vpp_info, &v,
	      "problem     VPP has no lb plugin\n"
	      "version     -\n"
	      "build-date  -\n"
	      "build-dir   -\n"
	      "connected   no\n",
	      "");
}

static void the_state_of_the_data_plane_marks_what_differs(void **state)
{
	check(render_lb_state, testing_lb_state(),
	      "dataplane                vpp\n"
	      "status                   connected\n"
	      "ipv4-src-address         192.0.2.1\n"
	      "ipv6-src-address         -\n"
	      "sticky-buckets-per-core  1024\n"
	      "flow-timeout             40s\n"
	      "warm-up                  done\n"
	      "last-full-sync           2026-04-15T09:29:48Z (12s ago)\n"
	      "vips           BACKEND  WEIGHT  WANTED  BUCKETS  FLOWS\n"
	      "  198.51.100.10:80/tcp gre4 frontend www src-ip-sticky\n"
	      "    10.0.0.11  web1     100     100     1024     17\n"
	      "    10.0.0.12  web2     0       50      0        0      [missing]\n"
	      "  [2001:db8::80]:443/udp gre6 [not wanted]\n",
	      "");
}

static void interfaces_are_shown_with_what_is_wrong(void **state)
{
	static char degraded[] = "degraded", xdp[] = "xdp", eth0[] = "eth0", eth1[] = "eth1",
		    native[] = "native", why[] = "there is no such interface";
	Maglev__VPPLBInterface good, bad, *interfaces[] = { &good, &bad };
	Maglev__VPPLBState *s = testing_lb_state();

	maglev__vpplbinterface__init(&good);
	maglev__vpplbinterface__init(&bad);
	good.name = eth0;
	good.attached = true;
	good.mode = native;
	bad.name = eth1;
	bad.problem = why;
	s->dataplane = xdp;
	s->status = degraded;
	s->problem = why;
	s->interfaces = interfaces;
	s->n_interfaces = 2;
	s->n_vips = 0;
	check(render_lb_state, s,
	      "dataplane                xdp\n"
	      "status                   degraded\n"
	      "problem                  there is no such interface\n"
	      "ipv4-src-address         192.0.2.1\n"
	      "ipv6-src-address         -\n"
	      "sticky-buckets-per-core  1024\n"
	      "flow-timeout             40s\n"
	      "warm-up                  done\n"
	      "last-full-sync           2026-04-15T09:29:48Z (12s ago)\n"
	      "interfaces  MODE\n"
	      "  eth0      native\n"
	      "  eth1      -       [not attached] there is no such interface\n",
	      "");
}

static void a_server_without_flows_is_marked_and_figures_may_be_unknown(void **state)
{
	Maglev__VPPLBState *s = testing_lb_state();
	Maglev__VPPLBAS *as = s->vips[0]->application_servers[0];
	_cleanup_(buf_free) struct buf out = { 0 }, err = { 0 };
	struct render r = { .now = TESTING_NOW, .out = &out, .err = &err };

	as->drained = true;
	as->weight = as->flows = 0;
	as->wanted_weight = as->buckets = 0;
	render_lb_state(&s->base, &r);
	assert_non_null(strstr(buf_cstr(&out),
			       "    10.0.0.11  web1     0       0       0        0      "
			       "[drained]\n"));
	s->has_as_buckets = s->has_as_flows = as->drained = false;
	out.n = 0;
	render_lb_state(&s->base, &r);
	assert_non_null(
		strstr(buf_cstr(&out), "    10.0.0.11  web1     0       0       -        -\n"));
}

#define COUNTERS_HEAD                                                                              \
	"dataplane  xdp\n"                                                                         \
	"read       2026-04-15T09:29:59Z (1s ago)\n"                                               \
	"\n"                                                                                       \
	"VIP                   FRONTEND  FIRST  NEXT     UNTRACKED  NO-SERVER  BYTES\n"

static void the_past_is_a_table_of_figures_and_a_list_of_states(void **state)
{
	check(render_history, testing_history(),
	      "the last hour, a point every 10s, up to 2026-04-15T09:29:56Z\n"
	      "backend web1\n"
	      "  LINE     POINTS  LAST   LEAST  MEAN  MOST\n"
	      "  packets  0       -      -      -     -\n"
	      "  latency  2       2.5ms  1.5ms  2ms   2.5ms\n"
	      "  states: up 1m10s, down 10s\n",
	      "");
}

static void counters_are_tables_one_behind_the_other(void **state)
{
	check(render_lb_counters, testing_lb_counters(),
	      COUNTERS_HEAD
	      "198.51.100.10:80/tcp  www       12     1234555  0          0          987654321\n"
	      "\n"
	      "VIP                   SERVER     BACKEND  PACKETS  BYTES                 BUCKETS  "
	      "FLOWS\n"
	      "198.51.100.10:80/tcp  10.0.0.11  web1     1234567  18446744073709551615  1024     "
	      "17\n"
	      "\n"
	      "SERVER     BACKENDS    PACKETS  BYTES (all VIPs; with encapsulation)\n"
	      "10.0.0.11  twin, web1  1234570  1400000000\n"
	      "\n"
	      "NOT SENT TO A SERVER  PACKETS\n"
	      "too-big               3\n",
	      "");
}

static void a_figure_that_the_data_plane_has_not_is_a_dash(void **state)
{
	Maglev__VPPLBCounters *all = testing_lb_counters();

	all->has_vip_bytes = all->has_as_traffic = all->has_as_flows = false;
	all->n_servers = all->n_events = 0;
	check(render_lb_counters, all,
	      COUNTERS_HEAD
	      "198.51.100.10:80/tcp  www       12     1234555  0          0          -\n"
	      "\n"
	      "VIP                   SERVER     BACKEND  PACKETS  BYTES  BUCKETS  FLOWS\n"
	      "198.51.100.10:80/tcp  10.0.0.11  web1     -        -      1024     -\n",
	      "");
	all->vips[0]->n_application_servers = 0;
	check(render_lb_counters, all,
	      COUNTERS_HEAD
	      "198.51.100.10:80/tcp  www       12     1234555  0          0          -\n",
	      "");
	all->n_vips = 0;
	check(render_lb_counters, all,
	      "dataplane  xdp\n"
	      "read       2026-04-15T09:29:59Z (1s ago)\n",
	      "");
}

static void a_sync_shows_its_operations_and_what_it_left_alone(void **state)
{
	Maglev__SyncVPPLBStateResponse none;

	maglev__sync_vpplbstate_response__init(&none);
	command = (struct command){ .act = ACT_SYNC };
	check(render_sync, testing_sync(),
	      "as-add 198.51.100.10:80/tcp 10.0.0.12 50\n"
	      "vip-remove [2001:db8::80]:443/udp\n"
	      "withheld: dns: warm-up\n"
	      "vpp: 2 operations done\n",
	      "");
	command.args[SLOT_PLAN] = "plan";
	check(render_sync, testing_sync(),
	      "as-add 198.51.100.10:80/tcp 10.0.0.12 50\n"
	      "vip-remove [2001:db8::80]:443/udp\n"
	      "withheld: dns: warm-up\n"
	      "vpp: 2 operations planned\n",
	      "");
	none.dataplane = testing_sync()->dataplane;
	check(render_sync, &none, "vpp: nothing to do\n", "");
}

static void an_act_is_answered_with_the_backend_in_a_line(void **state)
{
	check(render_act, testing_backend(), "backend web1: up\n", "");
	check(render_act, testing_disabled(),
	      "backend web2: disabled [disabled until 2026-04-15T10:20:00Z] new disk\n", "");
}

static void a_weight_is_answered_with_what_it_is_now(void **state)
{
	command = (struct command){ .act = ACT_WEIGHT };
	command.args[SLOT_POOL] = "primary";
	command.args[SLOT_BACKEND] = "web2";
	check(render_weight, testing_frontend(),
	      "frontend www, pool primary, backend web2: weight 50, effective 0\n", "");
	command.args[SLOT_FLUSH] = "flush";
	check(render_weight, testing_frontend(),
	      "frontend www, pool primary, backend web2: weight 50, effective 0, flushed\n", "");
}

static void a_check_tells_what_a_reload_would_change(void **state)
{
	Maglev__CheckConfigResponse m;

	maglev__check_config_response__init(&m);
	check(render_config_check, testing_check(),
	      "configuration is good; a reload would change:\n"
	      "  backend web1: address 10.0.0.1 -> 10.0.0.2\n"
	      "  frontend dns: added\n",
	      "warning: maglev.yaml:3:5: weights sum above the table\n");
	m.ok = true;
	check(render_config_check, &m, "configuration is good; a reload would change nothing\n",
	      "");
}

static void a_check_tells_that_a_good_file_needs_a_restart(void **state)
{
	static char why[] = "the data plane cannot change", change[] = "dataplane: vpp -> none";
	char *changes[] = { change };
	Maglev__CheckConfigResponse m;

	maglev__check_config_response__init(&m);
	m.reload_error = why;
	check(render_config_check, &m, "configuration is good, but needs a restart\n",
	      "the data plane cannot change\n");
	m.changes = changes;
	m.n_changes = 1;
	check(render_config_check, &m,
	      "configuration is good, but needs a restart, which would change:\n"
	      "  dataplane: vpp -> none\n",
	      "the data plane cannot change\n");
}

static void mistakes_in_the_file_are_complaints(void **state)
{
	static char parse[] = "maglev.yaml:1:1: not YAML", rule[] = "a: one\nb: two";
	Maglev__CheckConfigResponse m;
	Maglev__ReloadConfigResponse reload;

	maglev__check_config_response__init(&m);
	maglev__reload_config_response__init(&reload);
	check(render_config_check, &m, "", "the server did not say what is wrong\n");
	m.parse_error = parse;
	check(render_config_check, &m, "", "maglev.yaml:1:1: not YAML\n");
	reload.semantic_error = rule;
	reload.reload_error = parse;
	check(render_config_reload, &reload, "", "a: one\nb: two\nmaglev.yaml:1:1: not YAML\n");
}

static void a_reload_tells_what_it_changed(void **state)
{
	Maglev__ReloadConfigResponse m;

	maglev__reload_config_response__init(&m);
	check(render_config_reload, testing_reload(),
	      "configuration reloaded:\n"
	      "  backend web1: address 10.0.0.1 -> 10.0.0.2\n"
	      "  frontend dns: added\n",
	      "");
	m.ok = true;
	check(render_config_reload, &m, "configuration reloaded, nothing changed\n", "");
}

static void announcements_are_a_row_each(void **state)
{
	check(render_announcements, testing_announcements(),
	      "NAME  ADDRESS        STATE      AGE    TRAFFIC  SUMMARY\n"
	      "dns   2001:db8::53   withdrawn  3m12s  no       withdrawn: near/dns is down\n"
	      "www   198.51.100.10  draining   10s    yes      still announced to tor1: drained, "
	      "new kernel\n",
	      "");
}

static void an_announcement_shows_why(void **state)
{
	check(render_announcement, testing_announcement(),
	      "name           www\n"
	      "address        198.51.100.10\n"
	      "state          draining for 10s\n"
	      "reason         drained\n"
	      "traffic        yes\n"
	      "summary        still announced to tor1: drained, new kernel\n"
	      "drained        2026-04-15T09:29:50Z (10s ago)\n"
	      "drain-reason   new kernel\n"
	      "transitions    3\n"
	      "prefix         198.51.100.10/32\n"
	      "advertisement  default\n"
	      "peers          tor1, tor2\n"
	      "established    tor1\n"
	      "l2-group       lan\n"
	      "l2-interface   eth0\n"
	      "l2-state       backup for 30s (unfit)\n"
	      "l2-owner       lb2\n"
	      "l2-priority    0\n"
	      "frontends   STATE  SERVERS\n"
	      "  near/www  up     2\n"
	      "members  PRIORITY  OWNER  SEEN\n"
	      "  lb2    100       yes    1s\n",
	      "");
}

static void a_drain_is_answered_with_the_vip_in_a_line(void **state)
{
	check(render_drain, testing_announcement(),
	      "vip www: still announced to tor1: drained, new kernel\n", "");
}

static void sessions_are_a_row_each(void **state)
{
	check(render_sessions, testing_sessions(),
	      "PEER  ADDRESS   VRF  ASN       STATE        AGE  SENT  BFD  LAST-ERROR\n"
	      "tor1  10.0.0.2  -    64513     Established  1h   1     up\n"
	      "tor2  eth1      red  external  Active       5s   0     -    BGP Notification send: "
	      "Hold Timer Expired\n",
	      "");
}

static void a_speaker_shows_its_maglevds_and_frr(void **state)
{
	check(render_speaker, testing_speaker(),
	      "name          lb1\n"
	      "version       0.1.0\n"
	      "started       2026-04-15T08:30:00Z (1h ago)\n"
	      "generation    2\n"
	      "loaded        2026-04-15T09:29:00Z (1m ago)\n"
	      "config-error  speaker.yaml:3:5: asn: not a number\n"
	      "frr-current   no\n"
	      "frr-applies   12\n"
	      "frr-failures  1\n"
	      "frr-last      2026-04-15T09:29:15Z (45s ago)\n"
	      "frr-error     bgpd is not there\n"
	      "maglevds  ADDRESS         CONNECTED  ERROR\n"
	      "  far     lb2:9090        no         connection refused\n"
	      "  near    localhost:9090  yes\n",
	      "");
}

static void states_are_coloured_only_when_asked(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 }, err = { 0 };
	struct render r = { .color = true, .now = TESTING_NOW, .out = &out, .err = &err };

	render_backend(&testing_backend()->base, &r);
	assert_non_null(strstr(buf_cstr(&out),
			       "\033[34mstate\033[0m        \033[32mup for 3m12s\033[0m\n"));
	assert_non_null(strstr(buf_cstr(&out), "\033[31mdown\033[0m"));
}

static void a_router_shows_its_figures(void **state)
{
	check(render_router, testing_router(),
	      "name          rt1\n"
	      "version       0.1.0\n"
	      "problem       pool blue has no server that gets requests\n"
	      "started       2026-04-15T08:30:00Z (1h ago)\n"
	      "threads       2\n"
	      "generation    7\n"
	      "source        rollback\n"
	      "loaded        2026-04-15T09:29:00Z (1m ago)\n"
	      "config-error  router.yaml:3:5: pool: unknown\n"
	      "draining      no\n"
	      "listeners     1\n"
	      "routes        1\n"
	      "pools         2\n"
	      "held          2 generations\n"
	      "clients       10 connections\n"
	      "servers       4 connections\n"
	      "requests      1001\n"
	      "rate          12.3/s\n"
	      "errors        11 (2.5% now)\n"
	      "retries       3\n"
	      "aborts        1\n"
	      "answers       1xx 0, 2xx 900, 3xx 50, 4xx 40, 5xx 10\n"
	      "latency       p50 0.42ms, p99 1.23s\n",
	      "");
}

static void listeners_are_a_row_each(void **state)
{
	check(render_listeners, testing_listeners(),
	      "NAME  ADDRESS  PROTOCOL  HOST  ROUTES  STREAMS\n"
	      "http  :80      http      *     1       0\n",
	      "");
}

static void streams_are_a_row_each(void **state)
{
	check(render_streams, testing_streams(),
	      "NAME      LISTENERS  HOSTS       TO                       OPEN  CONNECTIONS  ABORTS "
	      " "
	      "RECEIVED  SENT\n"
	      "postgres  db         db.example  blue 75%, (invalid) 25%  3     12           1      "
	      " "
	      "4096      1048576\n",
	      "");
}

static void routes_are_a_row_each_with_their_rates(void **state)
{
	check(render_routes, testing_routes(),
	      "NAME       HOSTS                               RULES  TO                            "
	      "     RATE/S  ERRORS  P50     P99    REQUESTS\n"
	      "(default)  *                                   1      green                         "
	      "     -       -       -       -      -\n"
	      "api        a.example, b.example, c.example +1  2      blue 75%, green 25%; 301 to "
	      "https  12.3    2.5%    0.42ms  1.23s  1001\n",
	      "");
}

static void a_route_shows_its_rules(void **state)
{
	check(render_route, testing_route(),
	      "name       api\n"
	      "position   1\n"
	      "hosts      a.example, b.example, c.example, *.d.example\n"
	      "listeners  all\n"
	      "requests   1001\n"
	      "rate       12.3/s\n"
	      "errors     11 (2.5% now)\n"
	      "retries    3\n"
	      "aborts     1\n"
	      "answers    1xx 0, 2xx 900, 3xx 50, 4xx 40, 5xx 10\n"
	      "latency    p50 0.42ms, p99 1.23s\n"
	      "rule api/0\n"
	      "  match  prefix /v1\n"
	      "    or   GET exact /status\n"
	      "  does   strips the prefix, cors\n"
	      "  backends  WEIGHT  SHARE  SERVERS\n"
	      "    blue    3       75%    1 of 2\n"
	      "    green   1       25%    1 of 2\n"
	      "rule api/1\n"
	      "  match     prefix /old\n"
	      "  redirect  301 to https\n",
	      "");
}

static void pools_are_a_row_each(void **state)
{
	check(render_pools, testing_pools(),
	      "NAME   BALANCE        SERVERS  RATE/S  ERRORS  P50     P99    REQUESTS  ROUTES\n"
	      "blue   least_request  1 of 2   12.3    2.5%    0.42ms  1.23s  1001      api\n"
	      "green  round_robin    0 of 0   -       -       -       -      -         -\n",
	      "");
}

static void a_pool_shows_its_servers(void **state)
{
	check(render_pool, testing_pool(),
	      "name      blue\n"
	      "position  0\n"
	      "balance   least_request\n"
	      "probed    yes\n"
	      "usable    1 of 2\n"
	      "routes    api\n"
	      "requests  1001\n"
	      "rate      12.3/s\n"
	      "errors    11 (2.5% now)\n"
	      "retries   3\n"
	      "aborts    1\n"
	      "answers   1xx 0, 2xx 900, 3xx 50, 4xx 40, 5xx 10\n"
	      "latency   p50 0.42ms, p99 1.23s\n"
	      "servers               STATE  AGE    WEIGHT  SHARE  ACTIVE  OPEN  RATE/S  ERRORS  "
	      "P50     P99    REQUESTS  REASON\n"
	      "  10.0.0.1:8080       up     3m12s  2       100%   2       3     12.3    2.5%    "
	      "0.42ms  1.23s  1001\n"
	      "  [2001:db8::1]:8080  down   5s     1       0%     -       -     -       -       -  "
	      "     -      -         L4CON: connection refused\n",
	      "");
}

static void generations_are_a_row_each(void **state)
{
	check(render_generations, testing_generations(),
	      "NUMBER  AGE  SOURCE    FROM       LISTENERS  ROUTES  POOLS  ADDED  REMOVED  CHANGED "
	      " NOTE\n"
	      "7       1m   rollback  127.0.0.1  1          1       2      1      1        1       "
	      " in force, repeats 5\n"
	      "6       1h   file      -          0          0       0      -      -        -       "
	      " still used\n",
	      "");
}

static void a_generation_shows_what_it_changed(void **state)
{
	check(render_generation, testing_generation(),
	      "generation 7, compared with 6\n"
	      "+ route api\n"
	      "    + {\"name\":\"api\"}\n"
	      "- route old\n"
	      "~ pool blue\n"
	      "    - {\"name\":\"blue\",\"servers\":[]}\n"
	      "    + {\"name\":\"blue\",\"servers\":[\"10.0.0.1:8080\"]}\n"
	      "and 2 further changes\n",
	      "");
}

static void an_explanation_shows_what_was_considered(void **state)
{
	check(render_route_for, testing_route_for(),
	      "summary   75 % to pool blue, 25 % to pool green\n"
	      "listener  http\n"
	      "host      a.example\n"
	      "route     api\n"
	      "rule      api/0\n"
	      "match     prefix /v1\n"
	      "pool blue: weight 3, 75%\n"
	      "  servers               STATE  AGE    WEIGHT  SHARE  ACTIVE  OPEN  RATE/S  ERRORS  "
	      "P50     P99    REQUESTS  REASON\n"
	      "    10.0.0.1:8080       up     3m12s  2       100%   2       3     12.3    2.5%    "
	      "0.42ms  1.23s  1001\n"
	      "    [2001:db8::1]:8080  down   5s     1       0%     -       -     -       -       "
	      "-       -      -         L4CON: connection refused\n"
	      "considered  RULE    HOST       MATCH                           RESULT\n"
	      "  canary    canary  a.example  prefix /v1, header x-canary: 1  there is no header "
	      "x-canary\n"
	      "  api       api/0   a.example  prefix /v1                      gets the request\n"
	      "  and 4 others\n",
	      "");
}

static void a_rollback_is_one_line(void **state)
{
	check(render_rollback, testing_router(), "router rt1: generation 7 is in force\n", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frontends_are_a_row_each),
		cmocka_unit_test(a_frontend_shows_its_pools_and_why_a_backend_gets_nothing),
		cmocka_unit_test(a_frontend_that_is_not_released_says_so),
		cmocka_unit_test(backends_are_a_row_each_with_their_override),
		cmocka_unit_test(a_backend_shows_its_counter_and_history),
		cmocka_unit_test(an_overridden_backend_shows_reason_and_end),
		cmocka_unit_test(a_static_backend_has_no_probe),
		cmocka_unit_test(health_checks_are_a_row_each),
		cmocka_unit_test(a_health_check_shows_what_its_type_has),
		cmocka_unit_test(vpp_is_shown_with_its_age),
		cmocka_unit_test(what_is_wrong_with_vpp_comes_first),
		cmocka_unit_test(the_state_of_the_data_plane_marks_what_differs),
		cmocka_unit_test(interfaces_are_shown_with_what_is_wrong),
		cmocka_unit_test(a_server_without_flows_is_marked_and_figures_may_be_unknown),
		cmocka_unit_test(the_past_is_a_table_of_figures_and_a_list_of_states),
		cmocka_unit_test(counters_are_tables_one_behind_the_other),
		cmocka_unit_test(a_figure_that_the_data_plane_has_not_is_a_dash),
		cmocka_unit_test(a_sync_shows_its_operations_and_what_it_left_alone),
		cmocka_unit_test(an_act_is_answered_with_the_backend_in_a_line),
		cmocka_unit_test(a_weight_is_answered_with_what_it_is_now),
		cmocka_unit_test(a_check_tells_what_a_reload_would_change),
		cmocka_unit_test(a_check_tells_that_a_good_file_needs_a_restart),
		cmocka_unit_test(mistakes_in_the_file_are_complaints),
		cmocka_unit_test(a_reload_tells_what_it_changed),
		cmocka_unit_test(announcements_are_a_row_each),
		cmocka_unit_test(an_announcement_shows_why),
		cmocka_unit_test(a_drain_is_answered_with_the_vip_in_a_line),
		cmocka_unit_test(sessions_are_a_row_each),
		cmocka_unit_test(a_speaker_shows_its_maglevds_and_frr),
		cmocka_unit_test(a_router_shows_its_figures),
		cmocka_unit_test(listeners_are_a_row_each),
		cmocka_unit_test(streams_are_a_row_each),
		cmocka_unit_test(routes_are_a_row_each_with_their_rates),
		cmocka_unit_test(a_route_shows_its_rules),
		cmocka_unit_test(pools_are_a_row_each),
		cmocka_unit_test(a_pool_shows_its_servers),
		cmocka_unit_test(generations_are_a_row_each),
		cmocka_unit_test(a_generation_shows_what_it_changed),
		cmocka_unit_test(an_explanation_shows_what_was_considered),
		cmocka_unit_test(a_rollback_is_one_line),
		cmocka_unit_test(states_are_coloured_only_when_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
