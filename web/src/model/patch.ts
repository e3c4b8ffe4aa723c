// SPDX-License-Identifier: Apache-2.0
// The difference between a server and what is shown of it, so that only that is updated: of a thousand
// backends a few hundred change each second. Pure; unchanged parts stay the same object.
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

/** The items that differ between two lists, or the whole list if the names have changed. */
function patchList(key: string, before: Named[], after: Named[]): Patch[] {
	if (!sameNames(before, after)) return [{ path: [key], value: after }];
	return after.flatMap((value, index) =>
		value === before[index] ? [] : [{ path: [key, index], value }],
	);
}

/** The counters of VIPs go to the charts; no page reads them from here. */
const withoutFigures = (counters: Counters | null): Counters | null =>
	counters && { ...counters, vips: [], servers: [] };

/** The part of a server that pages use. */
export const shownOf = (server: ServerView): ServerView => ({
	...server,
	counters: withoutFigures(server.counters),
});

/** The new list with the old object for each unchanged item, so that rows and the focus stay. */
export function reused<T>(before: T[], after: T[]): T[] {
	const known = new Map(before.map((one) => [JSON.stringify(one), one]));
	return after.map((one) => known.get(JSON.stringify(one)) ?? one);
}

export function patchesOf(before: ServerView, after: ServerView): Patch[] {
	const keys = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof ServerView>;
	return [...keys].flatMap((key) => {
		const value = after[key];
		if (value === before[key]) return [];
		if (LISTS.includes(key)) return patchList(key, before[key] as Named[], value as Named[]);
		if (key === 'counters') return [{ path: [key], value: withoutFigures(after.counters) }];
		return [{ path: [key], value }];
	});
}
