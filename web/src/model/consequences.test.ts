// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { ofAct, ofWeight, shareWith } from './consequences.ts';
import { frontend, poolBackend } from './testing.ts';

const alone = frontend({
	pools: [
		{ name: 'primary', active: true, backends: [poolBackend('a')] },
		{ name: 'spare', active: false, backends: [poolBackend('c', { effective_weight: 0 })] },
	],
});
const last = frontend({ pools: [{ name: 'primary', active: true, backends: [poolBackend('a')] }] });
const primary = (of: typeof alone) => of.pools[0] as (typeof of.pools)[0];

it('a pause keeps flows, disabling cuts them', () => {
	expect(ofAct('pause', 'a', [frontend()]).existing).toMatch(/^They stay/);
	expect(ofAct('disable', 'a', [frontend()]).existing).toMatch(/are cut/);
});

it('says who takes over: the pool, the next pool, or nobody', () => {
	expect(ofAct('pause', 'a', [frontend()])).toMatchObject({
		frontends: ['www: the rest of pool primary takes its share.'],
		fatal: false,
	});
	expect(ofAct('pause', 'a', [alone])).toMatchObject({
		frontends: ['www: pool spare takes over from pool primary.'],
		fatal: false,
	});
	expect(ofAct('pause', 'a', [last]).fatal).toBe(true);
	expect(ofAct('pause', 'a', [last]).frontends[0]).toMatch(/nobody is left/);
});

it('a backend that gets nothing now changes nothing by leaving', () => {
	expect(ofAct('disable', 'c', [frontend()])).toMatchObject({ fatal: false });
	expect(ofAct('disable', 'c', [frontend()]).frontends[0]).toMatch(/nothing changes/);
});

it('to come back harms nobody', () => {
	expect(ofAct('resume', 'a', [last])).toMatchObject({ frontends: [], fatal: false });
});

it('a weight says its share, 0 says who takes over, flush says what is cut', () => {
	expect(shareWith(primary(frontend()), 'a', 25)).toBeCloseTo(0.2);
	const less = ofWeight(frontend(), primary(frontend()), 'a', { weight: 25, flush: false });
	expect([less.newFlows, less.fatal]).toEqual(['It gets about 20 % of the new flows.', false]);
	const none = ofWeight(last, primary(last), 'a', { weight: 0, flush: true });
	expect(none.fatal).toBe(true);
	expect(none.existing).toMatch(/are cut/);
});
