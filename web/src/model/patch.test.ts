// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { patchesOf, reused } from './patch.ts';
import { reduce } from './state.ts';
import { backend, event, frontend, server } from './testing.ts';

const one = server();
const after = (what: ReturnType<typeof event>) => {
	const state = reduce({ epoch: '', seq: 0, servers: [one], speakers: [], routers: [] }, what);
	return state.servers[0] as typeof one;
};
const paths = (what: ReturnType<typeof event>) =>
	patchesOf(one, after(what)).map(({ path }) => path.join('.'));

it('a backend with news is all that is touched', () => {
	const fresh = backend('b', { last_probe: '77' });
	expect(paths(event('update', { backends: [fresh] }))).toEqual(['backends.1']);
	expect(patchesOf(one, after(event('update', { backends: [fresh] })))[0]?.value).toMatchObject(
		fresh,
	);
});

it('a transition touches the backend and the frontends that have it', () => {
	const more = { ...frontend(), name: 'other', pools: [] };
	const two = server({ frontends: [frontend(), more] });
	const payload = { backend: 'c', frontend: 'www', from: 'up', to: 'down', code: '', reason: '' };
	const state = reduce(
		{ epoch: '', seq: 0, servers: [two], speakers: [], routers: [] },
		event('backend', { ...payload, replay: false }),
	);
	const found = patchesOf(two, state.servers[0] as typeof two);
	expect(found.map(({ path }) => path.join('.'))).toEqual(['frontends.0', 'backends.2']);
});

it('other names are another list', () => {
	expect(paths(event('refresh', { backends: [backend('a'), backend('z')] }))).toEqual(['backends']);
});

it('what is the same stays the same object, also when others come before it', () => {
	const before = [{ name: 'a' }, { name: 'b' }];
	const after = reused(before, [{ name: 'new' }, { name: 'a' }]);
	expect(after[1]).toBe(before[0]);
	expect(after[0]).toEqual({ name: 'new' });
});

it('nothing new is nothing to do', () => {
	expect(paths(event('log', { level: 'info', msg: '', attrs: {} }))).toEqual([]);
	expect(patchesOf(one, { ...one })).toEqual([]);
});

it('what is only charted is not shown elsewhere', () => {
	const counters = {
		dataplane: 'vpp',
		at: 1,
		vips: [{}],
		servers: [{}],
		has_as_flows: true,
	} as unknown as NonNullable<typeof one.counters>;
	const [patch] = patchesOf(one, after(event('counters', counters)));
	expect(patch).toMatchObject({
		path: ['counters'],
		value: { has_as_flows: true, vips: [], servers: [] },
	});
});
