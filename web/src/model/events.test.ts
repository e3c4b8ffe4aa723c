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
	lineOf,
	lineOfChange,
	select,
} from './events.ts';
import { event } from './testing.ts';

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
	expect(lineOf(event('backend', down), 1)).toMatchObject({
		family: 'backend',
		level: 'warn',
		subject: 'a',
		text: 'up → down · L4CON · refused',
		to: 'down',
	});
});

it('what only carries state has no line, nor what the backend itself tells', () => {
	expect(lineOf(event('refresh', {}), 1)).toBeNull();
	expect(lineOf(event('backend', { ...down, replay: true }), 1)).toBeNull();
	expect(
		lineOf(event('log', { level: 'info', msg: 'backend-transition', attrs: {} }), 1),
	).toBeNull();
});

it('a transition that comes once for each frontend is one line', () => {
	const lines = ['www', 'api'].map(
		(frontend, id) => lineOf(event('backend', { ...down, frontend }), id) as Line,
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
	expect(lineOfChange(change, 1)).toEqual(lineOf(event('backend', down), 1));
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
