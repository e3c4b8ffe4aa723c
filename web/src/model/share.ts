// SPDX-License-Identifier: Apache-2.0
// What is equal to what was known before stays the same object, so that pages can compare by identity. Pure.

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === 'object' && value !== null;

/** The new value, in which each part that equals the old one is the old one. Both are plain data. */
export function shared<T>(before: T, after: T): T {
	if (Object.is(before, after) || !isObject(before) || !isObject(after)) return after;
	if (Array.isArray(before) !== Array.isArray(after)) return after;
	let same = Object.keys(before).length === Object.keys(after).length;
	for (const [key, value] of Object.entries(after)) {
		const old = (before as Record<string, unknown>)[key];
		const kept = shared(old, value);
		if (kept !== value) (after as Record<string, unknown>)[key] = kept;
		if (!Object.is(kept, old) || !(key in before)) same = false;
	}
	return same ? before : after;
}
