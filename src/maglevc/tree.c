/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: all commands. Parsing, help and completion walk this table. A new command needs a node
 * here and a row in action.c. Tables come before the nodes that refer to them, so the root is
 * last.
 */
#include "src/maglevc/command.h"

static const char *const frontend_states[] = { "up", "down", "unknown", NULL };
static const char *const backend_states[] = { "up", "down", "unknown", "paused", "disabled", NULL };
static const char *const vip_states[] = { "announced", "worse", "draining", "withdrawn", NULL };
static const char *const session_states[] = { "up", "down", NULL };
static const char *const levels[] = { "debug", "info", "warn", "error", NULL };

/* Macros because C has no way to put one constant into two static tables. */
#define BY_STATE(list)                                                                             \
	{                                                                                          \
		.word = "state", .help = "only those in that state", .children = list##_state      \
	}

#define BY_NAME(list)                                                                              \
	{                                                                                          \
		.word = "name", .help = "only those whose name matches", .children = list##_glob   \
	}

static const struct node frontend_state[] = {
	{ .word = "state",
	  .help = "which one",
	  .kind = NODE_CHOICE,
	  .choices = frontend_states,
	  .slot = SLOT_FILTER_STATE },
	{ 0 },
};

static const struct node frontend_glob[] = {
	{ .word = "glob", .help = "such as web*", .kind = NODE_FRONTEND, .slot = SLOT_FILTER_NAME },
	{ 0 },
};

static const struct node show_frontend[] = {
	{ .word = "name",
	  .help = "one frontend, its pools and backends",
	  .kind = NODE_FRONTEND,
	  .slot = SLOT_FRONTEND,
	  .act = ACT_FRONTEND,
	  .alone = true },
	BY_STATE(frontend),
	BY_NAME(frontend),
	{ 0 },
};

static const struct node backend_state[] = {
	{ .word = "state",
	  .help = "which one",
	  .kind = NODE_CHOICE,
	  .choices = backend_states,
	  .slot = SLOT_FILTER_STATE },
	{ 0 },
};

static const struct node backend_glob[] = {
	{ .word = "glob", .help = "such as web*", .kind = NODE_BACKEND, .slot = SLOT_FILTER_NAME },
	{ 0 },
};

static const struct node show_backend[] = {
	{ .word = "name",
	  .help = "one backend, its probes and transitions",
	  .kind = NODE_BACKEND,
	  .slot = SLOT_BACKEND,
	  .act = ACT_BACKEND,
	  .alone = true },
	BY_STATE(backend),
	BY_NAME(backend),
	{ 0 },
};

static const struct node show_override[] = { BY_NAME(backend), { 0 } };

static const struct node healthcheck_glob[] = {
	{ .word = "glob",
	  .help = "such as web*",
	  .kind = NODE_HEALTHCHECK,
	  .slot = SLOT_FILTER_NAME },
	{ 0 },
};

static const struct node show_healthcheck[] = {
	{ .word = "name",
	  .help = "one health check",
	  .kind = NODE_HEALTHCHECK,
	  .slot = SLOT_HEALTHCHECK,
	  .act = ACT_HEALTHCHECK,
	  .alone = true },
	BY_NAME(healthcheck),
	{ 0 },
};

static const struct node show_lb[] = {
	{ .word = "state",
	  .help = "what the data plane has, and should have",
	  .act = ACT_LB_STATE },
	{ .word = "counters",
	  .help = "packets and bytes of the data plane",
	  .act = ACT_LB_COUNTERS },
	{ 0 },
};

static const struct node history_frontend[] = {
	{ .word = "name", .help = "which one", .kind = NODE_FRONTEND, .slot = SLOT_FRONTEND },
	{ 0 },
};

static const struct node history_backend[] = {
	{ .word = "name", .help = "which one", .kind = NODE_BACKEND, .slot = SLOT_BACKEND },
	{ 0 },
};

static const struct node show_history[] = {
	{ .word = "frontend", .help = "traffic of a frontend", .children = history_frontend },
	{ .word = "backend",
	  .help = "traffic, probes and states of a backend",
	  .children = history_backend },
	{ .word = "day", .help = "of the last day; the last hour without it", .slot = SLOT_DAY },
	{ 0 },
};

