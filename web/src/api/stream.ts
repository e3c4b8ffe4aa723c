// SPDX-License-Identifier: Apache-2.0
// The connection that keeps the page current.
//
// The state carries the number of the last event that it contains. The stream is then opened after that
// number, so that no event is missed or applied twice. A broken stream is opened again after the last
// event received. If the server no longer has the events in between, it sends "resync", and the state is
// read again. We close the stream ourselves after two missed pings, and when a timer fires late because
// the machine was asleep.
import { getState } from './client.ts';
import { feed, newParser } from './sse.ts';
import type { Snapshot, StreamEvent } from './types.ts';

export type Link = 'connecting' | 'live' | 'lost';

export interface StreamHandlers {
	onLink: (link: Link, error: string) => void;
	/** Events are read after it has been taken. */
	onSnapshot: (snapshot: Snapshot, skew: number) => void | Promise<void>;
	onEvents: (events: StreamEvent[]) => void;
}

const ONE_PING_MS = 16_000;
const SILENCE_MS = 35_000;
const TICK_MS = 2_000;
const ASLEEP_MS = 10_000;
const RETRY_MS = [250, 1_000, 2_000, 5_000];

export function openStream(handlers: StreamHandlers): () => void {
	let abort = new AbortController();
	let lastId = '';
	let heard = Date.now();
	let ticked = Date.now();
	let failures = 0;
	let retry = 0;
	let ended = false;

	async function fetchState(): Promise<void> {
		const { snapshot, skew } = await getState();
		lastId = `${snapshot.epoch}-${snapshot.seq}`;
		await handlers.onSnapshot(snapshot, skew);
	}

	/** True if the server asks to read the state again. */
	function take(messages: { id: string; data: string }[]): boolean {
		const events: StreamEvent[] = [];
		for (const message of messages) {
			const event = JSON.parse(message.data) as StreamEvent;
			if (event.type === 'resync') {
				lastId = '';
				return true;
			}
			lastId = message.id || lastId;
			events.push(event);
		}
		if (events.length > 0) handlers.onEvents(events);
		return false;
	}

	/** Reads until the server asks for a resync; any other end is an error. */
	async function read(body: ReadableStream<Uint8Array>): Promise<void> {
		const reader = body.getReader();
		const decoder = new TextDecoder();
		const parser = newParser();
		for (;;) {
			const { done, value } = await reader.read();
			if (done) throw new Error('the server closed the stream');
			heard = Date.now();
			if (take(feed(parser, decoder.decode(value, { stream: true })))) return;
		}
	}

	async function connect(signal: AbortSignal): Promise<void> {
		if (!lastId) await fetchState();
		const response = await fetch('/view/api/events', {
			cache: 'no-store',
			headers: { Accept: 'text/event-stream', 'Last-Event-ID': lastId },
			signal,
		});
		if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`);
		heard = Date.now();
		failures = 0;
		handlers.onLink('live', '');
		await read(response.body);
	}

	function lose(error: unknown): void {
		const text = error instanceof Error ? error.message : String(error);
		if (failures > 0) handlers.onLink('lost', text); // the first attempt to reconnect is not shown
		retry = window.setTimeout(open, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
	}

	async function open(): Promise<void> {
		window.clearTimeout(retry);
		abort = new AbortController();
		const { signal } = abort;
		heard = Date.now();
		try {
			await connect(signal);
			abort.abort();
			if (!ended) void open();
		} catch (error) {
			abort.abort();
			if (!ended) lose(error);
		}
	}

	/** After sleep or silence the connection may be dead without an error. */
	function look(): void {
		const now = Date.now();
		const late = now - ticked > ASLEEP_MS; // also true in a background tab, where timers are slowed down
		ticked = now;
		if (now - heard > (late ? ONE_PING_MS : SILENCE_MS)) abort.abort();
	}

	const timer = window.setInterval(look, TICK_MS);
	handlers.onLink('connecting', '');
	void open();
	return () => {
		ended = true;
		window.clearInterval(timer);
		window.clearTimeout(retry);
		abort.abort();
	};
}
