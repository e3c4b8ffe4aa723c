// SPDX-License-Identifier: Apache-2.0
// Requests for the past, within the bounds of maglevd's answers.
import type { History } from '../api/types.ts';

export interface Item {
	kind: 'frontend' | 'backend';
	name: string;
}

/** Values of one answer of maglevd, at most; points of its spans; lines of an item, at most. */
const VALUES = 16384;
const POINTS = { hour: 360, day: 720 };
const LINES = 5;
/** Names in one request, so that it fits into 4 KB, which is all that maglevd reads. */
const NAMES = 24;

/** Splits items, each once, into requests. points 0: all of the span. */
export function chunksOf(
	items: Item[],
	span: 'hour' | 'day',
	points: number,
): { frontends: string[]; backends: string[] }[] {
	const size = Math.min(NAMES, Math.floor(VALUES / LINES / (points || POINTS[span])));
	const unique = [...new Map(items.map((one) => [`${one.kind} ${one.name}`, one])).values()];
	const names = (part: Item[], kind: Item['kind']) =>
		part.filter((one) => one.kind === kind).map((one) => one.name);
	return Array.from({ length: Math.ceil(unique.length / size) }, (_, index) => {
		const part = unique.slice(index * size, (index + 1) * size);
		return { frontends: names(part, 'frontend'), backends: names(part, 'backend') };
	});
}

/** Two answers as one. When a step ended between them, the older one is a point behind, which no eye sees. */
export const merged = (a: History, b: History): History => ({
	...a,
	frontends: [...a.frontends, ...b.frontends],
	backends: [...a.backends, ...b.backends],
});
