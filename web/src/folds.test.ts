// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { isFolded, MOST, toggled, toggleFold } from './folds.ts';

it('what is folded twice is open', () => {
	expect(toggled([], 'Pools')).toEqual(['Pools']);
	expect(toggled(['Pools', 'Traffic'], 'Pools')).toEqual(['Traffic']);
});

it('what was folded longest ago is forgotten beyond the bound', () => {
	let folded: string[] = [];
	for (let i = 0; i < MOST + 3; i++) folded = toggled(folded, `lb${i}`);
	expect(folded).toHaveLength(MOST);
	expect(folded[0]).toBe('lb3');
});

it('folds also where the browser keeps nothing', () => {
	toggleFold('Pools');
	expect(isFolded('Pools')).toBe(true);
});
