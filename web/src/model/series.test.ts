// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { Counters, History, VipCounters } from '../api/types.ts';
import {
	interrupt,
	itemOf,
	latencyKey,
	latest,
	newRing,
	prepend,
	push,
	RING,
	RING_S,
	type Ring,
	rate,
	ratesOf,
	ringsOfHistory,
	statesOf,
} from './series.ts';
import { SECOND } from './testing.ts';

const vip = (packets: number, bytes: number, backendPackets: number): VipCounters => ({
	address: '198.51.100.10',
	protocol: 'tcp',
	port: 80,
	frontend: 'www',
	next_packets: String(packets),
	first_packets: '0',
	untracked_packets: '0',
	no_server_packets: '0',
	bytes: String(bytes),
	buckets: 0,
	application_servers: [
		{ address: '10.0.0.1', backend: 'a', packets: backendPackets, bytes: 0, buckets: 0, flows: 0 },
	],
});
const counters = (second: number, vips: VipCounters[], more: Partial<Counters> = {}): Counters => ({
	dataplane: 'xdp',
	at: String(second * SECOND),
	vips,
	has_vip_bytes: true,
	has_as_traffic: true,
	has_as_buckets: false,
	has_as_flows: false,
	has_server_traffic: false,
	servers: [],
	events: [],
	...more,
});

it('two readings make a rate for each frontend and backend', () => {
	const rates = ratesOf(
		'one',
		counters(10, [vip(100, 1000, 50)]),
		counters(12, [vip(300, 2000, 150)]),
	);
	expect(rates).toEqual([
		{ key: 'one f www', at: 12, values: [0, 100, 0, 0, 4000] },
		{ key: 'one b a', at: 12, values: [50, 0] },
	]);
});

it('a counter that began again is a gap, not a fall', () => {
	expect(rate(100, 7, 1)).toBeNull();
	const rates = ratesOf(
		'one',
		counters(10, [vip(100, 1000, 50)]),
		counters(12, [vip(7, 2000, 150)]),
	);
	expect(rates[0]?.values[1]).toBeNull();
});

it('the same reading twice, or the first one, makes none', () => {
	const reading = counters(10, [vip(1, 1, 1)]);
	expect(ratesOf('one', reading, reading)).toEqual([]);
	expect(ratesOf('one', null, reading)).toEqual([]);
});

it('where only servers are counted, each of their backends gets the figure', () => {
	const of = (second: number, packets: number) =>
		counters(second, [], {
			has_as_traffic: false,
			has_server_traffic: true,
			servers: [{ address: '10.0.0.1', backends: ['a', 'b'], packets, bytes: 0 }],
		});
	expect(ratesOf('one', of(1, 0), of(2, 9)).map((r) => [r.key, r.values[0]])).toEqual([
		['one b a', 9],
		['one b b', 9],
	]);
});

it('a ring takes only what is behind its last point', () => {
	const ring = newRing(1);
	expect(push(ring, 10, [1])).toBe(true);
	expect(push(ring, 10, [2])).toBe(false);
	expect(push(ring, 10.01, [2], 0.02)).toBe(false);
	expect(push(ring, 11, [null])).toBe(true);
	expect(ring.times).toEqual([10, 11]);
	expect(latest(ring, 0)).toBe(1);
});

it('a ring stays within its bound, all lines alike', () => {
	const ring = newRing(2);
	for (let i = 0; i < 10_000; i++) {
		push(ring, i, [i, -i]);
		expect(ring.times.length).toBeLessThanOrEqual(RING);
	}
	expect(ring.values.map((line) => line.length)).toEqual([ring.times.length, ring.times.length]);
	expect(ring.times.at(-1)).toBe(9999);
	expect(ring.values[1]?.at(-1)).toBe(-9999);
});

