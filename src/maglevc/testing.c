/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/testing.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/units.h"

/* protobuf-c declares strings without const; the answers are only read. */
#define S(text) ((char *)(uintptr_t)(text))

#define AGO(seconds) (TESTING_NOW - (seconds)*NSEC_PER_SEC)

static Maglev__Override * override(void)
{
	static Maglev__Override o;

	maglev__override__init(&o);
	o.act = S("disabled");
	o.reason = S("new disk");
	o.at = AGO(600);
	o.until = TESTING_NOW + 3000 * NSEC_PER_SEC;
	return &o;
}

static Maglev__PoolInfo *primary(void)
{
	static Maglev__PoolBackendInfo web1;
	static Maglev__PoolBackendInfo web2;
	static Maglev__PoolBackendInfo *members[] = { &web1, &web2 };
	static Maglev__PoolInfo pool;

	maglev__pool_backend_info__init(&web1);
	maglev__pool_backend_info__init(&web2);
	maglev__pool_info__init(&pool);
	web1.name = S("web1");
	web1.state = S("up");
	web1.weight = web1.effective_weight = web1.configured_weight = 100;
	web2.name = S("web2");
	web2.state = S("disabled");
	web2.weight = 50;
	web2.configured_weight = 100;
	web2.mutated = true;
	web2.override = override();
	pool.name = S("primary");
	pool.active = true;
	pool.backends = members;
	pool.n_backends = ARRAY_SIZE(members);
	return &pool;
}

static Maglev__PoolInfo *fallback(void)
{
	static Maglev__PoolBackendInfo spare;
	static Maglev__PoolBackendInfo *members[] = { &spare };
	static Maglev__PoolInfo pool;

	maglev__pool_backend_info__init(&spare);
	maglev__pool_info__init(&pool);
	spare.name = S("spare-with-a-name");
	spare.state = S("paused");
	spare.weight = spare.configured_weight = 100;
	pool.name = S("fallback");
	pool.backends = members;
	pool.n_backends = ARRAY_SIZE(members);
	return &pool;
}

Maglev__FrontendInfo *testing_frontend(void)
{
	static Maglev__FrontendInfo f;
	static Maglev__PoolInfo *pools[2];

	maglev__frontend_info__init(&f);
	pools[0] = primary();
	pools[1] = fallback();
	f.name = S("www");
	f.description = S("public web");
	f.address = S("198.51.100.10");
	f.protocol = S("tcp");
	f.port = 80;
	f.flush_on_down = true;
	f.state = S("up");
	f.since = AGO(192);
	f.active_pool = S("primary");
	f.released = true;
	f.pools = pools;
	f.n_pools = ARRAY_SIZE(pools);
	return &f;
}

Maglev__ListFrontendsResponse *testing_frontends(void)
{
	static Maglev__FrontendInfo dns;
	static Maglev__ListFrontendsResponse list;
	static Maglev__FrontendInfo *frontends[2];

	maglev__frontend_info__init(&dns);
	maglev__list_frontends_response__init(&list);
	dns.name = S("dns");
	dns.address = S("2001:db8::53");
	dns.protocol = S("any");
	dns.state = S("unknown");
	dns.src_ip_sticky = true;
	frontends[0] = &dns;
	frontends[1] = testing_frontend();
	list.frontends = frontends;
	list.n_frontends = ARRAY_SIZE(frontends);
	return &list;
}

