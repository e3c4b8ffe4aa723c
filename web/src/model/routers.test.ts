// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
	changesText,
	errorText,
	hasManyErrors,
	noteOf,
	ofRollback,
	placeName,
	placeOf,
	problemsOf,
	rateText,
	routerConcerns,
	shareText,
	targetsText,
	verdictOf,
	verdictOfPool,
} from './routers.ts';
import {
	generation,
	router,
	routerInfo,
	routerPool,
	routerRoute,
	routerServer,
	traffic,
} from './testing.ts';

const rule = (usable: number, more: { pool?: string; weight?: number; servers?: number } = {}) => ({
	name: 'r',
	matches: ['prefix /'],
	backends: [{ pool: 'blue', weight: 1, share: 1, servers: 2, usable, ...more }],
	redirect: '',
	filters: [],
});

describe('a route', () => {
	const verdict = (...rules: ReturnType<typeof rule>[]) =>
		verdictOf(router(), routerRoute({ rules }));
	const beside = (state: string) =>
		verdictOf(
			router({ pools: [routerPool({ servers: [routerServer(), routerServer({ state })] })] }),
			routerRoute(),
		);

	it('is well with all servers, degraded with some, and critical without any', () => {
		expect(verdict(rule(2))).toBe('ok');
		expect(beside('down')).toBe('degraded');
		expect(beside('ejected')).toBe('degraded');
		expect(beside('draining')).toBe('ok');
		expect(verdict(rule(0))).toBe('critical');
		expect(verdict(rule(2), rule(0))).toBe('critical');
	});

	it('whose backends partly have no server is a warning', () => {
		const shared = rule(2);
		shared.backends.push({ pool: 'green', weight: 1, share: 0.5, servers: 1, usable: 0 });
		expect(verdict(shared)).toBe('warning');
	});

	it('that is a redirect needs no server', () => {
		expect(verdict({ ...rule(0), backends: [], redirect: '301 to https' })).toBe('ok');
	});

	it('with many errors is a warning, but not because of one of a few requests', () => {
		const failing = traffic({ error_share: 0.2, rate: 10 });
		expect(verdictOf(router(), routerRoute({ traffic: failing }))).toBe('warning');
		expect(hasManyErrors(traffic({ error_share: 0.2, rate: 0.1 }))).toBe(false);
	});

	it('of a router without contact is not known', () => {
		expect(verdictOf(router({ connected: false }), routerRoute())).toBe('unknown');
	});

	it('leads to pools with their shares, each target once', () => {
		const shared = rule(1);
		shared.backends.push({ pool: '', weight: 1, share: 0.25, servers: 0, usable: 0 });
		expect(targetsText(routerRoute({ rules: [rule(1), rule(2)] }))).toBe('blue');
		expect(targetsText(routerRoute({ rules: [shared] }))).toBe('blue 100 %, 500 25 %');
		const none = { ...rule(0), backends: [] };
		expect(targetsText(routerRoute({ rules: [none] }))).toBe('answered with 500');
	});

	it('is found by its place, whose name may have a slash', () => {
		const odd = routerRoute({ name: 'a/b' });
		const all = [router({ routes: [routerRoute(), odd] })];
		expect(placeOf(all, placeName('rt1', 'a/b'))?.route).toBe(odd);
		expect(placeOf(all, 'rt2/api')).toBeUndefined();
		expect(placeOf(all, 'api')).toBeUndefined();
	});
});

it('a pool without servers is critical only if a route uses it', () => {
	expect(verdictOfPool(router(), routerPool({ usable: 0 }))).toBe('critical');
	expect(verdictOfPool(router(), routerPool({ usable: 0, routes: [] }))).toBe('degraded');
	expect(verdictOfPool(router(), routerPool())).toBe('ok');
});

describe('what needs attention', () => {
	it('is a router without contact', () => {
		const lost = router({ connected: false, error: 'refused', since_ns: 5 });
		expect(routerConcerns([lost])).toEqual([
			{ verdict: 'critical', title: 'router rt1', notes: 'no contact: refused', since: 5 },
		]);
		expect(routerConcerns([{ ...lost, cut: true }])[0]?.verdict).toBe('unknown');
	});

	it('are problems of a router, and routes with errors', () => {
		const info = routerInfo({ problem: 'pool blue has no server', config_error: 'x' });
		expect(problemsOf(router({ info }))).toEqual([
			'pool blue has no server',
			'the file was refused: x',
		]);
		const failing = routerRoute({ traffic: traffic({ error_share: 0.5 }) });
		expect(routerConcerns([router({ routes: [failing] })])).toMatchObject([
			{ verdict: 'warning', title: 'route api on rt1', notes: '50 % of its requests fail' },
		]);
		expect(routerConcerns([router()])).toEqual([]);
	});
});

describe('figures as text', () => {
	it('have few digits, and a dash if they are not known', () => {
		expect([0, 0.04, 3.14, 42, 12_345].map((rate) => rateText(traffic({ rate })))).toEqual([
			'0 /s',
			'0 /s',
			'3.1 /s',
			'42 /s',
			'12.3 k/s',
		]);
		expect([0, 0.0001, 0.0123, 0.5].map(shareText)).toEqual(['0 %', '<0.1 %', '1.2 %', '50 %']);
		expect(rateText(undefined)).toBe('–');
		expect(errorText(undefined)).toBe('–');
	});
});

describe('a generation', () => {
	it('says how much it changed, and what it is', () => {
		expect(changesText(generation({ added: 2, changed: 1 }))).toBe('+2 ~1');
		expect(changesText(generation())).toBe('nothing');
		expect(changesText(generation({ compared: false }))).toBe('–');
		expect(noteOf(generation({ of: '3' }))).toBe('in force, repeats 3');
		expect(noteOf(generation({ in_force: false }))).toBe('still used by requests');
	});

	it('that is returned to undoes those after it', () => {
		const all = [
			generation({ number: '4' }),
			generation({ number: '2', in_force: false, routes: 7, pools: 3 }),
		];
		const it = router({ generations: { generations: all } });
		expect(ofRollback(it, '2')).toContain('7 routes and 3 pools');
		expect(ofRollback(it, '2')).toContain('generations 3 to 4 are undone');
		expect(ofRollback(it, '1')).toBe('Generation 1 is no longer kept.');
	});
});
