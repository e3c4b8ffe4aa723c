// SPDX-License-Identifier: Apache-2.0
// Requests to maglev-mux.
import type { State, TestResult } from './types.ts';

const LIMIT_MS = 15_000;

const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
	fetch(path, { cache: 'no-store', headers, signal: AbortSignal.timeout(LIMIT_MS) });

const refused = (response: Response): Error =>
	new Error(`the server answered ${response.status} ${response.statusText}`.trim());

/** The state, and the version that names it; null if it is still the version that is known. */
export async function getState(known: string): Promise<{ state: State; version: string } | null> {
	const response = await ask('./api/state', known ? { 'If-None-Match': known } : {});
	if (response.status === 304) return null;
	if (!response.ok) throw refused(response);
	return { state: (await response.json()) as State, version: response.headers.get('etag') ?? '' };
}

export async function getConfig(): Promise<{ actions_enabled: boolean }> {
	const response = await ask('./api/config');
	if (!response.ok) throw refused(response);
	return (await response.json()) as { actions_enabled: boolean };
}

/** A refusal is an answer as well: it says why. */
export async function testTcp(host: string, port: number): Promise<TestResult> {
	const query = new URLSearchParams({ host, port: String(port) });
	const response = await ask(`./api/test-tcp?${query}`);
	return (await response.json()) as TestResult;
}