it('a ring keeps an hour: the last minutes as they came, and means of ten seconds before', () => {
	const ring = newRing(1);
	for (let i = 0; i <= 2 * RING_S; i++) push(ring, i, [i % 10]);
	const first = ring.times[0] as number;
	expect(first).toBeGreaterThan(2 * RING_S - RING_S - 700);
	expect(first).toBeLessThan(2 * RING_S - RING_S + 300);
	const ages = ring.times.map((time) => 2 * RING_S - time);
	expect(ages.filter((age) => age < 290).length).toBe(290);
	const old = ring.values[0]?.[5] as number;
	expect(old).toBeCloseTo(4.5);
});

it('a gap stays a gap when points become means', () => {
	const ring = newRing(1);
	for (let i = 0; i <= 1200; i++) push(ring, i, [i >= 100 && i < 200 ? null : 1]);
	const at = (time: number) => ring.values[0]?.[ring.times.findIndex((one) => one >= time)];
	expect(at(50)).toBe(1);
	expect(at(150)).toBe(null);
	expect(at(250)).toBe(1);
});

it('what was recorded comes in front of what was told, and never twice', () => {
	const ring = newRing(1);
	push(ring, 100, [7]);
	const past: Ring = { times: [80, 90, 100, 110], values: [[1, null, 3, 4]] };
	prepend(ring, past);
	expect(ring).toEqual({ times: [80, 90, 100], values: [[1, null, 7]] });
	prepend(ring, past);
	expect(ring.times).toEqual([80, 90, 100]);
	const fresh = newRing(1);
	prepend(fresh, past);
	expect(fresh.times.length).toBe(4);
});

it('a server that is lost interrupts its own lines only', () => {
	const rings = new Map<string, Ring>();
	for (const key of ['one f www', 'one l a', 'oneb f www']) {
		rings.set(key, newRing(1));
		push(rings.get(key) as Ring, 10, [1]);
	}
	interrupt(rings, 'one', 12);
	expect([...rings.values()].map((ring) => ring.values[0])).toEqual([[1, null], [1, null], [1]]);
});

it('readings that are far apart give no rate', () => {
	const of = (second: number) => counters(second, [vip(second, 0, 0)]);
	expect(ratesOf('one', of(1), of(2)).length).toBe(2);
	expect(ratesOf('one', of(1), of(300))).toEqual([]);
});

const HISTORY: History = {
	span: 'hour',
	step: '10000000000',
	newest: '1000000000000',
	frontends: [
		{
			name: 'www',
			lines: [
				{ name: 'next', values: [5, 'NaN', 7] },
				{ name: 'first', values: [1, 2] },
				{ name: 'bytes', values: [] },
			],
			states: [],
		},
	],
	backends: [
		{
			name: 'a b',
			lines: [{ name: 'latency', values: [2_000_000] }],
			states: [
				{ state: 'up', points: 3 },
				{ state: 'down', points: 1 },
			],
		},
		{ name: 'new', lines: [{ name: 'latency', values: [] }], states: [] },
	],
};

it('what maglevd has recorded becomes rings that end with the newest point', () => {
	const rings = ringsOfHistory('one', HISTORY);
	expect([...rings.keys()]).toEqual(['one f www', 'one l a b']);
	const www = rings.get('one f www');
	expect(www?.times).toEqual([980, 990, 1000]);
	expect(www?.values).toEqual([
		[null, 1, 2],
		[5, null, 7],
		[null, null, null],
		[null, null, null],
		[null, null, null],
	]);
	expect(rings.get(latencyKey('one', 'a b'))).toEqual({ times: [1000], values: [[2]] });
	expect(itemOf('one l a b')).toEqual({ server: 'one', kind: 'backend', name: 'a b' });
	expect(itemOf('one f www').kind).toBe('frontend');
});

it('states are stretches of time', () => {
	expect(statesOf(HISTORY, 'a b')).toEqual([
		{ state: 'up', from: 960, to: 990 },
		{ state: 'down', from: 990, to: 1000 },
	]);
	expect(statesOf(HISTORY, 'other')).toEqual([]);
});
