// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { WayStep } from '../api/types.ts';
import {
	errorText,
	headline,
	iconOf,
	pageOf,
	parentOf,
	rateText,
	shareText,
	titleOf,
	verdictOf,
} from './way.ts';

const step = (kind: string, depth: number, name: string, more: Partial<WayStep> = {}): WayStep => ({
	kind,
	depth,
	place: 'lb1',
	name,
	detail: '',
	state: 'good',
	word: '',
	reason: '',
	since: '0',
	...more,
});

const steps = [
	step('vip', 0, '198.51.100.10:80/tcp', { place: '' }),
	step('balancer', 1, 'lb1'),
	step('announcement', 2, 'www'),
	step('frontend', 2, 'www'),
	step('pool', 3, 'primary'),
	step('backend', 4, 'web1'),
	step('router', 5, 'http', { place: 'edge' }),
	step('route', 6, 'api', { place: 'edge' }),
	step('router-pool', 7, 'blue', { place: 'edge' }),
	step('server', 8, '10.1.0.1:8080', { place: 'edge' }),
];

it('each step leads to its page', () => {
	expect(steps.map((_, index) => pageOf(steps, index))).toEqual([
		null,
		'#/-/announcements',
		'#/-/announcements',
		'#/lb1/frontend/www',
		'#/lb1/frontend/www',
		'#/lb1/backend/web1',
		'#/-/routers',
		'#/-/route/edge%2Fapi',
		'#/-/route/edge%2Fapi',
		'#/-/route/edge%2Fapi',
	]);
	expect(pageOf(steps, 99)).toBeNull();
});

it('a step is below the last one with a lower depth', () => {
	expect(parentOf(steps, 0)).toBe(-1);
	expect(parentOf(steps, 3)).toBe(1);
	expect(parentOf(steps, 9)).toBe(8);
});

it('figures that are not known are not shown as 0', () => {
	const [one] = steps as [WayStep];
	expect([shareText(one), rateText(one), errorText(one)]).toEqual(['–', '–', '–']);
	const busy = step('backend', 4, 'web1', {
		share: { of_step: 0.3333 },
		traffic: { unit: 'packets', rate: 1500, errors: 0 },
	});
	expect([shareText(busy), rateText(busy), errorText(busy)]).toEqual([
		'33.3 %',
		'1.50 kpackets/s',
		'0 /s',
	]);
});

it('states have icons and verdicts, also those that are new', () => {
	expect(['good', 'idle', 'lossy', 'strange'].map(iconOf)).toEqual([
		'up',
		'disabled',
		'down',
		'unknown',
	]);
	expect(['good', 'poor', 'broken', 'strange'].map(verdictOf)).toEqual([
		'ok',
		'degraded',
		'critical',
		'unknown',
	]);
});

it('the sentence of the server goes first', () => {
	expect(headline('broken', 'nobody announces it')).toBe('nobody announces it');
	expect(headline('good', '')).toBe('Packets get through.');
	expect(headline('unknown', '')).toContain('not known');
	expect(titleOf(step('router', 5, 'http', { place: 'edge' }))).toBe('edge http');
});
