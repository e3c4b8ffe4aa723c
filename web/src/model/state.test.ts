// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../api/types.ts';
import { EMPTY, fromSnapshot, recentChanges, reduce, type State } from './state.ts';
import {
	backend,
	event,
	frontend,
	lb,
	lbServer,
	router,
	routerEvent,
	SECOND,
	server,
	speaker,
	speakerEvent,
} from './testing.ts';

const world = (): State => ({
	epoch: '1',
	seq: 0,
	servers: [server(), server({ name: 'two' })],
	speakers: [speaker(), speaker({ name: 'lb2' })],
	routers: [router(), router({ name: 'rt2' })],
});
const down = {
	backend: 'a',
	frontend: 'www',
	from: 'up',
	to: 'down',
	code: 'L4CON',
	replay: false,
	reason: 'refused',
};
const one = (state: State) => state.servers[0] as NonNullable<State['servers'][0]>;

describe('an event of a backend', () => {
	it('changes its state everywhere at once, and leaves the other server the same object', () => {
		const before = world();
		const after = reduce(before, event('backend', down));
		expect(one(after).backends[0]?.state).toBe('down');
		expect(one(after).frontends[0]?.pools[0]?.backends[0]?.state).toBe('down');
		expect(one(after).frontends[0]?.pools[0]?.backends[1]?.state).toBe('up');
		expect(after.servers[1]).toBe(before.servers[1]);
		expect(one(before).backends[0]?.state).toBe('up');
	});

	it('is in the history once, though it comes for each frontend', () => {
		const twice = reduce(
			reduce(world(), event('backend', down)),
			event('backend', { ...down, frontend: 'api' }),
		);
		expect(one(twice).backends[0]?.transitions.map((t) => t.to)).toEqual(['down', 'up']);
	});

	it('changes nothing when it is the replay of a state', () => {
		const before = world();
		expect(reduce(before, event('backend', { ...down, replay: true }))).toEqual(before);
	});

	it('of a server that is not known changes nothing', () => {
		const before = world();
		expect(reduce(before, event('backend', down, 10, 'three'))).toBe(before);
	});
});

describe('lists that come again', () => {
	it('keep the reasons that only events had', () => {
		const told = reduce(world(), event('backend', down, 10));
		const fresh = backend('a', {
			state: 'down',
			transitions: [
				{ from: 'up', to: 'down', code: 'L4CON', at: String(10 * SECOND) },
				{ from: 'unknown', to: 'up', code: 'L7OK', at: String(SECOND) },
			],
		});
		const after = reduce(told, event('refresh', { backends: [fresh] }));
		expect(one(after).backends).toHaveLength(1);
		expect(one(after).backends[0]?.transitions[0]?.reason).toBe('refused');
	});

	it('keep older history than the server does', () => {
		const fresh = backend('a', {
			transitions: [{ from: 'up', to: 'down', code: 'L4CON', at: String(5 * SECOND) }],
		});
		const after = reduce(world(), event('refresh', { backends: [fresh] }));
		expect(one(after).backends[0]?.transitions.map((t) => t.to)).toEqual(['down', 'up']);
	});

	it('in part change those fields of those items alone', () => {
		const before = world();
		const after = reduce(
			before,
			event('update', { backends: [{ name: 'b', state: 'paused' }], vpp: null }),
		);
		expect(one(after).backends).toEqual([
			backend('a'),
			backend('b', { state: 'paused' }),
			backend('c'),
		]);
		expect(one(after).backends[0]).toBe(one(before).backends[0]);
		expect(one(after).frontends).toBe(one(before).frontends);
	});

	it('in two parts of one event are both taken', () => {
		const after = reduce(
			world(),
			event('update', {
				backends: [
					{ name: 'b', state: 'paused' },
					{ name: 'b', counter: 2 },
				],
			}),
		);
		expect(one(after).backends[1]).toEqual(backend('b', { state: 'paused', counter: 2 }));
	});

	it('take away what is told as null', () => {
		const override = { act: 'paused', reason: '', at: 1, until: 0 };
		const paused = reduce(world(), event('update', { backends: [{ name: 'a', override }] }));
		expect(one(paused).backends[0]?.override).toEqual(override);
		const after = reduce(paused, event('update', { backends: [{ name: 'a', override: null }] }));
		expect(one(after).backends[0]?.override).toBeUndefined();
	});
});

