// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { Counters, VipCounters } from '../api/types.ts';
import { latest, newRing, push, RING, rate, ratesOf } from './series.ts';
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
	for (let i = 0; i < RING * 2; i++) push(ring, i, [i, -i]);
	expect(ring.times.length).toBeLessThanOrEqual(RING * 1.1);
	expect(ring.values.map((line) => line.length)).toEqual([ring.times.length, ring.times.length]);
	expect(ring.times.at(-1)).toBe(RING * 2 - 1);
	expect(ring.values[1]?.at(-1)).toBe(-(RING * 2 - 1));
});
