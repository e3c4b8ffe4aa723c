// SPDX-License-Identifier: Apache-2.0
// The messages of maglevd-frontend. Those of proto/maglev.proto keep their field names; 64-bit numbers are
// text, absent messages are left out. Only fields that are shown are declared.

export type Int64 = string | number;

/** The later fields are absent if maglevd is older than they are. */
export interface Override {
	act: string;
	reason: string;
	at: Int64;
	until: Int64;
	/** For people, complete: "alice", "alice via dash"; empty: nobody said. */
	operator?: string;
	operator_address?: string;
	/** Of a scheduled one: when it begins; 0: it is in force. */
	from?: Int64;
	/** It survives a restart of maglevd. */
	kept?: boolean;
}

export interface PoolBackend {
	name: string;
	weight: number;
	effective_weight: number;
	configured_weight: number;
	state: string;
	mutated: boolean;
	override?: Override;
	/** Present if the weight was set at run time, if maglevd names the operator. */
	weight_override?: Override;
}

export interface Pool {
	name: string;
	backends: PoolBackend[];
	active: boolean;
}

export interface Frontend {
	name: string;
	address: string;
	protocol: string;
	port: number;
	pools: Pool[];
	description: string;
	src_ip_sticky: boolean;
	flush_on_down: boolean;
	state: string;
	since: Int64;
	active_pool: string;
	released: boolean;
	/** Not in the message: the last known state of a frontend whose state is not known now. */
	was?: string;
}

export interface Transition {
	from: string;
	to: string;
	code: string;
	at: Int64;
	/** Absent from a maglevd that does not keep it; then it is added from events. */
	reason?: string;
	operator?: string;
	operator_address?: string;
}

export interface Backend {
	name: string;
	address: string;
	healthcheck: string;
	state: string;
	enabled: boolean;
	counter: number;
	rise: number;
	fall: number;
	since: Int64;
	last_code: string;
	last_reason: string;
	transitions: Transition[];
	frontends: string[];
	override?: Override;
	/** A pause that begins later; absent: none. */
	scheduled?: Override;
	/** Whether acts on this maglevd survive its restart; absent if it is older than the field. */
	overrides_kept?: boolean;
	last_probe: Int64;
	last_duration: Int64;
	/** Not in the message, as that of a frontend. */
	was?: string;
}

export interface HealthCheck {
	name: string;
	type: string;
	port: number;
	interval: Int64;
	fast_interval: Int64;
	down_interval: Int64;
	timeout: Int64;
	rise: number;
	fall: number;
	path: string;
	host: string;
	response_code: string;
	response_regexp: string;
	server_name: string;
	keep_alive: boolean;
	backends: string[];
}

export interface VppMessages {
	name: string;
	sent: Int64;
	send_failures: Int64;
	received: Int64;
	receive_failures: Int64;
}

export interface VppInfo {
	version: string;
	build_date: string;
	pid: number;
	boottime_ns: Int64;
	connecttime_ns: Int64;
	problem: string;
	connected: boolean;
	messages: VppMessages[];
}

export interface LbServer {
	address: string;
	weight: number;
	wanted_weight: number;
	buckets: number;
	flows: Int64;
	backend: string;
	present: boolean;
	wanted: boolean;
	/** Absent if maglevd is older than the field, as the fields below of LbState. */
	drained?: boolean;
}

export interface LbInterface {
	name: string;
	attached: boolean;
	mode: string;
	problem: string;
}

export interface LbVip {
	address: string;
	protocol: string;
	port: number;
	encap: string;
	src_ip_sticky: boolean;
	application_servers: LbServer[];
	frontend: string;
	present: boolean;
	wanted: boolean;
}

export interface LbState {
	dataplane: string;
	connected: boolean;
	ipv4_src_address: string;
	ipv6_src_address: string;
	sticky_buckets_per_core: number;
	flow_timeout: number;
	vips: LbVip[];
	held: boolean;
	warmup: string;
	last_full_sync: Int64;
	problem: string;
	as_of: Int64;
	/** connected, degraded, disconnected. */
	status?: string;
	interfaces?: LbInterface[];
}

