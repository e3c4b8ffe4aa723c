// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { fan, describe as inWords, layout, lineWidth } from './paths.ts';
import { frontend, poolBackend } from './testing.ts';

it('lines are as wide as their share, and those without one are thin', () => {
	expect(lineWidth(1)).toBeGreaterThan(lineWidth(0.5));
	expect(lineWidth(0.0001)).toBeGreaterThan(lineWidth(0));
});

it('lines that leave one point lie side by side around it', () => {
	expect(fan([4, 2], 10)).toEqual([9, 12]);
});

it('every backend has its row, and nobody stands on another', () => {
	const picture = layout(frontend(), 900);
	const rows = picture.backends.map((one) => one.y);
	expect(new Set(rows).size).toBe(3);
	expect(rows).toEqual([...rows].sort((a, b) => a - b));
	expect(Math.max(...rows)).toBeLessThan(picture.height);
	expect(picture.backends.map((one) => one.share)).toEqual([0.5, 0.5, 0]);
	expect(picture.links).toHaveLength(5);
});

it('nothing serves: all lines are idle and nothing is divided by zero', () => {
	const backends = [poolBackend('a', { effective_weight: 0, state: 'down' })];
	const picture = layout(frontend({ pools: [{ name: 'p', active: false, backends }] }), 900);
	expect(picture.links.every((one) => one.idle && Number.isFinite(one.width))).toBe(true);
	expect(layout(frontend({ pools: [] }), 900).height).toBeGreaterThan(0);
});

it('fits a phone', () => {
	const picture = layout(frontend(), 330);
	expect(picture.narrow).toBe(true);
	const [pool] = picture.pools;
	expect(
		pool && pool.x > picture.vip.x && pool.x + pool.width < (picture.backends[0]?.x ?? 0),
	).toBe(true);
});

it('says in words what it shows', () => {
	expect(inWords(frontend())).toBe(
		'Share of new flows of www. pool primary, active: a up 50 %, b up 50 %; pool spare: c up 0 %.',
	);
});