static const struct node show_vpp[] = {
	{ .word = "info",
	  .help = "version and age of the VPP we are connected to",
	  .act = ACT_VPP_INFO },
	{ .word = "lb", .help = "the same as show lb", .children = show_lb },
	{ 0 },
};

static const struct node vip_state[] = {
	{ .word = "state",
	  .help = "which one",
	  .kind = NODE_CHOICE,
	  .choices = vip_states,
	  .slot = SLOT_FILTER_STATE },
	{ 0 },
};

static const struct node vip_glob[] = {
	{ .word = "glob", .help = "such as web*", .kind = NODE_VIP, .slot = SLOT_FILTER_NAME },
	{ 0 },
};

static const struct node show_announcement[] = {
	{ .word = "name",
	  .help = "one VIP, and why it is announced or not",
	  .kind = NODE_VIP,
	  .slot = SLOT_VIP,
	  .act = ACT_ANNOUNCEMENT,
	  .alone = true },
	BY_STATE(vip),
	BY_NAME(vip),
	{ 0 },
};

static const struct node route_glob[] = {
	{ .word = "glob", .help = "such as web*", .kind = NODE_ROUTE, .slot = SLOT_FILTER_NAME },
	{ 0 },
};

static const struct node show_route[] = {
	{ .word = "name",
	  .help = "one route: its rules, and where they lead",
	  .kind = NODE_ROUTE,
	  .slot = SLOT_ROUTE,
	  .act = ACT_ROUTE,
	  .alone = true },
	BY_NAME(route),
	{ 0 },
};

static const struct node router_pool_glob[] = {
	{ .word = "glob",
	  .help = "such as web*",
	  .kind = NODE_ROUTER_POOL,
	  .slot = SLOT_FILTER_NAME },
	{ 0 },
};

static const struct node show_pool[] = {
	{ .word = "name",
	  .help = "one pool and its servers",
	  .kind = NODE_ROUTER_POOL,
	  .slot = SLOT_ROUTER_POOL,
	  .act = ACT_ROUTER_POOL,
	  .alone = true },
	BY_NAME(router_pool),
	{ 0 },
};

static const struct node session_state[] = {
	{ .word = "state",
	  .help = "which one",
	  .kind = NODE_CHOICE,
	  .choices = session_states,
	  .slot = SLOT_FILTER_STATE },
	{ 0 },
};

static const struct node any_glob[] = {
	{ .word = "glob", .help = "such as web*", .kind = NODE_TEXT, .slot = SLOT_FILTER_NAME },
	{ 0 },
};

static const struct node show_session[] = {
	BY_STATE(session),
	BY_NAME(any),
	{ 0 },
};

static const struct node show_any[] = { BY_NAME(any), { 0 } };

static const struct node show_generation[] = {
	{ .word = "number",
	  .help = "what one of them has changed",
	  .kind = NODE_NUMBER,
	  .min = 1,
	  .max = UINT64_MAX,
	  .slot = SLOT_GENERATION,
	  .act = ACT_GENERATION },
	{ 0 },
};

static const struct node header_text[] = {
	{ .word = "text", .help = "\"Name: value\"", .kind = NODE_TEXT, .slot = SLOT_HEADER },
	{ 0 },
};

static const struct node listener_name[] = {
	{ .word = "name", .help = "its name", .kind = NODE_TEXT, .slot = SLOT_LISTENER },
	{ 0 },
};

static const struct node route_for_options[] = {
	{ .word = "header", .help = "a header of the request", .children = header_text },
	{ .word = "listener", .help = "the listener that it comes to", .children = listener_name },
	{ 0 },
};

static const struct node method_name[] = {
	{ .word = "method", .help = "such as POST", .kind = NODE_TEXT, .slot = SLOT_METHOD },
	{ 0 },
};

static const struct node explain_options[] = {
	{ .word = "method", .help = "of the request; GET without it", .children = method_name },
	{ .word = "header", .help = "a header of the request", .children = header_text },
	{ .word = "listener", .help = "the listener that it comes to", .children = listener_name },
	{ 0 },
};

static const struct node explain[] = {
	{ .word = "VIP|HOST/PATH|name",
	  .help = "the way of a packet, and where it is broken",
	  .kind = NODE_TEXT,
	  .slot = SLOT_WAY,
	  .act = ACT_EXPLAIN,
	  .children = explain_options,
	  .options = true },
	{ 0 },
};

