// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { shared } from './share.ts';

const fresh = () => ({
	name: 'a',
	vips: [
		{ port: 1, servers: [{ w: 1 }] },
		{ port: 2, servers: [] },
	],
});

it('equal values are the old object', () => {
	const before = fresh();
	expect(shared(before, fresh())).toBe(before);
});

it('a part that differs is new, its neighbours are not', () => {
	const before = fresh();
	const after = {
		...fresh(),
		vips: [
			{ port: 1, servers: [{ w: 2 }] },
			{ port: 2, servers: [] },
		],
	};
	const value = shared(before, after);
	expect(value).toEqual(after);
	expect(value).not.toBe(before);
	expect(value.vips[0]).not.toBe(before.vips[0]);
	expect(value.vips[1]).toBe(before.vips[1]);
});

const PAIRS: [unknown, unknown][] = [
	[null, { a: 1 }],
	[{ a: 1 }, null],
	[[1], { 0: 1 }],
	[{ a: undefined }, { b: undefined }],
	[[1, 2], [1]],
	[[1], [1, 2]],
	[{ a: 1 }, { a: '1' }],
];

it.each(PAIRS)('%j becomes %j', (before, after) => {
	const copy = structuredClone(after);
	const value = shared(before, after);
	expect(value).toEqual(copy);
	expect(value).not.toBe(before);
});
