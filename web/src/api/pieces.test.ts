// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { parseInPieces } from './pieces.ts';

const pause = async () => {};

const item = (name: string) => ({
	name,
	reason: 'a "quoted" } ] \\ text\\',
	pools: [{ name: 'p', backends: [{ weight: 1 }, {}] }],
	empty: {},
});

const CASES: [string, unknown][] = [
	['nothing', {}],
	['no items', { epoch: '1', seq: 2, servers: [], speakers: null }],
	['a server without lists', { servers: [{ name: '{', lb: null, error: '"' }] }],
	[
		'items',
		{
			servers: [
				{
					name: 'a',
					frontends: [item('x'), item('y')],
					backends: [item('z')],
					lb: { vips: [item('v')] },
				},
				{ name: 'b', frontends: [], tags: ['[', '{"\\u0001item":0}'], lb: { vips: [[]], n: 1 } },
			],
			routers: [{ generations: { generations: [item('1')] } }],
		},
	],
	['a list of numbers and texts', { servers: [{ list: [1, 'a', null, [{ a: 1 }], { b: [2] }] }] }],
	['other than an object', [[[[{ a: { b: 1 } }]]]]],
];

it.each(CASES)('%s is what JSON.parse gives', async (_, value) => {
	for (const text of [JSON.stringify(value), JSON.stringify(value, null, '\t')])
		expect(await parseInPieces(text, pause)).toEqual(JSON.parse(text));
});

it.each(['{"a":', '{"servers":[{"x":[{"a":"b}]}]}', '', '{"servers":[{"x":[{"a":}]}]}'])(
	'%s is an error, as for JSON.parse',
	async (text) => {
		await expect(parseInPieces(text, pause)).rejects.toThrow();
	},
);

it('pauses between items', async () => {
	const many = Array.from({ length: 5_000 }, (_, index) => item(`f${index}`));
	let pauses = 0;
	const text = JSON.stringify({ servers: [{ frontends: many }] });
	const value = await parseInPieces(text, async () => {
		pauses++;
	});
	expect(value).toEqual({ servers: [{ frontends: many }] });
	expect(pauses).toBeGreaterThan(0);
});