Maglev__BackendInfo *testing_backend(void)
{
	static Maglev__Transition up, down;
	static Maglev__Transition *transitions[] = { &up, &down };
	static Maglev__BackendInfo b;
	static char *frontends[2];

	maglev__transition__init(&up);
	maglev__transition__init(&down);
	maglev__backend_info__init(&b);
	frontends[0] = S("shop");
	frontends[1] = S("www");
	up.from = down.to = S("down");
	up.to = S("up");
	up.code = S("L7OK");
	up.at = AGO(192);
	down.from = S("unknown");
	down.code = S("L4CON");
	down.reason = S("connection refused");
	down.at = AGO(5400);
	b.name = S("web1");
	b.address = S("10.0.0.11");
	b.healthcheck = S("web");
	b.state = S("up");
	b.enabled = true;
	b.counter = 4;
	b.rise = 2;
	b.fall = 3;
	b.since = AGO(192);
	b.last_code = S("L7OK");
	b.last_probe = AGO(1);
	b.last_duration = 3141592;
	b.transitions = transitions;
	b.n_transitions = ARRAY_SIZE(transitions);
	b.frontends = frontends;
	b.n_frontends = ARRAY_SIZE(frontends);
	return &b;
}

Maglev__BackendInfo *testing_disabled(void)
{
	static Maglev__BackendInfo b;
	static char *frontends[1];

	maglev__backend_info__init(&b);
	frontends[0] = S("www");
	b.name = S("web2");
	b.address = S("10.0.0.12");
	b.healthcheck = S("web");
	b.state = S("disabled");
	b.rise = 2;
	b.fall = 3;
	b.since = AGO(600);
	b.last_code = S("L7STS");
	b.last_reason = S("status 503");
	b.last_probe = AGO(601);
	b.last_duration = 1000000;
	b.override = override();
	b.frontends = frontends;
	b.n_frontends = ARRAY_SIZE(frontends);
	return &b;
}

Maglev__ListBackendsResponse *testing_backends(void)
{
	static Maglev__BackendInfo alone;
	static Maglev__ListBackendsResponse list;
	static Maglev__BackendInfo *backends[3];

	maglev__backend_info__init(&alone);
	maglev__list_backends_response__init(&list);
	alone.name = S("spare");
	alone.address = S("2001:db8::99");
	alone.state = S("up");
	alone.enabled = true;
	alone.since = AGO(100000);
	backends[0] = &alone;
	backends[1] = testing_backend();
	backends[2] = testing_disabled();
	list.backends = backends;
	list.n_backends = ARRAY_SIZE(backends);
	return &list;
}

Maglev__HealthCheckInfo *testing_healthcheck(void)
{
	static Maglev__HealthCheckInfo h;
	static char *backends[2];

	maglev__health_check_info__init(&h);
	backends[0] = S("web1");
	backends[1] = S("web2");
	h.name = S("web");
	h.type = S("https");
	h.port = 443;
	h.interval = 2 * NSEC_PER_SEC;
	h.fast_interval = 500 * NSEC_PER_MSEC;
	h.down_interval = 90 * NSEC_PER_SEC;
	h.timeout = NSEC_PER_SEC;
	h.rise = 2;
	h.fall = 3;
	h.probe_ipv4_src = S("192.0.2.1");
	h.path = S("/healthz");
	h.response_code = S("200-299");
	h.response_regexp = S("^OK");
	h.server_name = S("www.example.net");
	h.backends = backends;
	h.n_backends = ARRAY_SIZE(backends);
	return &h;
}

Maglev__ListHealthChecksResponse *testing_healthchecks(void)
{
	static Maglev__HealthCheckInfo ping;
	static Maglev__ListHealthChecksResponse list;
	static Maglev__HealthCheckInfo *checks[2];

	maglev__health_check_info__init(&ping);
	maglev__list_health_checks_response__init(&list);
	ping.name = S("ping");
	ping.type = S("icmp");
	ping.interval = ping.fast_interval = ping.down_interval = 2 * NSEC_PER_SEC;
	ping.timeout = NSEC_PER_SEC;
	ping.rise = ping.fall = 1;
	checks[0] = &ping;
	checks[1] = testing_healthcheck();
	list.healthchecks = checks;
	list.n_healthchecks = ARRAY_SIZE(checks);
	return &list;
}