export interface ServerCounters {
	address: string;
	backends: string[];
	packets: Int64;
	bytes: Int64;
}

export interface BackendCounters {
	address: string;
	backend: string;
	packets: Int64;
	bytes: Int64;
	buckets: number;
	flows: number;
}

export interface VipCounters {
	address: string;
	protocol: string;
	port: number;
	frontend: string;
	next_packets: Int64;
	first_packets: Int64;
	untracked_packets: Int64;
	no_server_packets: Int64;
	bytes: Int64;
	application_servers: BackendCounters[];
	buckets: number;
}

export interface Counters {
	dataplane: string;
	at: Int64;
	vips: VipCounters[];
	has_vip_bytes: boolean;
	has_as_traffic: boolean;
	has_as_buckets: boolean;
	has_as_flows: boolean;
	has_server_traffic: boolean;
	servers: ServerCounters[];
	events: { name: string; packets: Int64 }[];
}

export interface Server {
	name: string;
	address: string;
	connected: boolean;
	error: string;
	since_ns: Int64;
	refreshed_at_ns: Int64;
	frontends: Frontend[];
	backends: Backend[];
	healthchecks: HealthCheck[];
	vpp: VppInfo | null;
	lb: LbState | null;
	lb_error: string;
	counters: Counters | null;
}

/** What the speaker knows of a frontend that a VIP follows. */
export interface AnnouncementSource {
	maglevd: string;
	frontend: string;
	reachable: boolean;
	known: boolean;
	up: boolean;
	servers: number;
}

export interface L2Member {
	name: string;
	priority: number;
	owner: boolean;
	seen: Int64;
}

export interface AnnouncementL2 {
	group: string;
	interface: string;
	/** owner, backup, leaving; empty: the interface cannot be used. */
	state: string;
	reason: string;
	since: Int64;
	owner: string;
	priority: number;
	members: L2Member[];
	problem: string;
}

/** One VIP of one speaker. */
export interface Announcement {
	vip: string;
	address: string;
	/** announced, worse, draining, withdrawn; unknown without contact to the speaker. */
	state: string;
	reason: string;
	culprit: string;
	since: Int64;
	drained: boolean;
	drain_reason: string;
	drained_at: Int64;
	frontends: AnnouncementSource[];
	bgp?: { prefix: string; advertisement: string; peers: string[]; established: string[] };
	l2?: AnnouncementL2;
	attracts: boolean;
	summary: string;
	/** Not in the message, as that of a frontend. */
	was?: string;
}

export interface Session {
	peer: string;
	address: string;
	vrf: string;
	asn: string;
	up: boolean;
	state: string;
	since: Int64;
	prefixes_sent: Int64;
	bfd: string;
	last_error: string;
	/** Not in the message, as that of a frontend. */
	was?: string;
}

export interface SpeakerInfo {
	name: string;
	version: string;
	started: Int64;
	problem: string;
	maglevds: { name: string; address: string; connected: boolean; error: string }[];
	bgp: boolean;
	frr?: { current: boolean; applies: Int64; failures: Int64; last_error: string; last_at: Int64 };
	generation: Int64;
	loaded: Int64;
	config_error: string;
}

export interface Speaker {
	name: string;
	address: string;
	connected: boolean;
	error: string;
	since_ns: Int64;
	refreshed_at_ns: Int64;
	info: SpeakerInfo | null;
	announcements: Announcement[];
	sessions: Session[];
}

/** What passed through a route, pool or server, or the whole router; rates are of the last seconds. */
export interface Traffic {
	requests: Int64;
	errors: Int64;
	rate: number;
	error_share: number;
	p50: Int64;
	p99: Int64;
	retries: Int64;
	aborts: Int64;
	answers: Int64[];
}