describe('a difference in the data plane', () => {
	const differs = event('lb', { lb: lb([lbServer('1', { weight: 7 })]), lb_error: '' }, 10);

	it('keeps the time at which it was first seen', () => {
		const later = event('lb', { lb: lb([lbServer('1', { weight: 9 })]), lb_error: '' }, 20);
		const after = reduce(reduce(world(), differs), later);
		expect(Object.values(one(after).drift)).toEqual([10_000]);
	});

	it('is forgotten when it is gone', () => {
		const mended = event('lb', { lb: lb([lbServer('1')]), lb_error: '' }, 20);
		expect(one(reduce(reduce(world(), differs), mended)).drift).toEqual({});
	});
});

describe('an event of the data plane', () => {
	const payload = {
		dataplane: 'vpp',
		change: 'disconnected',
		reason: 'gone',
		connected: false,
		problem: '',
		warmup: 'done',
		held: true,
		last_full_sync: '7',
	};

	it('is seen before its state is read', () => {
		const before = reduce(world(), event('lb', { lb: lb([lbServer('1')]), lb_error: '' }));
		const after = one(reduce(before, event('dataplane', payload)));
		expect(after.lb).toMatchObject({ connected: false, held: true, last_full_sync: '7' });
		expect(after.lb?.vips).toBe(one(before).lb?.vips);
	});

	it('changes nothing while nothing was read', () => {
		const before = world();
		const unread = { ...before, servers: [{ ...one(before), lb: null }] };
		expect(reduce(unread, event('dataplane', payload))).toBe(unread);
	});
});

it('an event of a kind that is not known changes nothing', () => {
	const before = world();
	const unknown = { ...event('counters', null), type: 'weather' } as unknown as StreamEvent;
	expect(reduce(before, unknown)).toBe(before);
});

it('a server that is lost is marked, and what was known of it stays', () => {
	const after = reduce(
		world(),
		event('server', { connected: false, error: 'refused', since_ns: 5 }),
	);
	expect(one(after)).toMatchObject({ connected: false, error: 'refused', frontends: [frontend()] });
});

it('a snapshot takes the place of everything', () => {
	const state = fromSnapshot({ epoch: '9', seq: 7, servers: [server({ name: 'new' })] }, world());
	expect([state.epoch, state.seq, state.servers.map((s) => s.name)]).toEqual(['9', 7, ['new']]);
	expect(
		fromSnapshot({ epoch: '9', seq: 7, servers: [], speakers: [], routers: [] }, EMPTY).servers,
	).toEqual([]);
});

it('the last changes of all servers are in the order of time', () => {
	const state = reduce(world(), event('backend', { ...down, backend: 'b' }, 10));
	const changes = recentChanges(state.servers, 2);
	expect(changes.map((c) => [c.server, c.backend, c.to])).toEqual([
		['one', 'b', 'down'],
		['one', 'a', 'up'],
	]);
});

