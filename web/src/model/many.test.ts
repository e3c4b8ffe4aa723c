// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { ActAnswer, FrontendConsequence } from '../api/types.ts';
import { doneText, MOST, partsOf, patternOf, sumOf, titleOf, unreachedOf } from './many.ts';
import { backend, server } from './testing.ts';

const HOST = '10.0.11.2';
const lb = (name: string, connected = true) =>
	server({
		name,
		connected,
		backends: [
			backend('web', { address: HOST }),
			backend('api', { address: HOST }),
			backend('db', { address: '10.0.11.3' }),
		],
	});
const servers = [lb('lb1'), lb('lb2'), lb('lb3', false)];

it('a host is asked for by address, on every server that has it and can be reached', () => {
	const parts = partsOf({ address: HOST }, servers);
	expect(parts).toEqual([
		{ server: 'lb1', address: HOST, count: 2 },
		{ server: 'lb2', address: HOST, count: 2 },
	]);
	expect(titleOf({ address: HOST }, parts)).toBe(`host ${HOST}: 4 backends on 2 servers`);
	expect(unreachedOf({ address: HOST }, servers)).toEqual(['lb3']);
	expect(partsOf({ address: '10.9.9.9' }, servers)).toEqual([]);
});

it('a selection is asked for by name, of each server its own', () => {
	const picked = [
		{ server: 'lb2', backend: 'web' },
		{ server: 'lb1', backend: 'db' },
		{ server: 'lb2', backend: 'db' },
		{ server: 'lb2', backend: 'left the configuration' },
		{ server: 'lb3', backend: 'web' },
	];
	const parts = partsOf({ picked }, servers);
	expect(parts).toEqual([
		{ server: 'lb1', names: ['db'], count: 1 },
		{ server: 'lb2', names: ['web', 'db'], count: 2 },
	]);
	expect(titleOf({ picked }, parts)).toBe('3 backends on 2 servers');
	expect(unreachedOf({ picked }, servers)).toEqual(['lb3']);
});

it('more names than one request takes are several requests', () => {
	const names = Array.from({ length: 150 }, (_, index) => `b${index}`);
	const one = server({ name: 'lb1', backends: names.map((name) => backend(name)) });
	const picked = names.map((name) => ({ server: 'lb1', backend: name }));
	const parts = partsOf({ picked }, [one]);
	expect(parts.map((part) => part.count)).toEqual([MOST, MOST, 150 - 2 * MOST]);
	expect(parts.flatMap((part) => part.names)).toEqual(names);
});

it.each([
	['web1', 'web1'],
	['a*b?c', 'a[*]b[?]c'],
	['[x]', '[[]x]'],
])('the name %s is the pattern %s', (name, pattern) => {
	expect(patternOf(name)).toBe(pattern);
});

const consequence = (more: Partial<FrontendConsequence>): FrontendConsequence => ({
	frontend: 'www',
	kind: 'fewer',
	pool_before: 'primary',
	pool_after: 'primary',
	servers_before: 4,
	servers_after: 3,
	members: 4,
	...more,
});

const answer = (frontends: FrontendConsequence[], more: Partial<ActAnswer> = {}): ActAnswer => ({
	backends: [
		{ name: 'web', address: HOST, before: 'up', after: 'paused' },
		{ name: 'api', address: HOST, before: 'paused', after: 'paused' },
	],
	frontends,
	dry_run: true,
	unaffected: 1,
	...more,
});

it('the sum of what servers answer, worst first', () => {
	const sum = sumOf([
		{
			part: { server: 'lb1', address: HOST, count: 2 },
			answer: answer([
				consequence({}),
				consequence({
					frontend: 'api',
					kind: 'failover',
					pool_after: 'spare',
					servers_after: 1,
					members: 1,
				}),
			]),
		},
		{
			part: { server: 'lb2', address: HOST, count: 2 },
			answer: answer([consequence({ kind: 'down', pool_after: '', servers_after: 0 })]),
		},
	]);
	expect(sum).toMatchObject({ fatal: true, unaffected: 2, changed: 2, unchanged: 2 });
	expect(sum.effects.map((one) => [one.title, ...one.lines])).toEqual([
		['1 frontend loses its last server: it goes down', 'www on lb2: nobody is left'],
		[
			'1 frontend moves to another pool',
			'api on lb1: pool spare takes over from primary, 1 of 1 server',
		],
		['1 frontend keeps some of its servers', 'www on lb1: pool primary keeps 3 of 4 servers'],
	]);
});

it('of many frontends a few are named', () => {
	const many = Array.from({ length: 30 }, (_, index) => consequence({ frontend: `f${index}` }));
	const [effect] = sumOf([{ part: { server: 'lb1', count: 1 }, answer: answer(many) }]).effects;
	expect(effect).toMatchObject({ title: '30 frontends keep some of their servers', left: 22 });
	expect(effect?.lines).toHaveLength(8);
});

it('what was done', () => {
	const part = { server: 'lb1', address: HOST, count: 2 };
	const two = { ...part, server: 'lb2' };
	const answers = [part, two].map((one) => ({ part: one, answer: answer([]) }));
	expect(doneText('pause', answers)).toBe('Paused 4 backends on lb1, lb2');
});
