// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import {
	append,
	EMPTY_LOG,
	FAMILIES,
	type Filter,
	KEPT,
	KEPT_DEBUG,
	type Line,
	lineOfChange,
	linesOf,
	select,
} from './events.ts';
import { event, router, routerEvent, routerInfo, speaker, speakerEvent } from './testing.ts';

const all: Filter = { level: 'debug', families: [...FAMILIES], server: '', search: '' };
const down = {
	backend: 'a',
	frontend: 'www',
	from: 'up',
	to: 'down',
	code: 'L4CON',
	replay: false,
	reason: 'refused',
};
const line = (id: number, more: Partial<Line> = {}): Line => ({
	id,
	at: id,
	server: 'one',
	family: 'log',
	level: 'info',
	subject: `line-${id}`,
	text: '',
	to: '',
	...more,
});

it('a backend that goes down is a warning with code and reason', () => {
	expect(linesOf(event('backend', down), 1)[0]).toMatchObject({
		family: 'backend',
		level: 'warn',
		subject: 'a',
		text: 'up → down · L4CON · refused',
		to: 'down',
	});
});

it('what only carries state has no line, nor what the backend itself tells', () => {
	expect(linesOf(event('refresh', {}), 1)).toEqual([]);
	expect(linesOf(event('backend', { ...down, replay: true }), 1)).toEqual([]);
	expect(linesOf(event('log', { level: 'info', msg: 'backend-transition', attrs: {} }), 1)).toEqual(
		[],
	);
});

it('a transition that comes once for each frontend is one line', () => {
	const lines = ['www', 'api'].map(
		(frontend, id) => linesOf(event('backend', { ...down, frontend }), id)[0] as Line,
	);
	expect(append(EMPTY_LOG, lines).lines).toHaveLength(1);
});

it('what happened before is told in the same words', () => {
	const change = {
		from: 'up',
		to: 'down',
		code: 'L4CON',
		at: 10e9,
		reason: 'refused',
		server: 'one',
		backend: 'a',
	};
	expect(lineOfChange(change, 1)).toEqual(linesOf(event('backend', down), 1)[0]);
});

it('probes do not push the rest out', () => {
	let log = append(EMPTY_LOG, [line(0)]);
	for (let id = 1; id < 3000; id++) log = append(log, [line(id, { level: 'debug' })]);
	expect(log.debug.length).toBeLessThanOrEqual(KEPT_DEBUG * 1.1);
	expect(log.lines).toHaveLength(1);
});

it('the log stays within its bound and keeps the newest', () => {
	const log = append(
		EMPTY_LOG,
		Array.from({ length: KEPT * 3 }, (_, id) => line(id)),
	);
	expect(log.lines).toHaveLength(KEPT);
	expect(log.lines.at(-1)?.id).toBe(KEPT * 3 - 1);
});

it('level, family, server and every word of the search must fit', () => {
	const log = append(EMPTY_LOG, [
		line(1, { level: 'debug' }),
		line(2, { level: 'warn', text: 'L4CON refused' }),
		line(3, { server: 'two', family: 'server' }),
	]);
	const ids = (filter: Partial<Filter>) => select(log, { ...all, ...filter }).map((one) => one.id);
	expect(ids({})).toEqual([1, 2, 3]);
	expect(ids({ level: 'info' })).toEqual([2, 3]);
	expect(ids({ level: 'error' })).toEqual([]);
	expect(ids({ families: ['log'] })).toEqual([1, 2]);
	expect(ids({ server: 'two' })).toEqual([3]);
	expect(ids({ search: 'REFUSED l4con' })).toEqual([2]);
	expect(ids({ search: 'refused nowhere' })).toEqual([]);
});

it('a VIP that is withdrawn is a warning with the reason and the frontend that decided', () => {
	const changed = { vip: 'www', state: 'withdrawn', reason: 'frontend-down', culprit: 'one/www' };
	const update = speakerEvent('update', { announcements: [changed] });
	expect(linesOf(update, 1, { speaker: speaker() })).toMatchObject([
		{
			family: 'announcement',
			level: 'warn',
			server: 'lb1',
			subject: 'www',
			text: 'announced → withdrawn · frontend-down · one/www',
			to: 'down',
		},
	]);
	const same = speakerEvent('update', { announcements: [{ vip: 'www', attracts: false }] });
	expect(linesOf(same, 1, { speaker: speaker() })).toEqual([]);
	expect(linesOf(update, 1)).toEqual([]);
});

it('sessions and the contact of a speaker have lines, each with its own number', () => {
	const down = { peer: 'tor1', up: false, last_error: 'Hold Timer Expired' };
	const unknown = { peer: 'tor9', up: false };
	const update = speakerEvent('update', {
		announcements: [{ vip: 'www', state: 'draining' }],
		sessions: [down, unknown],
	});
	expect(linesOf(update, 4, { speaker: speaker() }).map(({ id, text }) => [id, text])).toEqual([
		[4, 'announced → draining · frontend-up'],
		[5, 'session down · Hold Timer Expired'],
	]);
	const lost = speakerEvent('speaker', { connected: false, error: 'refused', since_ns: 1 });
	expect(linesOf(lost, 1, { speaker: speaker() })).toMatchObject([
		{ family: 'server', subject: 'lb1', text: 'no contact: refused' },
	]);
});

it('the contact of a router and a new generation have lines', () => {
	const lost = routerEvent('router', { connected: false, error: 'refused', since_ns: 1 });
	expect(linesOf(lost, 1)).toMatchObject([{ subject: 'rt1', text: 'no contact: refused' }]);
	const next = routerEvent('update', { info: routerInfo({ generation: '2', source: 'api' }) });
	expect(linesOf(next, 1, { router: router() })).toMatchObject([
		{ family: 'server', server: 'rt1', text: 'generation 2 is in force, from api' },
	]);
	const same = routerEvent('update', { info: routerInfo({ clients: '9' }) });
	expect(linesOf(same, 1, { router: router() })).toEqual([]);
});
