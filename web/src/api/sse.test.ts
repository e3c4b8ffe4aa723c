// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { feed, newParser, type SseMessage } from './sse.ts';

const STREAM =
	'retry: 2000\n\n: ping\n\nid: 1-2\ndata: {"a":1}\n\nid: 1-3\r\ndata: x\r\ndata: y\r\n\r\n';
const WANTED: SseMessage[] = [
	{ id: '1-2', data: '{"a":1}' },
	{ id: '1-3', data: 'x\ny' },
];

it('messages are the same wherever the stream is cut', () => {
	for (let cut = 0; cut <= STREAM.length; cut++) {
		const parser = newParser();
		const got = [...feed(parser, STREAM.slice(0, cut)), ...feed(parser, STREAM.slice(cut))];
		expect(got).toEqual(WANTED);
	}
});

it('comments and half messages are none', () => {
	const parser = newParser();
	expect(feed(parser, ': ping\n\nid: 5-1\ndata: half\n')).toEqual([]);
	expect(feed(parser, '\n')).toEqual([{ id: '5-1', data: 'half' }]);
});
