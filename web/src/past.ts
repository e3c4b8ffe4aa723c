// SPDX-License-Identifier: Apache-2.0
// What maglevd has recorded of the past, for that which is drawn: sparklines that are in sight, and the charts of a page.
// There is one request at a time, with as many items as maglevd answers at once.
import { createEffect, createMemo, createSignal, onCleanup, untrack } from 'solid-js';
import { getHistory, type Past } from './api/client.ts';
import type { History } from './api/types.ts';
import { chunksOf, type Item, merged } from './model/past.ts';
import { itemOf, type Ring, ringsOfHistory, type Stretch, statesOf } from './model/series.ts';
import { addPast, drawn, ringOf, serverNamed } from './store.ts';

/** Of a sparkline: ten minutes. */
const SPARK_POINTS = 60;
const GATHER_MS = 50;
const REFRESH_MS = 60_000;

export type Span = Past['span'];
const [span, setSpan] = createSignal<Span>('hour');
/** What all charts show. */
export { setSpan, span };

/** Items whose past was asked for; each is asked for once. */
const asked = new Set<string>();
let queue: string[] = [];
let busy = false;

async function load(
	server: string,
	items: Item[],
	want: Span,
	points: number,
): Promise<History | null> {
	let all: History | null = null;
	for (const part of chunksOf(items, want, points)) {
		const answer = await getHistory(server, { span: want, points, ...part });
		all = all ? merged(all, answer) : answer;
	}
	return all;
}

const isConnected = (server: string): boolean => serverNamed(server)?.connected ?? false;

/** Items of one server at a time. Those that cannot be had now are asked for again when they are drawn again. */
async function work(): Promise<void> {
	const server = itemOf(queue[0] as string).server;
	const mine = queue.filter((key) => itemOf(key).server === server);
	queue = queue.filter((key) => itemOf(key).server !== server);
	const answer = isConnected(server)
		? await load(server, mine.map(itemOf), 'hour', SPARK_POINTS).catch(() => null)
		: null;
	if (answer) addPast(ringsOfHistory(server, answer));
	else for (const key of mine) asked.delete(key);
}

async function workAll(): Promise<void> {
	while (queue.length > 0) await work();
	busy = false;
}

/** Asks for the last minutes of a ring. */
export function wantPast(key: string): void {
	if (asked.has(key) || !untrack(() => isConnected(itemOf(key).server))) return;
	asked.add(key);
	queue.push(key);
	if (busy) return;
	busy = true;
	window.setTimeout(() => void workAll(), GATHER_MS);
}

export interface Shown {
	/** The ring to draw now: of the last hour, continued by what the page is told, or of the last day. */
	ring: (key: string) => Ring | undefined;
	states: (backend: string) => Stretch[];
	/** The day was asked for and is not there yet. */
	loading: () => boolean;
}

/** The past of the items of a page, in the span that is chosen, for as long as the page is there. */
export function createPast(server: () => string, items: () => Item[]): Shown {
	const wanted = createMemo(() => JSON.stringify([server(), span(), items()]));
	const [past, setPast] = createSignal<History | null>(null);
	const connected = createMemo(() => isConnected(server()));
	createEffect(() => {
		const [name, want, list] = JSON.parse(wanted()) as [string, Span, Item[]];
		let current = true;
		onCleanup(() => {
			current = false;
		});
		const read = async (): Promise<void> => {
			const answer = await load(name, list, want, 0).catch(() => null);
			if (!current) return;
			if (answer && want === 'hour') addPast(ringsOfHistory(name, answer));
			setPast(answer);
		};
		setPast(null);
		if (!connected()) return;
		void read();
		const timer = window.setInterval(() => void read(), REFRESH_MS);
		onCleanup(() => window.clearInterval(timer));
	});
	const day = createMemo(() => {
		const answer = past();
		return answer ? ringsOfHistory(server(), answer) : new Map<string, Ring>();
	});
	return {
		ring: (key) => {
			drawn();
			return span() === 'day' ? day().get(key) : ringOf(key);
		},
		states: (backend) => {
			const answer = past();
			return answer ? statesOf(answer, backend) : [];
		},
		loading: () => span() === 'day' && past() === null,
	};
}
