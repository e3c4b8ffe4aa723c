// SPDX-License-Identifier: Apache-2.0
// Example states for the tests.
import type {
	Announcement,
	Backend,
	Frontend,
	LbServer,
	LbState,
	PoolBackend,
	RouterEvent,
	RouterGeneration,
	RouterInfo,
	RouterPool,
	RouterRoute,
	RouterServer,
	ServerEvent,
	Session,
	SpeakerEvent,
	SpeakerInfo,
	Traffic,
} from '../api/types.ts';
import type { RouterView, ServerView, SpeakerView } from './state.ts';

export const SECOND = 1_000_000_000;

export const poolBackend = (name: string, more: Partial<PoolBackend> = {}): PoolBackend => ({
	name,
	weight: 100,
	effective_weight: 100,
	configured_weight: 100,
	state: 'up',
	mutated: false,
	...more,
});

export const backend = (name: string, more: Partial<Backend> = {}): Backend => ({
	name,
	address: '10.0.0.1',
	healthcheck: 'web',
	state: 'up',
	enabled: true,
	counter: 4,
	rise: 2,
	fall: 3,
	since: String(SECOND),
	last_code: 'L7OK',
	last_reason: '',
	transitions: [{ from: 'unknown', to: 'up', code: 'L7OK', at: String(SECOND) }],
	frontends: ['www'],
	last_probe: '0',
	last_duration: '0',
	...more,
});

/** Two pools: a and b serve, c is in the fallback pool. */
export const frontend = (more: Partial<Frontend> = {}): Frontend => ({
	name: 'www',
	address: '198.51.100.10',
	protocol: 'tcp',
	port: 80,
	pools: [
		{ name: 'primary', active: true, backends: [poolBackend('a'), poolBackend('b')] },
		{ name: 'spare', active: false, backends: [poolBackend('c', { effective_weight: 0 })] },
	],
	description: '',
	src_ip_sticky: false,
	flush_on_down: true,
	state: 'up',
	since: String(SECOND),
	active_pool: 'primary',
	released: true,
	...more,
});

export const lbServer = (name: string, more: Partial<LbServer> = {}): LbServer => ({
	address: `10.0.0.${name}`,
	weight: 100,
	wanted_weight: 100,
	buckets: 0,
	flows: '0',
	backend: name,
	present: true,
	wanted: true,
	...more,
});

export const lb = (servers: LbServer[], more: Partial<LbState> = {}): LbState => ({
	dataplane: 'vpp',
	connected: true,
	ipv4_src_address: '',
	ipv6_src_address: '',
	sticky_buckets_per_core: 1024,
	flow_timeout: 40,
	vips: [
		{
			address: '198.51.100.10',
			protocol: 'tcp',
			port: 80,
			encap: 'gre4',
			src_ip_sticky: false,
			application_servers: servers,
			frontend: 'www',
			present: true,
			wanted: true,
		},
	],
	held: false,
	warmup: 'done',
	last_full_sync: '0',
	problem: '',
	as_of: '0',
	...more,
});

export const server = (more: Partial<ServerView> = {}): ServerView => ({
	name: 'one',
	address: '127.0.0.1:9090',
	connected: true,
	error: '',
	since_ns: 0,
	refreshed_at_ns: 0,
	frontends: [frontend()],
	backends: [backend('a'), backend('b'), backend('c')],
	healthchecks: [],
	vpp: null,
	lb: null,
	lb_error: '',
	counters: null,
	drift: {},
	...more,
});

export const announcement = (more: Partial<Announcement> = {}): Announcement => ({
	vip: 'www',
	address: '198.51.100.10',
	state: 'announced',
	reason: 'frontend-up',
	culprit: '',
	since: String(SECOND),
	drained: false,
	drain_reason: '',
	drained_at: '0',
	frontends: [],
	bgp: {
		prefix: '198.51.100.10/32',
		advertisement: 'default',
		peers: ['tor1'],
		established: ['tor1'],
	},
	attracts: true,
	summary: 'announced to tor1',
	...more,
});

export const session = (more: Partial<Session> = {}): Session => ({
	peer: 'tor1',
	address: '10.0.0.2',
	vrf: '',
	asn: '64513',
	up: true,
	state: 'Established',
	since: String(SECOND),
	prefixes_sent: '1',
	bfd: '',
	last_error: '',
	...more,
});

