// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { healthOf } from './health.ts';
import { backendsOf, type FrontendQuery, frontendsOf } from './lists.ts';
import { backend, frontend, poolBackend, SECOND, server } from './testing.ts';

const one = server({
	name: 'lb1',
	frontends: [
		frontend({
			name: 'web10',
			address: '198.51.100.10',
			since: 3 * SECOND,
			description: 'the site',
		}),
		frontend({ name: 'web2', address: '198.51.100.9', since: 5 * SECOND, state: 'down' }),
		frontend({
			name: 'dns',
			address: '198.51.100.100',
			since: 1 * SECOND,
			protocol: 'udp',
			port: 53,
			pools: [
				{
					name: 'p',
					active: true,
					backends: [poolBackend('x'), poolBackend('zulu', { state: 'down' })],
				},
			],
			active_pool: 'p',
		}),
	],
	backends: [
		backend('a', { address: '10.0.0.1' }),
		backend('b', { state: 'down', last_code: 'L4CON', healthcheck: 'tls' }),
		backend('c', { state: 'paused', frontends: ['dns'] }),
	],
});
const two = { ...one, name: 'lb2' };
const judge = (name: string) => healthOf(name === 'lb1' ? one : two, 60_000);

const names = (query: Partial<FrontendQuery>, servers = [one]) =>
	frontendsOf(servers, judge, { filter: '', verdict: '', order: 'state', ...query }).map(
		(entry) => entry.it.name,
	);

const FRONTENDS: [Partial<FrontendQuery>, string[]][] = [
	[{}, ['web2', 'dns', 'web10']],
	[{ order: 'name' }, ['dns', 'web2', 'web10']],
	[{ order: 'address' }, ['web2', 'web10', 'dns']],
	[{ order: 'since' }, ['web2', 'web10', 'dns']],
	[{ filter: 'udp 53' }, ['dns']],
	[{ filter: 'site' }, ['web10']],
	[{ filter: 'WEB', order: 'name' }, ['web2', 'web10']],
	[{ filter: 'zulu' }, ['dns']],
	[{ verdict: 'critical' }, ['web2']],
	[{ verdict: 'degraded', filter: 'web' }, []],
	[{ filter: 'nothing like it' }, []],
];

it.each(FRONTENDS)('frontends by %j', (query, expected) => {
	expect(names(query)).toEqual(expected);
});

it('frontends of all servers, the worst first', () => {
	expect(names({}, [one, two])).toEqual(['web2', 'web2', 'dns', 'dns', 'web10', 'web10']);
	expect(names({ filter: 'lb2 dns' }, [one, two])).toEqual(['dns']);
});

const BACKENDS: [string, string[]][] = [
	['', ['b', 'c', 'a']],
	['l4con', ['b']],
	['tls', ['b']],
	['dns', ['c']],
	['10.0.0.1 up', ['a']],
];

it.each(BACKENDS)('backends by "%s"', (filter, expected) => {
	expect(backendsOf([one], filter).map((entry) => entry.it.name)).toEqual(expected);
});