export interface RouterServer {
	host: string;
	port: number;
	/** up, down, unknown, ejected, draining. */
	state: string;
	since: Int64;
	reason: string;
	weight: number;
	share: number;
	/** Of a host that is a name. */
	addresses: string[];
	load?: { active: number; connections: number; kept: number };
	traffic?: Traffic;
	/** Not in the message, as that of a frontend. */
	was?: string;
}

export interface RouterPool {
	name: string;
	position: number;
	balance: string;
	probed: boolean;
	servers: RouterServer[];
	usable: number;
	routes: string[];
	traffic?: Traffic;
}

export interface RouterBackend {
	/** Empty: invalid, its share is answered with 500. */
	pool: string;
	weight: number;
	share: number;
	servers: number;
	usable: number;
}

export interface RouterRule {
	name: string;
	matches: string[];
	backends: RouterBackend[];
	redirect: string;
	filters: string[];
}

export interface RouterRoute {
	name: string;
	position: number;
	fallback: boolean;
	hosts: string[];
	listeners: string[];
	rules: RouterRule[];
	traffic?: Traffic;
}

export interface RouterListener {
	name: string;
	address: string;
	host: string;
	routes: number;
}

export interface RouterGeneration {
	number: Int64;
	at: Int64;
	source: string;
	listeners: number;
	routes: number;
	pools: number;
	in_force: boolean;
	added: number;
	removed: number;
	changed: number;
	compared: boolean;
	held: boolean;
	peer: string;
	of: Int64;
}

export interface RouterInfo {
	name: string;
	version: string;
	started: Int64;
	threads: number;
	generation: Int64;
	source: string;
	loaded: Int64;
	config_error: string;
	draining: boolean;
	problem: string;
	routes: number;
	pools: number;
	listeners: number;
	generations_held: number;
	clients: Int64;
	server_connections: Int64;
	traffic?: Traffic;
	rollout: string;
}

export interface Router {
	name: string;
	address: string;
	connected: boolean;
	error: string;
	since_ns: Int64;
	refreshed_at_ns: Int64;
	info: RouterInfo | null;
	listeners: RouterListener[];
	routes: RouterRoute[];
	pools: RouterPool[];
	/** The newest first. */
	generations: { generations: RouterGeneration[] } | null;
}

export interface GenerationDiff {
	number: Int64;
	from: Int64;
	changes: { kind: string; name: string; change: string; before: string; after: string }[];
	left_out: number;
}

export interface Snapshot {
	epoch: Int64;
	seq: Int64;
	servers: Server[];
	/** Absent if maglevd-frontend is older than the field. */
	speakers?: Speaker[];
	/** The same. */
	routers?: Router[];
}

export interface LogPayload {
	level: string;
	msg: string;
	attrs: Record<string, string>;
}

export interface BackendPayload {
	backend: string;
	frontend: string;
	from: string;
	to: string;
	code: string;
	replay: boolean;
	reason: string;
}

export interface FrontendPayload {
	frontend: string;
	from: string;
	to: string;
	replay: boolean;
}

export interface ConfigPayload {
	generation: Int64;
	ok: boolean;
	error: string;
}

export interface DataplanePayload {
	dataplane: string;
	change: string;
	reason: string;
	connected: boolean;
	status?: string;
	problem: string;
	warmup: string;
	held: boolean;
	last_full_sync: Int64;
}

interface Envelope<T extends string, P> {
	server: string;
	type: T;
	at_ns: Int64;
	payload: P;
}

/**
 * A changed item of a list: its first field, which names it, and the fields that differ; null: the field was
 * removed. The same item may occur twice; the later one counts.
 */
export type Changed<T, Key extends keyof T = 'name' & keyof T> = Pick<T, Key> & {
	[K in keyof T]?: T[K] | null;
};

export interface Update {
	frontends?: Changed<Frontend>[];
	backends?: Changed<Backend>[];
	healthchecks?: Changed<HealthCheck>[];
	vpp?: VppInfo | null;
}

