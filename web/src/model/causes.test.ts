// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { Backend, Frontend, HealthCheck, Override } from '../api/types.ts';
import { causesOf, sumOf } from './causes.ts';
import { healthOf } from './health.ts';
import { beginningOf, mannerOf, subnetOf } from './manner.ts';
import type { ServerView } from './state.ts';
import { backend, frontend, lb, lbServer, poolBackend, SECOND, server } from './testing.ts';

const REFUSED = { last_code: 'L4CON', last_reason: 'connect to 10.0.0.1: Connection refused' };
const SILENT = { last_code: 'L4TOUT', last_reason: 'connect to 10.0.0.1: timed out after 1s' };
const WRONG = { last_code: 'L7STS', last_reason: 'status 404 not in 200-399' };

interface Host {
	address: string;
	check?: string;
	fails?: Partial<Backend>;
	held?: string;
	override?: Override;
}

const CHECKS: Record<string, number> = { web: 80, app: 8080, admin: 8080, tls: 443 };
const checks = Object.entries(CHECKS).map(([name, port]) => ({ name, port }) as HealthCheck);

/** A server with one backend for each host, and one frontend for each list of backends. */
function balancer(name: string, hosts: Host[], uses: number[][]): ServerView {
	const used = (index: number) =>
		uses.flatMap((list, number) => (list.includes(index) ? [`f${number}`] : []));
	const backends = hosts.map((host, index) =>
		backend(`b${index}`, {
			address: host.address,
			healthcheck: host.check ?? 'web',
			state: host.held ?? (host.fails ? 'down' : 'up'),
			frontends: used(index),
			since: String((index + 1) * SECOND),
			...host.fails,
			...(host.override ? { override: host.override } : {}),
		}),
	);
	const frontends = uses.map((list, number): Frontend => {
		const members = list.map((index) =>
			poolBackend(`b${index}`, { state: backends[index]?.state ?? 'up' }),
		);
		const up = members.some((one) => one.state === 'up');
		return frontend({
			name: `f${number}`,
			pools: [{ name: 'primary', active: up, backends: members }],
			state: up ? 'up' : 'down',
			active_pool: up ? 'primary' : '',
		});
	});
	return server({ name, backends, frontends, healthchecks: checks });
}

function found(...servers: ServerView[]) {
	const health = new Map(servers.map((one) => [one.name, healthOf(one, 60_000)]));
	return causesOf(servers, (name) => health.get(name) as ReturnType<typeof healthOf>);
}

const lines = (...servers: ServerView[]): string[] =>
	found(...servers).faults.map((one) =>
		[one.verdict, one.title, one.sum].filter(Boolean).join(' | '),
	);

const net = (third: number, count: number, more: Partial<Host> = {}): Host[] =>
	Array.from({ length: count }, (_, index) => ({ address: `10.0.${third}.${index + 1}`, ...more }));

const each = (count: number): number[][] => Array.from({ length: count }, (_, index) => [index]);

it('nothing is wrong, and there is no cause', () => {
	expect(found(balancer('lb1', net(0, 3), each(3)))).toEqual({ faults: [], operators: [] });
});

const two = (hosts: Host[], uses: number[][]) => [
	balancer('lb1', hosts, uses),
	balancer('lb2', hosts, uses),
];

