// SPDX-License-Identifier: Apache-2.0
// Where a server differs from what is shown of it, so that only this has to be touched: of a thousand
// backends a few hundred have news each second. Pure; what did not change is the same object.
import type { Counters } from '../api/types.ts';
import type { ServerView } from './state.ts';

export interface Patch {
	path: (string | number)[];
	value: unknown;
}

type Named = { name: string };
const LISTS: readonly string[] = ['frontends', 'backends', 'healthchecks'];

const sameNames = (before: Named[], after: Named[]): boolean =>
	before.length === after.length && before.every((one, index) => one.name === after[index]?.name);

/** Of two lists: the items that differ, or the whole list when others are in it. */
function patchList(key: string, before: Named[], after: Named[]): Patch[] {
	if (!sameNames(before, after)) return [{ path: [key], value: after }];
	return after.flatMap((value, index) =>
		value === before[index] ? [] : [{ path: [key, index], value }],
	);
}

/** The figures of each VIP go into charts; no page reads them from here. */
const withoutFigures = (counters: Counters | null): Counters | null =>
	counters && { ...counters, vips: [], servers: [] };

/** A server as pages see it. */
export const shownOf = (server: ServerView): ServerView => ({
	...server,
	counters: withoutFigures(server.counters),
});

/** The new list, with the old object for each that is the same: rows stay, and so does the focus. */
export function reused<T>(before: T[], after: T[]): T[] {
	const known = new Map(before.map((one) => [JSON.stringify(one), one]));
	return after.map((one) => known.get(JSON.stringify(one)) ?? one);
}

export function patchesOf(before: ServerView, after: ServerView): Patch[] {
	return (Object.keys(after) as (keyof ServerView)[]).flatMap((key) => {
		const value = after[key];
		if (value === before[key]) return [];
		if (LISTS.includes(key)) return patchList(key, before[key] as Named[], value as Named[]);
		if (key === 'counters') return [{ path: [key], value: withoutFigures(after.counters) }];
		return [{ path: [key], value }];
	});
}
