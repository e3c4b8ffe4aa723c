// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { linkTo, parseRoute } from './route.ts';

it('what is linked to is where one gets', () => {
	for (const [scope, view, name] of [
		['', 'overview', ''],
		['lb1:9090', 'events', ''],
		['a/b', 'frontend', 'w ww#1%'],
		['', 'way', 'www.example.com/a/b?c=d&e'],
	] as const)
		expect(parseRoute(linkTo(scope, view, name))).toEqual({ scope, view, name });
});

it('nonsense leads to the overview', () => {
	expect(parseRoute('')).toEqual({ scope: '', view: 'overview', name: '' });
	expect(parseRoute('#/%E0%A4%A/nowhere')).toMatchObject({ view: 'overview' });
});
