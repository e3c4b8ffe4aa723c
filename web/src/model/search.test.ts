// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type Found, MOST, type Sources, search } from './search.ts';
import {
	announcement,
	backend,
	frontend,
	router,
	routerPool,
	routerRoute,
	server,
	session,
	speaker,
} from './testing.ts';

const lb = (name: string) =>
	server({
		name,
		frontends: [
			frontend({ name: 'www', description: 'the site' }),
			frontend({ name: 'www-admin', address: '198.51.100.11' }),
		],
		backends: [
			backend('web1', { address: '10.0.11.2', state: 'down', last_reason: 'refused' }),
			backend('web2', { address: '10.0.11.3' }),
		],
	});

const world: Sources = {
	servers: [lb('lb1'), lb('lb2')],
	speakers: [
		speaker({
			name: 'sp1',
			announcements: [announcement({ vip: 'public' })],
			sessions: [session({ peer: 'tor1', address: '192.0.2.1' })],
		}),
	],
	routers: [
		router({
			name: 'rt1',
			routes: [routerRoute({ name: 'shop', hosts: ['shop.example'] })],
			pools: [routerPool({ name: 'carts' })],
		}),
	],
};

const lines = (query: string, kind?: Found['kind']): string[] =>
	search(query, world, kind)
		.found.filter((one) => one.kind !== 'way')
		.map((one) => `${one.kind} ${one.title} | ${one.page}`);

const CASES: [query: string, expected: string[]][] = [
	['', []],
	['   ', []],
	['no such thing', []],
	[
		'www',
		[
			'frontend www | Frontend on lb1',
			'frontend www | Frontend on lb2',
			'frontend www-admin | Frontend on lb1',
			'frontend www-admin | Frontend on lb2',
		],
	],
	['www lb2', ['frontend www | Frontend on lb2', 'frontend www-admin | Frontend on lb2']],
	['WEB1 lb1', ['backend web1 | Backend on lb1']],
	[
		'10.0.11.2',
		['host 10.0.11.2 | Backends', 'backend web1 | Backend on lb1', 'backend web1 | Backend on lb2'],
	],
	[
		'198.51.100.11',
		[
			'vip 198.51.100.11 | Frontends',
			...['lb1', 'lb2'].map((one) => `frontend www-admin | Frontend on ${one}`),
		],
	],
	['public', ['announcement public | Announcements']],
	['tor1', ['session tor1 | Announcements']],
	['shop.example', ['route shop | Route on rt1']],
	['/v1', ['route shop | Route on rt1']],
	['carts', ['pool carts | Routers, pools of rt1']],
	['rt1 router', ['server rt1 | Routers']],
];

it.each(CASES)('"%s"', (query, expected) => {
	expect(lines(query)).toEqual(expected);
});

it('a result has its state, a line about it, and its place', () => {
	expect(search('web1 lb2', world).found[0]).toMatchObject({
		detail: '10.0.11.2, down, refused',
		state: 'down',
		target: { scope: 'lb2', view: 'backend', name: 'web1' },
	});
	expect(search('10.0.11.2', world).found[0]).toMatchObject({
		detail: '2 backends on lb1, lb2',
		state: 'down',
		target: { scope: '', view: 'backends', name: '10.0.11.2' },
	});
});

it('only one kind, if that is asked for', () => {
	expect(lines('198.51.100.11', 'vip')).toEqual(['vip 198.51.100.11 | Frontends']);
});

it('results are bounded, and the rest is counted', () => {
	const many = Array.from({ length: 3000 }, (_, index) => frontend({ name: `f${index}` }));
	const { found, left } = search('f', {
		...world,
		servers: [server({ frontends: many, backends: [] })],
	});
	expect(found).toHaveLength(MOST);
	expect(left).toBeGreaterThan(2900);
});

const OFFERED: [string, number][] = [
	['shop.example/cart', 0],
	['198.51.100.11', 3],
	['www-', 2],
	['no such thing', 0],
];

it.each(OFFERED)('the way of a packet to "%s" has place %d', (query, place) => {
	const { found } = search(query, world);
	expect(found.findIndex((one) => one.kind === 'way')).toBe(place);
	expect(found[place]?.target).toEqual({ scope: '', view: 'way', name: query });
});