Maglev__VPPInfo *testing_vpp_info(void)
{
	static Maglev__VPPMessages weight;
	static Maglev__VPPMessages *messages[] = { &weight };
	static Maglev__VPPInfo v;

	maglev__vppinfo__init(&v);
	maglev__vppmessages__init(&weight);
	weight.name = S("lb_as_set_weight");
	weight.sent = 12;
	weight.receive_failures = 1;
	weight.received = 11;
	v.messages = messages;
	v.n_messages = ARRAY_SIZE(messages);
	v.connected = true;
	v.version = S("26.10-rc0");
	v.build_date = S("2026-04-01T00:00:00");
	v.build_directory = S("/build/vpp");
	v.pid = 4711;
	v.boottime_ns = AGO(90061);
	v.connecttime_ns = AGO(45);
	return &v;
}

static Maglev__VPPLBVIP *wanted_vip(void)
{
	static Maglev__VPPLBAS one, two;
	static Maglev__VPPLBAS *servers[] = { &one, &two };
	static Maglev__VPPLBVIP vip;

	maglev__vpplbas__init(&one);
	maglev__vpplbas__init(&two);
	maglev__vpplbvip__init(&vip);
	one.address = S("10.0.0.11");
	one.backend = S("web1");
	one.weight = one.wanted_weight = 100;
	one.buckets = 1024;
	one.flows = 17;
	one.present = one.wanted = true;
	two.address = S("10.0.0.12");
	two.backend = S("web2");
	two.wanted_weight = 50;
	two.wanted = true;
	vip.address = S("198.51.100.10");
	vip.protocol = S("tcp");
	vip.port = 80;
	vip.encap = S("gre4");
	vip.src_ip_sticky = true;
	vip.frontend = S("www");
	vip.present = vip.wanted = true;
	vip.application_servers = servers;
	vip.n_application_servers = ARRAY_SIZE(servers);
	return &vip;
}

static Maglev__VPPLBVIP *stale_vip(void)
{
	static Maglev__VPPLBVIP vip;

	maglev__vpplbvip__init(&vip);
	vip.address = S("2001:db8::80");
	vip.protocol = S("udp");
	vip.port = 443;
	vip.encap = S("gre6");
	vip.present = true;
	return &vip;
}

Maglev__VPPLBState *testing_lb_state(void)
{
	static Maglev__VPPLBState s;
	static Maglev__VPPLBVIP *vips[2];

	maglev__vpplbstate__init(&s);
	vips[0] = wanted_vip();
	vips[1] = stale_vip();
	s.dataplane = S("vpp");
	s.connected = true;
	s.status = S("connected");
	s.has_as_buckets = s.has_as_flows = true;
	s.counted = AGO(3);
	s.ipv4_src_address = S("192.0.2.1");
	s.sticky_buckets_per_core = 1024;
	s.flow_timeout = 40;
	s.warmup = S("done");
	s.last_full_sync = AGO(12);
	s.vips = vips;
	s.n_vips = ARRAY_SIZE(vips);
	return &s;
}

/* web1: a latency with a gap, no traffic that is known; it was down for a step. */
Maglev__HistoryResponse *testing_history(void)
{
	static float values[] = { 1.5e6F, 0, 2.5e6F };
	static Maglev__HistoryLine packets, latency;
	static Maglev__HistoryLine *lines[] = { &packets, &latency };
	static Maglev__HistoryState up, down;
	static Maglev__HistoryState *states[] = { &up, &down };
	static Maglev__HistorySeries web1;
	static Maglev__HistorySeries *backends[] = { &web1 };
	static Maglev__HistoryResponse all;

	maglev__history_line__init(&packets);
	maglev__history_line__init(&latency);
	maglev__history_state__init(&up);
	maglev__history_state__init(&down);
	maglev__history_series__init(&web1);
	maglev__history_response__init(&all);
	packets.name = S("packets");
	latency.name = S("latency");
	values[1] = NAN;
	latency.values = values;
	latency.n_values = ARRAY_SIZE(values);
	up.state = S("up");
	up.points = 7;
	down.state = S("down");
	down.points = 1;
	web1.name = S("web1");
	web1.lines = lines;
	web1.n_lines = ARRAY_SIZE(lines);
	web1.states = states;
	web1.n_states = ARRAY_SIZE(states);
	all.span = S("hour");
	all.step = 10 * NSEC_PER_SEC;
	all.newest = AGO(4);
	all.backends = backends;
	all.n_backends = 1;
	return &all;
}