static const struct node route_for_path[] = {
	{ .word = "path",
	  .help = "where a request would go, and why",
	  .kind = NODE_TEXT,
	  .slot = SLOT_PATH,
	  .act = ACT_ROUTE_FOR,
	  .children = route_for_options,
	  .options = true },
	{ 0 },
};

static const struct node route_for_host[] = {
	{ .word = "host",
	  .help = "such as www.example.com",
	  .kind = NODE_TEXT,
	  .slot = SLOT_HOST,
	  .children = route_for_path },
	{ 0 },
};

static const struct node route_for_method[] = {
	{ .word = "method",
	  .help = "such as GET",
	  .kind = NODE_TEXT,
	  .slot = SLOT_METHOD,
	  .children = route_for_host },
	{ 0 },
};

static const struct node show[] = {
	{ .word = "version", .help = "versions of maglevc and of the servers", .act = ACT_VERSION },
	{ .word = "frontends",
	  .help = "all frontends",
	  .act = ACT_FRONTENDS,
	  .children = show_frontend,
	  .options = true },
	{ .word = "backends",
	  .help = "all backends",
	  .act = ACT_BACKENDS,
	  .children = show_backend,
	  .options = true },
	{ .word = "healthchecks",
	  .help = "all health checks",
	  .act = ACT_HEALTHCHECKS,
	  .children = show_healthcheck,
	  .options = true },
	{ .word = "config",
	  .help = "the configuration in force, with all defaults",
	  .act = ACT_CONFIG },
	{ .word = "overrides",
	  .help = "what operators have set at run time, and who",
	  .act = ACT_OVERRIDES,
	  .children = show_override,
	  .options = true },
	{ .word = "lb", .help = "the data plane", .children = show_lb },
	{ .word = "vpp", .help = "VPP", .children = show_vpp },
	{ .word = "history",
	  .help = "what maglevd has recorded of a frontend or backend",
	  .act = ACT_HISTORY,
	  .children = show_history,
	  .options = true },
	{ .word = "announcements",
	  .help = "VIPs of the speaker",
	  .act = ACT_ANNOUNCEMENTS,
	  .children = show_announcement,
	  .options = true },
	{ .word = "sessions",
	  .help = "BGP and BFD sessions of the speaker",
	  .act = ACT_SESSIONS,
	  .children = show_session,
	  .options = true },
	{ .word = "speaker", .help = "the speaker, its maglevds and FRR", .act = ACT_SPEAKER },
	{ .word = "router", .help = "the router: figures, configuration", .act = ACT_ROUTER },
	{ .word = "listeners",
	  .help = "listeners of the router",
	  .act = ACT_LISTENERS,
	  .children = show_any,
	  .options = true },
	{ .word = "routes",
	  .help = "routes of the router, with rates",
	  .act = ACT_ROUTES,
	  .children = show_route,
	  .options = true },
	{ .word = "streams",
	  .help = "streams of the router, with figures",
	  .act = ACT_STREAMS,
	  .children = show_any,
	  .options = true },
	{ .word = "pools",
	  .help = "pools of the router, with rates",
	  .act = ACT_POOLS,
	  .children = show_pool,
	  .options = true },
	{ .word = "generations",
	  .help = "the last configurations of the router",
	  .act = ACT_GENERATIONS,
	  .children = show_generation },
	{ .word = "route-for",
	  .help = "the way of a request through the router",
	  .children = route_for_method },
	{ 0 },
};

static const struct node reason_text[] = {
	{ .word = "text",
	  .help = "one word, or many in quotes",
	  .kind = NODE_TEXT,
	  .slot = SLOT_REASON },
	{ 0 },
};

static const struct node for_duration[] = {
	{ .word = "duration",
	  .help = "such as 90s, 1h30m",
	  .kind = NODE_DURATION,
	  .slot = SLOT_FOR },
	{ 0 },
};

static const struct node until_time[] = {
	{ .word = "time",
	  .help = "such as 22:00, 2026-04-15T22:00",
	  .kind = NODE_TIME,
	  .slot = SLOT_UNTIL },
	{ 0 },
};

