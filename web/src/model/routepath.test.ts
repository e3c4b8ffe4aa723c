// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { describeRoute, layoutRoute } from './routepath.ts';
import { router, routerPool, routerRoute, routerServer } from './testing.ts';

const listeners = router().listeners;
const shared = routerRoute({
	rules: [
		{
			name: 'r',
			matches: ['prefix /a', 'exact /b'],
			backends: [
				{ pool: 'blue', weight: 3, share: 0.75, servers: 2, usable: 1 },
				{ pool: 'green', weight: 1, share: 0.25, servers: 1, usable: 0 },
			],
			redirect: '',
			filters: [],
		},
	],
});
const pools = [
	routerPool({ servers: [routerServer(), routerServer({ port: 81, state: 'down', share: 0 })] }),
	routerPool({ name: 'green', usable: 0, servers: [routerServer({ state: 'down', share: 0 })] }),
];

describe('the picture of a route', () => {
	it('has every column, and lines whose widths are shares', () => {
		const picture = layoutRoute(shared, listeners, pools, 1000);
		expect(picture.texts.map((one) => one.text)).toEqual(['prefix /a', 'http', 'api.example']);
		expect(picture.texts[0]?.small).toBe('or 1 more');
		expect(picture.pools.map((one) => [one.name, one.usable])).toEqual([
			['blue', true],
			['green', false],
		]);
		expect(picture.servers.map((one) => one.share)).toEqual([0.75, 0, 0]);
		const widest = Math.max(...picture.links.map((one) => one.width));
		expect(picture.links.filter((one) => one.width === widest)).toHaveLength(2);
		expect(picture.links.filter((one) => one.idle && one.state === 'down')).toHaveLength(3);
	});

	it('stays within its frame, wide and narrow', () => {
		for (const width of [300, 358, 719, 720, 1200]) {
			const picture = layoutRoute(shared, listeners, pools, width);
			const all = [...picture.texts, ...picture.pools, ...picture.servers];
			for (const one of all) {
				expect(one.x).toBeGreaterThanOrEqual(0);
				expect(one.x).toBeLessThan(width - 20);
				expect(one.y).toBeGreaterThan(0);
				expect(one.y).toBeLessThan(picture.height);
			}
			const rule = picture.texts[0];
			expect((rule?.x ?? 0) + (rule?.width ?? 0)).toBeLessThan(picture.pools[0]?.x ?? 0);
		}
	});

	it('begins with the rules if it is narrow', () => {
		const picture = layoutRoute(shared, listeners, pools, 358);
		expect(picture.narrow).toBe(true);
		expect(picture.texts).toHaveLength(1);
	});

	it('of a redirect has no pool', () => {
		const moved = routerRoute({
			rules: [
				{ name: 'r', matches: ['prefix /'], backends: [], redirect: '301 to https', filters: [] },
			],
		});
		const picture = layoutRoute(moved, listeners, [], 900);
		expect(picture.pools).toEqual([]);
		expect(picture.texts[0]?.small).toBe('301 to https');
		expect(describeRoute(moved, [])).toContain('redirect, 301 to https');
	});

	it('is bounded, and says what it leaves out', () => {
		const servers = Array.from({ length: 500 }, (_, port) => routerServer({ port }));
		const hosts = Array.from({ length: 100 }, (_, index) => `h${index}.example`);
		const large = routerRoute({ hosts });
		const picture = layoutRoute(large, listeners, [routerPool({ servers })], 900);
		expect(picture.servers).toHaveLength(12);
		expect(picture.left).toBe(488 + 96);
	});

	it('has the same in words', () => {
		expect(describeRoute(shared, pools)).toBe(
			'Way of the requests of api. rule r: 75 % to blue (10.0.0.1:80 up, 10.0.0.1:81 down), ' +
				'25 % to green (10.0.0.1:80 down).',
		);
	});
});