export const speakerInfo = (more: Partial<SpeakerInfo> = {}): SpeakerInfo => ({
	name: 'lb1',
	version: '1.0',
	started: String(SECOND),
	problem: '',
	maglevds: [{ name: 'one', address: '127.0.0.1:9090', connected: true, error: '' }],
	bgp: true,
	frr: { current: true, applies: '1', failures: '0', last_error: '', last_at: String(SECOND) },
	generation: '1',
	loaded: String(SECOND),
	config_error: '',
	...more,
});

export const speaker = (more: Partial<SpeakerView> = {}): SpeakerView => ({
	name: 'lb1',
	address: '127.0.0.1:9091',
	connected: true,
	error: '',
	since_ns: 0,
	refreshed_at_ns: 0,
	info: speakerInfo(),
	announcements: [announcement()],
	sessions: [session()],
	...more,
});

/** An event of server "one" at that time (s). */
export const event = <T extends ServerEvent['type']>(
	type: T,
	payload: Extract<ServerEvent, { type: T }>['payload'],
	second = 10,
	name = 'one',
): ServerEvent => ({ server: name, type, at_ns: second * SECOND, payload }) as ServerEvent;

/** An event of speaker "lb1". */
export const speakerEvent = <T extends SpeakerEvent['type']>(
	type: T,
	payload: Extract<SpeakerEvent, { type: T }>['payload'],
	name = 'lb1',
): SpeakerEvent => ({ speaker: name, type, at_ns: 10 * SECOND, payload }) as SpeakerEvent;

export const traffic = (more: Partial<Traffic> = {}): Traffic => ({
	requests: '100',
	errors: '0',
	rate: 20,
	error_share: 0,
	p50: '2000000',
	p99: '9000000',
	retries: '0',
	aborts: '0',
	answers: ['0', '100', '0', '0', '0'],
	...more,
});

export const routerServer = (more: Partial<RouterServer> = {}): RouterServer => ({
	host: '10.0.0.1',
	port: 80,
	state: 'up',
	since: String(SECOND),
	reason: '',
	weight: 1,
	share: 1,
	addresses: [],
	load: { active: 1, connections: 2, kept: 1 },
	traffic: traffic(),
	...more,
});

export const routerPool = (more: Partial<RouterPool> = {}): RouterPool => ({
	name: 'blue',
	position: 0,
	balance: 'random',
	probed: true,
	servers: [routerServer()],
	usable: 1,
	routes: ['api'],
	traffic: traffic(),
	...more,
});

export const routerRoute = (more: Partial<RouterRoute> = {}): RouterRoute => ({
	name: 'api',
	position: 1,
	fallback: false,
	hosts: ['api.example'],
	listeners: [],
	rules: [
		{
			name: 'api',
			matches: ['prefix /v1'],
			backends: [{ pool: 'blue', weight: 1, share: 1, servers: 1, usable: 1 }],
			redirect: '',
			filters: [],
		},
	],
	traffic: traffic(),
	...more,
});

export const routerInfo = (more: Partial<RouterInfo> = {}): RouterInfo => ({
	name: 'rt1',
	version: '1.0',
	started: String(SECOND),
	threads: 2,
	generation: '1',
	source: 'file',
	loaded: String(SECOND),
	config_error: '',
	draining: false,
	problem: '',
	routes: 1,
	pools: 1,
	listeners: 1,
	generations_held: 1,
	clients: '3',
	server_connections: '2',
	traffic: traffic(),
	rollout: '',
	...more,
});

export const generation = (more: Partial<RouterGeneration> = {}): RouterGeneration => ({
	number: '1',
	at: String(SECOND),
	source: 'file',
	listeners: 1,
	routes: 1,
	pools: 1,
	in_force: true,
	added: 0,
	removed: 0,
	changed: 0,
	compared: true,
	held: true,
	peer: '',
	of: '0',
	...more,
});

export const router = (more: Partial<RouterView> = {}): RouterView => ({
	name: 'rt1',
	address: '127.0.0.1:9096',
	connected: true,
	error: '',
	since_ns: 0,
	refreshed_at_ns: 0,
	info: routerInfo(),
	listeners: [{ name: 'http', address: ':80', host: '', routes: 1 }],
	routes: [routerRoute()],
	pools: [routerPool()],
	generations: { generations: [generation()] },
	...more,
});

/** An event of router "rt1". */
export const routerEvent = <T extends RouterEvent['type']>(
	type: T,
	payload: Extract<RouterEvent, { type: T }>['payload'],
	name = 'rt1',
): RouterEvent => ({ router: name, type, at_ns: 10 * SECOND, payload }) as RouterEvent;