static const struct node from_time[] = {
	{ .word = "time",
	  .help = "such as 22:00, 2026-04-15T22:00",
	  .kind = NODE_TIME,
	  .slot = SLOT_FROM },
	{ 0 },
};

static const struct node wait_time[] = {
	{ .word = "duration",
	  .help = "at most that long; 5m without it",
	  .kind = NODE_DURATION,
	  .slot = SLOT_WAIT_TIME },
	{ 0 },
};

#define REASON                                                                                     \
	{                                                                                          \
		.word = "reason", .help = "why, shown to everybody", .children = reason_text       \
	}

#define FOR                                                                                        \
	{                                                                                          \
		.word = "for", .help = "undone by itself after that time",                         \
		.children = for_duration                                                           \
	}

#define UNTIL                                                                                      \
	{                                                                                          \
		.word = "until", .help = "undone by itself at that time", .children = until_time   \
	}

#define FROM                                                                                       \
	{                                                                                          \
		.word = "from", .help = "begins by itself at that time", .children = from_time     \
	}

/* A resume has no end, so it takes a reason only. */
static const struct node reason_only[] = { REASON, { 0 } };

static const struct node reason_and_time[] = { REASON, FOR, UNTIL, { 0 } };

#define WAIT                                                                                       \
	{                                                                                          \
		.word = "wait", .help = "return when it is drained", .slot = SLOT_WAIT,            \
		.children = wait_time, .options = true                                             \
	}

static const struct node reason_time_and_wait[] = { REASON, FOR, UNTIL, WAIT, { 0 } };

static const struct node pause_options[] = { REASON, FROM, FOR, UNTIL, WAIT, { 0 } };

static const struct node backend_acts[] = {
	{ .word = "pause",
	  .help = "no probes, no new flows; flows stay",
	  .act = ACT_PAUSE,
	  .children = pause_options,
	  .options = true },
	{ .word = "resume",
	  .help = "end a pause: probe again",
	  .act = ACT_RESUME,
	  .children = reason_only,
	  .options = true },
	{ .word = "enable",
	  .help = "use it, whatever the file says",
	  .act = ACT_ENABLE,
	  .children = reason_and_time,
	  .options = true },
	{ .word = "disable",
	  .help = "take it out and tear its flows down",
	  .act = ACT_DISABLE,
	  .children = reason_time_and_wait,
	  .options = true },
	{ 0 },
};

static const struct node set_backend[] = {
	{ .word = "name",
	  .help = "which backend",
	  .kind = NODE_BACKEND,
	  .slot = SLOT_BACKEND,
	  .children = backend_acts },
	{ 0 },
};

#define PLAN                                                                                       \
	{                                                                                          \
		.word = "plan", .help = "only show what would be done", .slot = SLOT_PLAN          \
	}

static const struct node pause_many_options[] = { REASON, FROM, FOR, UNTIL, PLAN, { 0 } };

static const struct node many_options[] = { REASON, FOR, UNTIL, PLAN, { 0 } };

static const struct node resume_many_options[] = { REASON, PLAN, { 0 } };

/* The same acts on several backends at once. */
static const struct node many_acts[] = {
	{ .word = "pause",
	  .help = "no probes, no new flows; flows stay",
	  .slot = SLOT_ACT,
	  .act = ACT_MANY,
	  .children = pause_many_options,
	  .options = true },
	{ .word = "resume",
	  .help = "end pauses: probe again",
	  .slot = SLOT_ACT,
	  .act = ACT_MANY,
	  .children = resume_many_options,
	  .options = true },
	{ .word = "enable",
	  .help = "use them, whatever the file says",
	  .slot = SLOT_ACT,
	  .act = ACT_MANY,
	  .children = many_options,
	  .options = true },
	{ .word = "disable",
	  .help = "take them out and tear their flows down",
	  .slot = SLOT_ACT,
	  .act = ACT_MANY,
	  .children = many_options,
	  .options = true },
	{ 0 },
};

static const struct node many_address[] = {
	{ .word = "address",
	  .help = "of the host, such as 10.0.0.11",
	  .kind = NODE_ADDRESS,
	  .slot = SLOT_ADDRESS,
	  .children = many_acts },
	{ 0 },
};

