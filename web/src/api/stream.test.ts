// SPDX-License-Identifier: Apache-2.0
// Tests the connection against a fake server, with a clock that is moved by hand.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openStream } from './stream.ts';

interface Opened {
	after: string;
	say: (text: string) => void;
	cut: () => void;
	aborted: () => boolean;
}

let states = 0;
let refusing = false;
let opened: Opened[] = [];
let seen: string[] = [];
let close = () => {};

const event = (id: string, type = 'log') => `id: ${id}\ndata: {"type":"${type}"}\n\n`;

function answerStream(init: RequestInit): Response {
	let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
	const body = new ReadableStream<Uint8Array>({
		start(it) {
			controller = it;
		},
	});
	init.signal?.addEventListener('abort', () => controller?.error(new Error('aborted')));
	opened.push({
		after: (init.headers as Record<string, string>)['Last-Event-ID'] ?? '',
		say: (text) => controller?.enqueue(new TextEncoder().encode(text)),
		cut: () => controller?.close(),
		aborted: () => init.signal?.aborted ?? false,
	});
	return new Response(body);
}

async function answer(path: string, init: RequestInit = {}): Promise<Response> {
	if (refusing) throw new Error('refused');
	if (path === '/view/api/events') return answerStream(init);
	return Response.json({ epoch: '7', seq: ++states * 100, servers: [] });
}

/** Runs everything that is due. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const last = () => opened.at(-1) as Opened;

beforeEach(async () => {
	states = 0;
	refusing = false;
	opened = [];
	seen = [];
	vi.useFakeTimers();
	vi.stubGlobal('fetch', answer);
	vi.stubGlobal('window', globalThis);
	close = openStream({
		onLink: (link) => seen.push(link),
		onSnapshot: () => {
			seen.push('state');
		},
		onEvents: (events) => seen.push(...events.map((one) => one.type)),
	});
	await pass(10);
});

afterEach(() => {
	close();
	vi.useRealTimers();
	vi.unstubAllGlobals();
});

it('starts with the state and goes on behind it', () => {
	expect(seen).toEqual(['connecting', 'state', 'live']);
	expect(opened.map((one) => one.after)).toEqual(['7-100']);
});

it('is opened again behind the last event when it is cut, without a word', async () => {
	last().say(event('7-101') + event('7-102'));
	await pass(10);
	last().cut();
	await pass(300);
	expect(opened.map((one) => one.after)).toEqual(['7-100', '7-102']);
	expect(states).toBe(1);
	expect(seen).not.toContain('lost');
});

it('says so when nobody answers, and tries until somebody does', async () => {
	refusing = true;
	last().cut();
	await pass(4000);
	expect(seen.at(-1)).toBe('lost');
	refusing = false;
	await pass(6000);
	expect(seen.at(-1)).toBe('live');
});

it('starts over when the server no longer has what was missed', async () => {
	last().say(event('7-150', 'resync'));
	await pass(10);
	expect(opened.map((one) => one.after)).toEqual(['7-100', '7-200']);
	expect(opened[0]?.aborted()).toBe(true);
	expect(seen.filter((word) => word === 'state')).toHaveLength(2);
});

it('gives a silent connection up, but not one that pings', async () => {
	for (let i = 0; i < 5; i++) {
		await pass(15_000);
		last().say(': ping\n\n');
	}
	await pass(10);
	expect(opened).toHaveLength(1);
	await pass(40_000);
	expect(opened.length).toBeGreaterThan(1);
});

it('looks again right after the machine slept', async () => {
	vi.setSystemTime(Date.now() + 3_600_000);
	await pass(2500);
	expect(opened).toHaveLength(2);
	expect(opened[1]?.after).toBe('7-100');
});
