// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { linkTo, parsePlace } from './place.ts';

test('a link leads back to its place', () => {
	for (const [view, key] of [
		['overview', ''],
		['events', ''],
		['mux', 'lb/edge'],
		['channel', 'app/a b%'],
	] as const)
		expect(parsePlace(linkTo(view, key))).toEqual({ view, key });
});

test('what is unknown is the overview', () => {
	expect(parsePlace('')).toEqual({ view: 'overview', key: '' });
	expect(parsePlace('#/nonsense')).toEqual({ view: 'overview', key: '' });
	expect(parsePlace('#/mux/%zz/x')).toEqual({ view: 'mux', key: '%zz/x' });
});