static const struct node set_backends[] = {
	{ .word = "address", .help = "all backends of a host", .children = many_address },
	{ .word = "glob",
	  .help = "all whose name matches, such as web*",
	  .kind = NODE_BACKEND,
	  .slot = SLOT_NAMES,
	  .children = many_acts },
	{ 0 },
};

static const struct node weight_options[] = {
	REASON,
	{ .word = "flush", .help = "tear the flows of the backend down", .slot = SLOT_FLUSH },
	{ 0 },
};

static const struct node weight_value[] = {
	{ .word = "0-100",
	  .help = "set the weight of a backend in a pool",
	  .kind = NODE_NUMBER,
	  .min = 0,
	  .max = 100,
	  .slot = SLOT_WEIGHT,
	  .act = ACT_WEIGHT,
	  .children = weight_options,
	  .options = true },
	{ 0 },
};

static const struct node weight[] = {
	{ .word = "weight", .help = "its weight there", .children = weight_value },
	{ 0 },
};

static const struct node member_name[] = {
	{ .word = "name",
	  .help = "which backend",
	  .kind = NODE_BACKEND,
	  .slot = SLOT_BACKEND,
	  .children = weight },
	{ 0 },
};

static const struct node member[] = {
	{ .word = "backend", .help = "a backend of the pool", .children = member_name },
	{ 0 },
};

static const struct node pool_name[] = {
	{ .word = "pool",
	  .help = "which pool",
	  .kind = NODE_POOL,
	  .slot = SLOT_POOL,
	  .children = member },
	{ 0 },
};

static const struct node pool[] = {
	{ .word = "pool", .help = "a pool of the frontend", .children = pool_name },
	{ 0 },
};

static const struct node set_frontend[] = {
	{ .word = "name",
	  .help = "which frontend",
	  .kind = NODE_FRONTEND,
	  .slot = SLOT_FRONTEND,
	  .children = pool },
	{ 0 },
};

static const struct node reason_and_wait[] = {
	REASON,
	{ .word = "wait",
	  .help = "return when it is withdrawn",
	  .slot = SLOT_WAIT,
	  .children = wait_time,
	  .options = true },
	{ 0 },
};

static const struct node vip_acts[] = {
	{ .word = "drain",
	  .help = "announce graceful shutdown, then withdraw",
	  .act = ACT_DRAIN,
	  .children = reason_and_wait,
	  .options = true },
	{ .word = "undrain", .help = "end a drain: announce it again", .act = ACT_UNDRAIN },
	{ 0 },
};

static const struct node set_vip[] = {
	{ .word = "name",
	  .help = "which VIP",
	  .kind = NODE_VIP,
	  .slot = SLOT_VIP,
	  .children = vip_acts },
	{ 0 },
};

static const struct node set[] = {
	{ .word = "backend", .help = "the state of a backend", .children = set_backend },
	{ .word = "backends", .help = "the state of several backends", .children = set_backends },
	{ .word = "frontend", .help = "the weights of a frontend", .children = set_frontend },
	{ .word = "vip", .help = "the drain of a VIP of the speaker", .children = set_vip },
	{ 0 },
};

static const struct node count_value[] = {
	{ .word = "n",
	  .help = "how many",
	  .kind = NODE_NUMBER,
	  .min = 1,
	  .max = UINT32_MAX,
	  .slot = SLOT_COUNT },
	{ 0 },
};

static const struct node level_value[] = {
	{ .word = "level",
	  .help = "debug, info, warn or error",
	  .kind = NODE_CHOICE,
	  .choices = levels,
	  .slot = SLOT_LEVEL },
	{ 0 },
};

static const struct node log_options[] = {
	{ .word = "level", .help = "debug, info, warn or error, and up", .children = level_value },
	{ 0 },
};

/* Topics may be combined. "log" has options of its own, which form an inner group. */
static const struct node watch_options[] = {
	{ .word = "num", .help = "end after that many events", .children = count_value },
	{ .word = "log",
	  .help = "lines of the log (from info up)",
	  .slot = SLOT_LOG,
	  .children = log_options,
	  .options = true },
	{ .word = "backend", .help = "transitions of backends", .slot = SLOT_WATCH_BACKEND },
	{ .word = "frontend", .help = "transitions of frontends", .slot = SLOT_WATCH_FRONTEND },
	{ .word = "config", .help = "files taken and refused", .slot = SLOT_WATCH_CONFIG },
	{ .word = "dataplane",
	  .help = "connections, syncs and problems",
	  .slot = SLOT_WATCH_DATAPLANE },
	{ .word = "info", .help = "all about what changed", .slot = SLOT_WATCH_INFO },
	{ .word = "probes", .help = "results, once a second", .slot = SLOT_WATCH_PROBES },
	{ 0 },
};