const CASES: [what: string, servers: ServerView[], expected: string[]][] = [
	[
		'a host that refuses: one line for all its frontends on all servers',
		two(
			[{ address: '10.0.11.2', fails: REFUSED }, ...net(0, 2)],
			[[0], [0], [0, 1], [0, 1], [0, 2], [0, 2], [1]],
		),
		[
			'critical | host 10.0.11.2 refuses connections | 6 frontends on 2 servers: 2 down, 4 degraded',
		],
	],
	[
		'a whole subnet that is silent is one cause, not a host each',
		two([...net(7, 12, { fails: SILENT }), ...net(8, 2)], [...each(12), [0, 12], [13]]),
		[
			'critical | subnet 10.0.7.0/24: all 12 hosts do not answer | 13 frontends on 2 servers: 12 down, 1 degraded',
		],
	],
	[
		'two silent hosts of a subnet are two hosts',
		[
			balancer(
				'lb1',
				[...net(7, 2, { fails: SILENT }), ...net(7, 5).slice(2)],
				[
					[0, 2],
					[1, 3],
				],
			),
		],
		[
			'degraded | host 10.0.7.1 does not answer | 1 frontend on lb1: degraded',
			'degraded | host 10.0.7.2 does not answer | 1 frontend on lb1: degraded',
		],
	],
	[
		'a subnet with one host alive is its hosts',
		[balancer('lb1', [...net(7, 3, { fails: SILENT }), { address: '10.0.7.9' }], [[0, 1, 2, 3]])],
		[
			'degraded | host 10.0.7.1 does not answer | 1 frontend on lb1: degraded',
			'degraded | host 10.0.7.2 does not answer | 1 frontend on lb1: degraded',
			'degraded | host 10.0.7.3 does not answer | 1 frontend on lb1: degraded',
		],
	],
	[
		'a port that is refused on hosts whose other port answers, over two checks',
		[
			balancer(
				'lb1',
				[
					...net(1, 3, { check: 'app', fails: REFUSED }),
					...net(2, 2, { check: 'admin', fails: REFUSED }),
					...net(1, 3),
					...net(2, 2),
				],
				[
					[0, 1, 2],
					[3, 4],
					[5, 6],
					[7, 8, 9],
				],
			),
		],
		['critical | port 8080: all 5 hosts refuse connections | 2 frontends on lb1: 2 down'],
	],
	[
		'one port of one host, while another one answers',
		[
			balancer(
				'lb1',
				[
					{ address: '10.0.1.1', check: 'app', fails: REFUSED },
					{ address: '10.0.1.1' },
					{ address: '10.0.1.2', check: 'app' },
				],
				[[0, 2], [1]],
			),
		],
		['degraded | port 8080 of host 10.0.1.1 refuses connections | 1 frontend on lb1: degraded'],
	],
	[
		'a check that is misconfigured fails everywhere with the same answer',
		two(
			[
				...net(1, 3, { fails: WRONG }),
				...net(2, 3, { fails: WRONG }),
				...net(3, 2, { check: 'tls' }),
			],
			[
				[0, 1, 2],
				[3, 4, 5],
				[6, 7],
			],
		),
		['critical | check web fails on all its 6 hosts | 2 frontends on 2 servers: 2 down'],
	],
	[
		'a balancer that alone does not reach what the others reach',
		[
			balancer('lb1', net(1, 4, { fails: SILENT }), each(4)),
			balancer('lb2', net(1, 4), each(4)),
			balancer('lb3', net(1, 4), each(4)),
		],
		['critical | lb1 alone cannot reach 4 hosts | 4 frontends on lb1: 4 down'],
	],
	[
		'one host that only one balancer does not reach',
		[
			balancer('lb1', [{ address: '10.0.1.1', fails: SILENT }, ...net(2, 5)], [[0, 1]]),
			balancer('lb2', [{ address: '10.0.1.1' }, ...net(2, 5)], [[0, 1]]),
		],
		['degraded | host 10.0.1.1 does not answer, as lb1 sees it | 1 frontend on lb1: degraded'],
	],
	[
		'a lost server stands above what others miss, and its own state is not judged',
		[
			{ ...balancer('lb1', net(1, 2), each(2)), connected: false, error: 'connection refused' },
			balancer('lb2', [{ address: '10.0.1.1', fails: REFUSED }, { address: '10.0.1.2' }], each(2)),
		],
		[
			'critical | lb1 | 2 frontends',
			'critical | host 10.0.1.1 refuses connections | 1 frontend on lb2: down',
		],
	],
];

it.each(CASES)('%s', (_, servers, expected) => {
	expect(lines(...servers)).toEqual(expected);
});

it('the data plane of three servers is gone: one line', () => {
	const gone = (name: string) => ({
		...balancer(name, net(1, 2), each(2)),
		lb: lb([], { connected: false, status: 'disconnected' }),
	});
	const { faults } = found(gone('lb1'), gone('lb2'), gone('lb3'));
	expect(faults).toHaveLength(1);
	expect(faults[0]).toMatchObject({
		verdict: 'warning',
		title: 'lb1, lb2, lb3',
		notes: 'data plane vpp is disconnected',
		sum: '6 frontends',
		place: { scope: '', view: 'dataplane', filter: '' },
	});
});

it('a data plane that differs is one line for each server', () => {
	const one = server({ lb: lb([lbServer('1', { weight: 3 }), lbServer('2', { weight: 4 })]) });
	const drift = {
		'198.51.100.10 tcp 80 10.0.0.1': 1,
		'198.51.100.10 tcp 80 10.0.0.2': 1,
	};
	expect(lines({ ...one, drift })).toEqual([
		'warning | the data plane of one differs from the plan | 1 frontend on one: with a warning',
	]);
});

