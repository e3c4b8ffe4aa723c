// SPDX-License-Identifier: Apache-2.0
// The data of the charts: rings of points, kept in memory while the page is open.
import type { Counters, Int64 } from '../api/types.ts';
import { ms, num } from './format.ts';

/** Points of one ring: half an hour at one a second. */
export const RING = 1800;

export interface Ring {
	/** Seconds since the epoch. */
	times: number[];
	/** One list for each line; null is a gap. */
	values: (number | null)[][];
}

export const newRing = (lines: number): Ring => ({
	times: [],
	values: Array.from({ length: lines }, () => []),
});

/** Appends a point. A point that is not later than the last one is dropped. */
export function push(ring: Ring, at: number, values: (number | null)[], apart = 0): boolean {
	const last = ring.times.at(-1);
	if (last !== undefined && at <= last + apart) return false;
	ring.times.push(at);
	values.forEach((value, line) => {
		ring.values[line]?.push(value);
	});
	if (ring.times.length > RING * 1.1) trim(ring);
	return true;
}

/** Old points are removed in larger batches, so that most appends do not move memory. */
function trim(ring: Ring): void {
	const excess = ring.times.length - RING;
	ring.times.splice(0, excess);
	for (const line of ring.values) line.splice(0, excess);
}

/** The rate per second between two readings; null if the counter was reset. */
export function rate(before: Int64, after: Int64, seconds: number): number | null {
	const step = num(after) - num(before);
	return step < 0 || seconds <= 0 ? null : step / seconds;
}

export interface Rates {
	key: string;
	at: number;
	values: (number | null)[];
}

const VIP_FIELDS = [
	'first_packets',
	'next_packets',
	'untracked_packets',
	'no_server_packets',
] as const;

export const frontendKey = (server: string, frontend: string): string => `${server} f ${frontend}`;
export const backendKey = (server: string, backend: string): string => `${server} b ${backend}`;
export const latencyKey = (server: string, backend: string): string => `${server} l ${backend}`;

type Totals = Map<string, { packets: number; bytes: number }>;

/** Packets and bytes of each backend, from the counters that the data plane has. */
function backendTotals(counters: Counters): Totals {
	const totals: Totals = new Map();
	const add = (backend: string, packets: Int64, bytes: Int64) => {
		if (!backend) return;
		const sum = totals.get(backend) ?? { packets: 0, bytes: 0 };
		totals.set(backend, { packets: sum.packets + num(packets), bytes: sum.bytes + num(bytes) });
	};
	if (counters.has_as_traffic) {
		for (const vip of counters.vips)
			for (const one of vip.application_servers) add(one.backend, one.packets, one.bytes);
	} else if (counters.has_server_traffic) {
		for (const one of counters.servers)
			for (const backend of one.backends) add(backend, one.packets, one.bytes);
	}
	return totals;
}

function frontendRates(
	server: string,
	before: Counters,
	after: Counters,
	seconds: number,
): Rates[] {
	const known = new Map(before.vips.map((vip) => [vip.frontend, vip]));
	return after.vips.flatMap((vip) => {
		const old = known.get(vip.frontend);
		if (!vip.frontend || !old) return [];
		const packets = VIP_FIELDS.map((field) => rate(old[field], vip[field], seconds));
		const bytes = after.has_vip_bytes ? rate(old.bytes, vip.bytes, seconds) : null;
		const values = [...packets, bytes === null ? null : bytes * 8];
		return [{ key: frontendKey(server, vip.frontend), at: ms(after.at) / 1000, values }];
	});
}

/** The rates of each frontend and backend between two successive readings. */
export function ratesOf(server: string, before: Counters | null, after: Counters | null): Rates[] {
	if (!before || !after || before.dataplane !== after.dataplane) return [];
	const seconds = (ms(after.at) - ms(before.at)) / 1000;
	if (seconds <= 0) return [];
	const known = backendTotals(before);
	const backends = [...backendTotals(after)].flatMap(([name, sum]) => {
		const old = known.get(name);
		if (!old) return [];
		const bytes = rate(old.bytes, sum.bytes, seconds);
		const values = [rate(old.packets, sum.packets, seconds), bytes === null ? null : bytes * 8];
		return [{ key: backendKey(server, name), at: ms(after.at) / 1000, values }];
	});
	return [...frontendRates(server, before, after, seconds), ...backends];
}

/** The newest value of a line, gaps skipped. */
export const latest = (ring: Ring | undefined, line: number): number | null =>
	ring?.values[line]?.findLast((value) => value !== null) ?? null;