describe('an event of a speaker', () => {
	it('changes only the fields that it has, of that speaker alone', () => {
		const before = world();
		const changed = { vip: 'www', state: 'withdrawn', reason: 'frontend-down', l2: null };
		const after = reduce(before, speakerEvent('update', { announcements: [changed] }));
		expect(after.speakers[0]?.announcements[0]).toMatchObject({
			address: '198.51.100.10',
			state: 'withdrawn',
			reason: 'frontend-down',
		});
		expect(after.speakers[1]).toBe(before.speakers[1]);
		expect(after.servers).toBe(before.servers);
		expect(after.speakers[0]?.sessions).toBe(before.speakers[0]?.sessions);
	});

	it('replaces lists, takes the contact, and is ignored for unknown names', () => {
		const before = world();
		const empty = reduce(before, speakerEvent('refresh', { sessions: [] }));
		expect(empty.speakers[0]?.sessions).toEqual([]);
		const lost = { connected: false, error: 'gone', since_ns: 5 };
		expect(reduce(before, speakerEvent('speaker', lost)).speakers[0]).toMatchObject(lost);
		expect(reduce(before, speakerEvent('speaker', lost, 'nobody'))).toBe(before);
	});

	it('does not touch a server of the same name', () => {
		const before = { ...world(), speakers: [speaker({ name: 'one' })] };
		const lost = { connected: false, error: 'gone', since_ns: 5 };
		expect(one(reduce(before, speakerEvent('speaker', lost, 'one'))).connected).toBe(true);
	});
});

it('a snapshot of an older maglevd-frontend has no speakers', () => {
	expect(fromSnapshot({ epoch: '9', seq: 7, servers: [] }, EMPTY).speakers).toEqual([]);
});

describe('an event of a router', () => {
	it('changes the fields of one item and leaves the others the same objects', () => {
		const before = world();
		const after = reduce(before, routerEvent('update', { pools: [{ name: 'blue', usable: 1 }] }));
		expect(after.routers[0]?.pools[0]).toMatchObject({
			name: 'blue',
			usable: 1,
			balance: 'random',
		});
		expect(after.routers[0]?.routes).toBe(before.routers[0]?.routes);
		expect(after.routers[1]).toBe(before.routers[1]);
		expect(after.speakers).toBe(before.speakers);
	});

	it('of an unknown router is ignored', () => {
		const before = world();
		expect(reduce(before, routerEvent('refresh', { routes: [] }, 'rt9'))).toBe(before);
	});

	it('that has whole lists replaces them', () => {
		const after = reduce(world(), routerEvent('refresh', { routes: [] }));
		expect(after.routers[0]?.routes).toEqual([]);
		expect(after.routers[0]?.pools).toHaveLength(1);
	});
});

it('of an event only what it concerns is a new object', () => {
	const before = world();
	const fresh = { name: 'b', last_probe: '77' };
	const after = reduce(before, event('update', { backends: [fresh] }));
	const [old, now] = [one(before), one(after)];
	expect(now.backends[1]).toMatchObject(fresh);
	expect(now.backends.map((it, index) => it === old.backends[index])).toEqual([true, false, true]);
	expect(now.frontends).toBe(old.frontends);
	expect(reduce(before, event('log', { level: 'info', msg: '', attrs: {} }))).toBe(before);
});

it('a transition is news of the backend and of the frontends that have it', () => {
	const payload = { backend: 'c', frontend: 'www', from: 'up', to: 'down', code: '', reason: '' };
	const other = frontend({ name: 'other', pools: [] });
	const two = server({ frontends: [frontend(), other] });
	const before = { ...EMPTY, servers: [two] };
	const now = one(reduce(before, event('backend', { ...payload, replay: false })));
	expect(now.frontends.map((it, index) => it === two.frontends[index])).toEqual([false, true]);
	expect(now.backends.map((it, index) => it === two.backends[index])).toEqual([true, true, false]);
});

it('a data plane that is read again and is the same stays the same object', () => {
	const servers = () => [lbServer('1'), lbServer('2', { weight: 7 })];
	const before = reduce(world(), event('lb', { lb: lb(servers()), lb_error: '' }));
	const same = reduce(before, event('lb', { lb: lb(servers()), lb_error: '' }));
	expect(one(same).lb).toBe(one(before).lb);
	const other = [lbServer('1'), lbServer('2', { weight: 8 })];
	const after = reduce(before, event('lb', { lb: lb(other), lb_error: '' }));
	const [vip, old] = [one(after).lb?.vips[0], one(before).lb?.vips[0]];
	expect(vip?.application_servers[0]).toBe(old?.application_servers[0]);
	expect(vip?.application_servers[1]?.weight).toBe(8);
});
