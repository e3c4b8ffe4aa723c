// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import {
	channelsOf,
	concernsOf,
	missingMuxes,
	muxVerdict,
	portRows,
	roleOf,
	totalsOf,
} from './model.ts';
import type { Channel, ChannelPort, Controller, Endpoints, Mux, State } from './types.ts';

const port = (over: Partial<ChannelPort> = {}): ChannelPort => ({
	name: 'http',
	port: 80,
	node_port: null,
	protocol: 'TCP',
	mux_port: 80,
	held: null,
	source: 'static',
	mux_port_name: 'abcdef0',
	...over,
});

const channel = (name: string, over: Partial<Channel> = {}): Channel => ({
	namespace: 'app',
	name,
	mux_namespace: 'lb',
	mux_name: 'edge',
	lb_class: 'svc-mux.nowake.ai/edge.lb',
	external_dns: null,
	custom_dns: null,
	ports: [port()],
	state: 'served',
	reason: null,
	message: null,
	...over,
});

const mux = (over: Partial<Mux> = {}): Mux => ({
	namespace: 'lb',
	name: 'edge',
	has_queue: true,
	external_dns_hostname: null,
	status_ingress: '203.0.113.10',
	ingress: ['203.0.113.10'],
	condition: 'active',
	reason: null,
	message: null,
	lb_class: null,
	port_range: null,
	max_ports: null,
	gke: false,
	state_configmap: 'edge-port-allocations',
	channels: 1,
	served: 1,
	refused: 0,
	ports: 1,
	...over,
});

const endpoints = (name: string, ready: number, notReady = 0): Endpoints => ({
	namespace: 'app',
	name,
	ready_count: ready,
	not_ready_count: notReady,
	pods: [],
	addresses: [],
});

const controller: Controller = {
	version: '1',
	commit: 'c',
	started: '2026-01-01T00:00:00Z',
	synced: true,
	active: true,
	elects: true,
	dry_run: false,
	identity: 'me',
	leader: 'me',
	api_prefix: 'svc-mux.nowake.ai',
	server: 'https://127.0.0.1:6443',
};

const stateOf = (channels: Channel[], ready: Endpoints[], muxes: Mux[] = [mux()]): State => ({
	mux_services: Object.fromEntries(muxes.map((one) => [`${one.namespace}/${one.name}`, one])),
	channel_services: Object.fromEntries(
		channels.map((one) => [`${one.namespace}/${one.name}`, one]),
	),
	endpoints: Object.fromEntries(ready.map((one) => [`${one.namespace}/${one.name}`, one])),
	events: [],
	controller,
});

describe('ports', () => {
	test('are ordered by number, and those without one are last', () => {
		const channels = [
			channel('a', { ports: [port({ mux_port: null }), port({ name: 'grpc', mux_port: 9090 })] }),
			channel('b', { ports: [port({ mux_port: 443 })] }),
		];
		const rows = portRows(stateOf(channels, [endpoints('b', 2, 1)]), channels);
		expect(rows.map((one) => one.key)).toEqual([
			'app/b:http/TCP',
			'app/a:grpc/TCP',
			'app/a:http/TCP',
		]);
		expect(rows[0]).toMatchObject({ ready: 2, notReady: 1 });
	});

	test('the same number of two protocols is two rows', () => {
		const channels = [
			channel('dns', {
				ports: [port({ name: 'dns', protocol: 'UDP', mux_port: 53 }), port({ mux_port: 53 })],
			}),
		];
		expect(portRows(stateOf(channels, []), channels).map((one) => one.port.protocol)).toEqual([
			'TCP',
			'UDP',
		]);
	});
});

describe('concerns', () => {
	test('there are none while every channel is served and has endpoints', () => {
		expect(concernsOf(stateOf([channel('a')], [endpoints('a', 1)]))).toEqual([]);
	});

	test('a refusal says why', () => {
		const refused = channel('b', {
			state: 'refused',
			reason: 'MuxPortConflict',
			message: '80/TCP is already claimed by app/a:f0ad37a',
		});
		const concerns = concernsOf(stateOf([channel('a'), refused], [endpoints('a', 1)]));
		expect(concerns).toEqual([
			{
				verdict: 'warning',
				mux: 'lb/edge',
				title: 'channel app/b is refused',
				note: 'MuxPortConflict: 80/TCP is already claimed by app/a:f0ad37a',
			},
		]);
		expect(muxVerdict(concerns, 'lb/edge')).toBe('warning');
		expect(muxVerdict(concerns, 'lb/other')).toBe('ok');
	});

	test('the worst is first', () => {
		const state = stateOf(
			[channel('a'), channel('b', { mux_name: 'none', state: 'pending' })],
			[endpoints('a', 0, 2)],
			[
				mux({ condition: 'frozen', reason: 'InvalidMaxPorts', message: 'x' }),
				mux({ name: 'bad', condition: 'invalid', reason: 'NotSupported', message: 'y' }),
			],
		);
		expect(concernsOf(state).map((one) => [one.verdict, one.title, one.note])).toEqual([
			['critical', 'mux lb/bad is not a valid mux', 'NotSupported: y'],
			['warning', 'mux lb/edge is frozen: its ports stay as they are', 'InvalidMaxPorts: x'],
			['warning', 'mux lb/none does not exist', '1 channel waits for it'],
			['degraded', 'channel app/a has no ready endpoint', '2 endpoints not ready'],
		]);
		expect(missingMuxes(state)).toEqual(['lb/none']);
		expect(channelsOf(state, 'lb/none').map((one) => one.name)).toEqual(['b']);
	});
});

test('totals count ports that are on a mux, and endpoints', () => {
	const state = stateOf(
		[
			channel('a', { ports: [port(), port({ name: 'x', mux_port: null })] }),
			channel('b', { state: 'refused', ports: [port({ mux_port: null })] }),
		],
		[endpoints('a', 3, 1), endpoints('b', 1)],
	);
	expect(totalsOf(state)).toEqual({
		muxes: 1,
		channels: 2,
		served: 1,
		refused: 1,
		ports: 1,
		ready: 4,
		notReady: 1,
	});
});

describe('the role', () => {
	const role = (over: Partial<Controller>) =>
		roleOf({ ...stateOf([], []), controller: { ...controller, ...over } });

	test('of the leader, of a replica that stands by, and of one that writes nothing', () => {
		expect(role({})).toMatchObject({ word: 'leading', note: 'as me' });
		expect(role({ active: false, leader: 'other' })).toMatchObject({
			word: 'standby',
			note: 'other leads',
			verdict: 'ok',
		});
		expect(role({ active: false, leader: '' })).toMatchObject({
			note: 'nobody leads',
			verdict: 'warning',
		});
		expect(role({ dry_run: true })).toMatchObject({ word: 'dry run' });
		expect(role({ elects: false })).toMatchObject({ word: 'active' });
		expect(role({ synced: false, dry_run: true })).toMatchObject({ word: 'starting' });
	});
});
