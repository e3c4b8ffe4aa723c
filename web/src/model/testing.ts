// SPDX-License-Identifier: Apache-2.0
// Example states for the tests.
import type {
	Backend,
	Frontend,
	LbServer,
	LbState,
	PoolBackend,
	StreamEvent,
} from '../api/types.ts';
import type { ServerView } from './state.ts';

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

/** An event of server "one" at that time (s). */
export const event = <T extends StreamEvent['type']>(
	type: T,
	payload: Extract<StreamEvent, { type: T }>['payload'],
	second = 10,
	name = 'one',
): StreamEvent => ({ server: name, type, at_ns: second * SECOND, payload }) as StreamEvent;