Maglev__VPPLBCounters *testing_lb_counters(void)
{
	static Maglev__VPPLBASCounters as;
	static Maglev__VPPLBASCounters *servers[] = { &as };
	static Maglev__VPPLBVIPCounters vip;
	static Maglev__VPPLBVIPCounters *vips[] = { &vip };
	static Maglev__VPPLBServerCounters server;
	static Maglev__VPPLBServerCounters *servers_of_all[] = { &server };
	static Maglev__VPPLBEventCounter event;
	static Maglev__VPPLBEventCounter *events[] = { &event };
	static Maglev__VPPLBCounters all;
	static char *backends[2];

	maglev__vpplbascounters__init(&as);
	maglev__vpplbvipcounters__init(&vip);
	maglev__vpplbserver_counters__init(&server);
	maglev__vpplbevent_counter__init(&event);
	maglev__vpplbcounters__init(&all);
	as.address = S("10.0.0.11");
	as.backend = S("web1");
	as.packets = 1234567;
	as.bytes = UINT64_C(18446744073709551615);
	as.buckets = 1024;
	as.flows = 17;
	backends[0] = S("twin");
	backends[1] = S("web1");
	server.address = S("10.0.0.11");
	server.backends = backends;
	server.n_backends = ARRAY_SIZE(backends);
	server.packets = 1234570;
	server.bytes = 1400000000;
	event.name = S("too-big");
	event.packets = 3;
	vip.address = S("198.51.100.10");
	vip.protocol = S("tcp");
	vip.port = 80;
	vip.frontend = S("www");
	vip.first_packets = 12;
	vip.next_packets = 1234555;
	vip.bytes = 987654321;
	vip.application_servers = servers;
	vip.n_application_servers = ARRAY_SIZE(servers);
	all.dataplane = S("xdp");
	all.at = AGO(1);
	all.vips = vips;
	all.n_vips = ARRAY_SIZE(vips);
	all.servers = servers_of_all;
	all.n_servers = ARRAY_SIZE(servers_of_all);
	all.events = events;
	all.n_events = ARRAY_SIZE(events);
	all.has_vip_bytes = all.has_as_traffic = all.has_as_buckets = all.has_as_flows =
		all.has_server_traffic = true;
	return &all;
}

Maglev__SyncVPPLBStateResponse *testing_sync(void)
{
	static Maglev__SyncVPPLBStateResponse s;
	static char *operations[2], *withheld[1];

	maglev__sync_vpplbstate_response__init(&s);
	operations[0] = S("as-add 198.51.100.10:80/tcp 10.0.0.12 50");
	operations[1] = S("vip-remove [2001:db8::80]:443/udp");
	withheld[0] = S("dns: warm-up");
	s.dataplane = S("vpp");
	s.operations = operations;
	s.n_operations = ARRAY_SIZE(operations);
	s.withheld = withheld;
	s.n_withheld = ARRAY_SIZE(withheld);
	return &s;
}

static char *changes[2], *warnings[1];