export interface SpeakerUpdate {
	announcements?: Changed<Announcement, 'vip'>[];
	sessions?: Changed<Session, 'peer'>[];
	info?: SpeakerInfo | null;
}

interface SpeakerEnvelope<T extends string, P> {
	speaker: string;
	type: T;
	at_ns: Int64;
	payload: P;
}

export type SpeakerEvent =
	| SpeakerEnvelope<'speaker', Pick<Speaker, 'connected' | 'error' | 'since_ns'>>
	| SpeakerEnvelope<'refresh', Partial<Speaker>>
	| SpeakerEnvelope<'update', SpeakerUpdate>;

export interface RouterUpdate {
	listeners?: Changed<RouterListener>[];
	routes?: Changed<RouterRoute>[];
	pools?: Changed<RouterPool>[];
	info?: RouterInfo | null;
	generations?: Router['generations'];
}

interface RouterEnvelope<T extends string, P> {
	router: string;
	type: T;
	at_ns: Int64;
	payload: P;
}

export type RouterEvent =
	| RouterEnvelope<'router', Pick<Router, 'connected' | 'error' | 'since_ns'>>
	| RouterEnvelope<'refresh', Partial<Router>>
	| RouterEnvelope<'update', RouterUpdate>;

export type StreamEvent = ServerEvent | SpeakerEvent | RouterEvent;

export type ServerEvent =
	| Envelope<'log', LogPayload>
	| Envelope<'backend', BackendPayload>
	| Envelope<'frontend', FrontendPayload>
	| Envelope<'config', ConfigPayload>
	| Envelope<'dataplane', DataplanePayload>
	| Envelope<'server', Pick<Server, 'connected' | 'error' | 'since_ns'>>
	| Envelope<'refresh', Partial<Server>>
	| Envelope<'update', Update>
	| Envelope<'lb', Pick<Server, 'lb' | 'lb_error'>>
	| Envelope<'counters', Counters | null>
	| Envelope<'resync', Record<string, never>>;

export interface CheckAnswer {
	ok: boolean;
	parse_error: string;
	semantic_error: string;
	reload_error?: string;
	warnings: string[];
	changes: string[];
}

export interface SyncAnswer {
	dataplane: string;
	operations: string[];
	withheld: string[];
}

/** The past, as maglevd has recorded it: see GetHistory in proto/maglev.proto. */
export interface History {
	span: string;
	step: Int64;
	newest: Int64;
	frontends: HistorySeries[];
	backends: HistorySeries[];
}

export interface HistorySeries {
	name: string;
	/** Ends with the newest point; "NaN" is a gap. */
	lines: { name: string; values: (number | 'NaN')[] }[];
	states: { state: string; points: number }[];
}

export interface BackendChange {
	name: string;
	address: string;
	before: string;
	after: string;
}

export interface FrontendConsequence {
	frontend: string;
	/** down, failover, fewer, more. */
	kind: string;
	pool_before: string;
	pool_after: string;
	servers_before: number;
	servers_after: number;
	members: number;
}

/** The answer to an act on many backends; with dry_run nothing was done. */
export interface ActAnswer {
	backends: BackendChange[];
	frontends: FrontendConsequence[];
	dry_run: boolean;
	unaffected: number;
}

/** One step of the way of a packet; see proto/way.proto. */
export interface WayStep {
	kind: string;
	depth: number;
	place: string;
	name: string;
	detail: string;
	state: string;
	word: string;
	reason: string;
	since: Int64;
	share?: { of_step: number };
	traffic?: { unit: string; rate: number; errors: number };
}

export interface Way {
	query: string;
	state: string;
	whole: boolean;
	why: string;
	/** The number of the step at which traffic is lost; -1: none. */
	broken: number;
	steps: WayStep[];
	left_out: number;
	notes: string[];
	at: Int64;
}
