// SPDX-License-Identifier: Apache-2.0
// Lists that are computed again, of which most items are equal to those before. Pure.

/** The new list with the old object for each unchanged item, so that rows and the focus stay. */
export function reused<T>(before: T[], after: T[]): T[] {
	const known = new Map(before.map((one) => [JSON.stringify(one), one]));
	return after.map((one) => known.get(JSON.stringify(one)) ?? one);
}