Maglev__ActOnBackendsResponse *testing_many(void)
{
	static Maglev__BackendChange web1, web2, *backends[] = { &web1, &web2 };
	static Maglev__FrontendConsequence www, wiki, *frontends[] = { &www, &wiki };
	static Maglev__ActOnBackendsResponse m;

	maglev__backend_change__init(&web1);
	maglev__backend_change__init(&web2);
	maglev__frontend_consequence__init(&www);
	maglev__frontend_consequence__init(&wiki);
	maglev__act_on_backends_response__init(&m);
	web1.name = S("web1");
	web2.name = S("web2");
	web1.address = web2.address = S("10.0.0.11");
	web1.before = S("up");
	web2.before = S("down");
	web1.after = web2.after = S("paused");
	www.frontend = S("www");
	www.kind = S("down");
	www.pool_before = S("primary");
	www.servers_before = 1;
	www.members = 2;
	wiki.frontend = S("wiki");
	wiki.kind = S("failover");
	wiki.pool_before = S("primary");
	wiki.pool_after = S("spare");
	wiki.servers_before = 1;
	wiki.servers_after = wiki.members = 3;
	m.backends = backends;
	m.n_backends = 2;
	m.frontends = frontends;
	m.n_frontends = 2;
	m.unaffected = 3;
	m.dry_run = true;
	return &m;
}

Maglev__ListOverridesResponse *testing_overrides(void)
{
	static Maglev__Override paused, later, set;
	static Maglev__OverrideInfo web1, web2, weight, *all[] = { &web1, &web2, &weight };
	static Maglev__ListOverridesResponse list;

	maglev__override__init(&paused);
	maglev__override__init(&later);
	maglev__override__init(&set);
	maglev__override_info__init(&web1);
	maglev__override_info__init(&web2);
	maglev__override_info__init(&weight);
	maglev__list_overrides_response__init(&list);
	paused.act = later.act = S("paused");
	paused.at = AGO(60);
	paused.operator_ = S("alice");
	paused.operator_address = S("192.0.2.7");
	paused.reason = S("new disk");
	later.at = AGO(5);
	later.from = TESTING_NOW + 3000 * NSEC_PER_SEC;
	later.until = TESTING_NOW + 6600 * NSEC_PER_SEC;
	later.operator_address = S("192.0.2.7");
	set.act = S("weight");
	set.at = AGO(3600);
	web1.backend = weight.backend = S("web1");
	web2.backend = S("web2");
	weight.frontend = S("www");
	weight.pool = S("primary");
	weight.weight = 20;
	weight.configured_weight = 100;
	web1.override = &paused;
	web2.override = &later;
	weight.override = &set;
	list.overrides = all;
	list.n_overrides = 3;
	return &list;
}

Maglev__VersionInfo *testing_version(void)
{
	static Maglev__VersionInfo v;

	maglev__version_info__init(&v);
	v.program = S("maglevd");
	v.version = S("1.2.3");
	v.commit = S("abc");
	v.date = S("2026-04-01");
	v.started = AGO(3600);
	return &v;
}

Maglev__GetConfigResponse *testing_config(void)
{
	static char *pieces[] = { S("maglev:\n"), S("  dataplane: none\n") };
	static Maglev__GetConfigResponse c;

	maglev__get_config_response__init(&c);
	c.text = pieces;
	c.n_text = ARRAY_SIZE(pieces);
	c.generation = 2;
	return &c;
}

Maglev__CheckConfigResponse *testing_check(void)
{
	static Maglev__CheckConfigResponse m;

	maglev__check_config_response__init(&m);
	changes[0] = S("backend web1: address 10.0.0.1 -> 10.0.0.2");
	changes[1] = S("frontend dns: added");
	warnings[0] = S("maglev.yaml:3:5: weights sum above the table");
	m.ok = true;
	m.changes = changes;
	m.n_changes = ARRAY_SIZE(changes);
	m.warnings = warnings;
	m.n_warnings = ARRAY_SIZE(warnings);
	return &m;
}

Maglev__ReloadConfigResponse *testing_reload(void)
{
	static Maglev__ReloadConfigResponse m;

	maglev__reload_config_response__init(&m);
	testing_check();
	m.ok = true;
	m.changes = changes;
	m.n_changes = ARRAY_SIZE(changes);
	return &m;
}
