// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { chunksOf, type Item } from './past.ts';

const items = (count: number): Item[] =>
	Array.from({ length: count }, (_, i) => ({ kind: i % 2 ? 'backend' : 'frontend', name: `${i}` }));

it('no request asks for more than maglevd answers', () => {
	for (const span of ['hour', 'day'] as const)
		for (const points of [0, 60])
			for (const part of chunksOf(items(500), span, points)) {
				const names = part.frontends.length + part.backends.length;
				expect(names).toBeGreaterThan(0);
				expect(names).toBeLessThanOrEqual(24);
				const each = points || (span === 'hour' ? 360 : 720);
				expect(names * 5 * each).toBeLessThanOrEqual(16384);
			}
});

it('every item is asked for once', () => {
	const parts = chunksOf([...items(100), ...items(50)], 'hour', 60);
	expect(parts.flatMap((one) => one.frontends).length).toBe(50);
	expect(new Set(parts.flatMap((one) => one.backends)).size).toBe(50);
	expect(chunksOf([], 'day', 0)).toEqual([]);
});