it('what operators did is apart from faults, also if it takes a frontend down', () => {
	const override = { act: 'disabled', reason: 'new disk', at: 1, until: 0, operator: 'alice' };
	const held = { held: 'disabled', override };
	const hosts = [
		{ address: '10.0.1.1', ...held },
		{ address: '10.0.1.2', ...held },
		{ address: '10.0.1.3', fails: REFUSED },
		{ address: '10.0.1.4' },
	];
	const { faults, operators } = found(
		balancer('lb1', hosts, [
			[0, 1],
			[2, 3],
			[1, 3],
		]),
	);
	expect(faults.map((one) => one.title)).toEqual(['host 10.0.1.3 refuses connections']);
	expect(operators).toMatchObject([
		{
			verdict: 'critical',
			title: '2 backends disabled by alice',
			notes: 'new disk',
			sum: 'b0, b1 on lb1: 1 frontend down',
		},
	]);
});

it('a pause that harms nobody is listed without alarm', () => {
	const override = { act: 'paused', reason: '', at: 1, until: 0 };
	const hosts = [{ address: '10.0.1.1', held: 'paused', override }, { address: '10.0.1.2' }];
	const { faults, operators } = found(balancer('lb1', hosts, [[0, 1]]));
	expect(faults).toEqual([]);
	expect(operators).toMatchObject([{ verdict: 'ok', title: '1 backend paused by hand' }]);
});

it('a frontend that is down for no fault is still there', () => {
	const bare = server({
		frontends: [frontend({ state: 'down', active_pool: '' })],
		backends: [],
	});
	expect(lines(bare)).toEqual(['critical | no backend can serve | 1 frontend on one: down']);
});

it('since is when the first of its backends went down', () => {
	const [cause] = found(balancer('lb1', net(7, 4, { fails: SILENT }), each(4))).faults;
	expect(cause?.since).toBe(String(SECOND));
	expect(cause?.place).toEqual({ scope: 'lb1', view: 'backends', filter: '10.0.7.' });
});

it('the reason is that of most hosts, without the address of one', () => {
	const hosts = net(7, 4).map((host) => ({
		...host,
		fails: {
			last_code: 'L4TOUT',
			last_reason: `connect to ${host.address}:80: timed out after 1s`,
		},
	}));
	expect(found(balancer('lb1', hosts, each(4))).faults[0]?.notes).toBe('timed out after 1s');
});

it('a fault that no frontend uses is no cause', () => {
	expect(lines(balancer('lb1', [{ address: '10.0.1.1', fails: REFUSED }], []))).toEqual([]);
});

it('a hundred frontends on three servers are a few lines', () => {
	const hosts = [...net(1, 50, { fails: SILENT }), ...net(2, 50)];
	const uses = Array.from({ length: 100 }, (_, i) => (i < 50 ? [i] : [i - 50, i]));
	const all = ['lb1', 'lb2', 'lb3'].map((name) => balancer(name, hosts, uses));
	expect(lines(...all)).toEqual([
		'critical | subnet 10.0.1.0/24: all 50 hosts do not answer | 100 frontends on 3 servers: 50 down, 50 degraded',
	]);
});

it('a sum names the one server', () => {
	const one = { server: 'lb1', frontend: 'a', verdict: 'critical' as const };
	expect(sumOf([one, { ...one, frontend: 'b' }])).toBe('2 frontends on lb1: 2 down');
	expect(sumOf([])).toBe('');
});

const MANNERS: [string, string, string][] = [
	['L4CON', 'connect to 10.0.0.1: Connection refused', 'refuses connections'],
	['L4CON', 'connect to 10.0.0.1: No route to host', 'cannot be reached'],
	['L4TOUT', '', 'does not answer'],
	['L6RSP', 'certificate has expired', 'has a bad certificate'],
	['L7STS', 'status 500 not in 200', 'answers with an error'],
	['NEWCODE', 'who knows', 'fails'],
];

it.each(MANNERS)('%s with "%s" %s', (last_code, last_reason, says) => {
	expect(mannerOf(backend('a', { last_code, last_reason, transitions: [] })).says).toBe(says);
});

it('a backend whose last probe passed, but which is still down, fails as it went down', () => {
	const transitions = [{ from: 'up', to: 'down', code: 'L4TOUT', at: 1 }];
	expect(mannerOf(backend('a', { last_code: 'L7OK', last_reason: '', transitions })).says).toBe(
		'does not answer',
	);
});

const SUBNETS: [string, string, string][] = [
	['10.0.11.2', '10.0.11.0/24', '10.0.11.'],
	['2001:db8:1:2::7', '2001:db8:1:2::/64', '2001:db8:1:2:'],
	['2001:db8::1', '2001:db8::/64', '2001:db8:'],
	['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1:2:'],
];

it.each(SUBNETS)('the subnet of %s is %s', (address, subnet, beginning) => {
	expect(subnetOf(address)).toBe(subnet);
	expect(beginningOf(subnet)).toBe(beginning);
	expect(address.startsWith(beginning)).toBe(true);
});
