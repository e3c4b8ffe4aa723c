// SPDX-License-Identifier: Apache-2.0
// The data of the charts: rings of points of the last hour. They begin with what maglevd has recorded, and grow with
// what the page is told.
import type { Counters, History, HistorySeries, Int64 } from '../api/types.ts';
import { ms, num } from './format.ts';

/** Points of one ring, at most. */
export const RING = 900;
/** Seconds that a ring covers, and of these the last ones that are kept as they came; older ones become means. */
export const RING_S = 3600;
const FULL_S = 300;
/** Seconds of one mean, and of one point of maglevd's last hour. */
export const STEP_S = 10;
/** A rate between two readings that are further apart says little. */
const READING_S = 30;

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
	if (ring.times.length > RING) thin(ring);
	return true;
}

const mean = (values: (number | null)[]): number | null => {
	const known = values.filter((value) => value !== null);
	return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

/** Replaces old points by one for each STEP_S. That leaves room for many appends, most of which move no memory. */
function thin(ring: Ring): void {
	const { times, values } = ring;
	const last = times.at(-1) as number;
	const kept = newRing(values.length);
	const oldest = times.findIndex((time) => time > last - RING_S);
	for (let from = Math.max(0, oldest); from < times.length; ) {
		const step = Math.floor((times[from] as number) / STEP_S);
		let to = from + 1;
		const old = (times[from] as number) < last - FULL_S;
		while (old && to < times.length && Math.floor((times[to] as number) / STEP_S) === step) to++;
		kept.times.push(times[to - 1] as number);
		values.forEach((line, index) => {
			kept.values[index]?.push(mean(line.slice(from, to)));
		});
		from = to;
	}
	const excess = Math.max(0, kept.times.length - RING);
	ring.times = kept.times.slice(excess);
	ring.values = kept.values.map((line) => line.slice(excess));
}

/** Puts the points of past that are before the first one of the ring in front of it. */
export function prepend(ring: Ring, past: Ring): void {
	const first = ring.times[0] ?? Number.POSITIVE_INFINITY;
	const n = past.times.filter((time) => time < first).length;
	ring.times = [...past.times.slice(0, n), ...ring.times];
	ring.values = ring.values.map((line, index) => [
		...(past.values[index] ?? new Array(n).fill(null)).slice(0, n),
		...line,
	]);
}

/** Nothing is known of a server from now on: its lines are not continued across that. */
export function interrupt(rings: Map<string, Ring>, server: string, at: number): void {
	for (const [key, ring] of rings)
		if (key.startsWith(`${server} `))
			push(
				ring,
				Math.max(at, (ring.times.at(-1) ?? 0) + 1e-3),
				ring.values.map(() => null),
			);
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

/** What a key names. Names of servers have no blanks. */
export function itemOf(key: string): {
	server: string;
	kind: 'frontend' | 'backend';
	name: string;
} {
	const [server = '', kind = ''] = key.split(' ', 2);
	const name = key.slice(server.length + kind.length + 2);
	return { server, kind: kind === 'f' ? 'frontend' : 'backend', name };
}

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
	if (seconds <= 0 || seconds > READING_S) return [];
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

/** The names of maglevd's lines, in the order of a ring, with the factor to its unit. */
const FRONTEND_LINES: [string, number][] = [
	['first', 1],
	['next', 1],
	['untracked', 1],
	['no-server', 1],
	['bytes', 8],
];
const TRAFFIC_LINES: [string, number][] = [
	['packets', 1],
	['bytes', 8],
];
const LATENCY_LINES: [string, number][] = [['latency', 1e-6]];

/** Lists of maglevd end with the newest point, and may begin later than others. */
function ringOfSeries(history: History, series: HistorySeries, lines: [string, number][]): Ring {
	const found = lines.map(([name]) => series.lines.find((one) => one.name === name)?.values ?? []);
	const n = Math.max(0, ...found.map((values) => values.length));
	const newest = ms(history.newest) / 1000;
	const step = ms(history.step) / 1000;
	return {
		times: Array.from({ length: n }, (_, i) => newest - (n - 1 - i) * step),
		values: found.map((values, line) => [
			...new Array<null>(n - values.length).fill(null),
			...values.map((value) => (value === 'NaN' ? null : num(value) * (lines[line]?.[1] ?? 1))),
		]),
	};
}

/** The rings of what maglevd has recorded, by key; those without a point are left out. */
export function ringsOfHistory(server: string, history: History): Map<string, Ring> {
	const rings: [string, Ring][] = [
		...history.frontends.map((one): [string, Ring] => [
			frontendKey(server, one.name),
			ringOfSeries(history, one, FRONTEND_LINES),
		]),
		...history.backends.flatMap((one): [string, Ring][] => [
			[backendKey(server, one.name), ringOfSeries(history, one, TRAFFIC_LINES)],
			[latencyKey(server, one.name), ringOfSeries(history, one, LATENCY_LINES)],
		]),
	];
	return new Map(rings.filter(([, ring]) => ring.times.length > 0));
}

/** A stretch of time with one state of a backend; '' is not known. Times are seconds since the epoch. */
export interface Stretch {
	state: string;
	from: number;
	to: number;
}

export function statesOf(history: History, backend: string): Stretch[] {
	const runs = history.backends.find((one) => one.name === backend)?.states ?? [];
	const step = ms(history.step) / 1000;
	let to = ms(history.newest) / 1000;
	return runs
		.toReversed()
		.map(({ state, points }) => {
			const from = to - points * step;
			const stretch = { state, from, to };
			to = from;
			return stretch;
		})
		.reverse();
}