static const struct node watch_speaker_options[] = {
	{ .word = "num", .help = "end after that many events", .children = count_value },
	{ 0 },
};

static const struct node watch_router_options[] = {
	{ .word = "num", .help = "end after that many events", .children = count_value },
	{ .word = "rates", .help = "figures, too, once a second", .slot = SLOT_RATES },
	{ 0 },
};

static const struct node watch[] = {
	{ .word = "events",
	  .help = "states, then what happens",
	  .act = ACT_WATCH,
	  .children = watch_options,
	  .options = true },
	{ .word = "announcements",
	  .help = "VIPs and sessions of the speaker",
	  .act = ACT_WATCH_SPEAKER,
	  .children = watch_speaker_options,
	  .options = true },
	{ .word = "router",
	  .help = "listeners, routes and pools of the router",
	  .act = ACT_WATCH_ROUTER,
	  .children = watch_router_options,
	  .options = true },
	{ 0 },
};

static const struct node config[] = {
	{ .word = "check",
	  .help = "is the file good, what would a reload change",
	  .act = ACT_CONFIG_CHECK },
	{ .word = "reload",
	  .help = "have the server read its file again",
	  .act = ACT_CONFIG_RELOAD },
	{ 0 },
};

static const struct node sync_options[] = {
	{ .word = "frontend",
	  .help = "only this one",
	  .kind = NODE_FRONTEND,
	  .slot = SLOT_FRONTEND },
	PLAN,
	{ 0 },
};

static const struct node sync_lb[] = {
	{ .word = "state",
	  .help = "make the data plane what it should be, now",
	  .act = ACT_SYNC,
	  .children = sync_options,
	  .options = true },
	{ 0 },
};

static const struct node sync_vpp[] = {
	{ .word = "lb", .help = "the same as sync lb", .children = sync_lb },
	{ 0 },
};

static const struct node sync_what[] = {
	{ .word = "lb", .help = "the data plane", .children = sync_lb },
	{ .word = "vpp", .help = "VPP", .children = sync_vpp },
	{ 0 },
};

static const struct node rollback_number[] = {
	{ .word = "number",
	  .help = "which one; without it the one before",
	  .kind = NODE_NUMBER,
	  .min = 1,
	  .max = UINT64_MAX,
	  .slot = SLOT_GENERATION },
	{ 0 },
};

static const struct node rollback_options[] = {
	{ .word = "to", .help = "an earlier generation", .children = rollback_number },
	{ 0 },
};

static const struct node rollback[] = {
	{ .word = "router",
	  .help = "apply an earlier configuration of the router again",
	  .act = ACT_ROLLBACK,
	  .children = rollback_options,
	  .options = true },
	{ 0 },
};

static const struct node help_words[] = {
	{ .word = "command", .help = "the words of one", .kind = NODE_REST },
	{ 0 },
};

/*
 * An abbreviation is unique only among its siblings: a new word here can make the short forms of
 * the others longer.
 */
const struct node command_tree[] = {
	{ .word = "show", .help = "show states, settings and counters", .children = show },
	{ .word = "set", .help = "change states, weights and drains", .children = set },
	{ .word = "watch", .help = "follow events", .children = watch },
	{ .word = "explain", .help = "the way of a packet", .children = explain },
	{ .word = "config", .help = "the server's configuration file", .children = config },
	{ .word = "sync", .help = "write the data plane", .children = sync_what },
	{ .word = "rollback", .help = "return to an earlier configuration", .children = rollback },
	{ .word = "help",
	  .help = "what can be said",
	  .act = ACT_HELP,
	  .children = help_words,
	  .options = true },
	{ .word = "exit", .help = "leave the shell", .act = ACT_EXIT, .shell_only = true },
	{ .word = "quit", .help = "leave the shell", .act = ACT_EXIT, .shell_only = true },
	{ 0 },
};
