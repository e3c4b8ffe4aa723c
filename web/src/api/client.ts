// SPDX-License-Identifier: Apache-2.0
// Requests to maglevd-frontend. Reads go to /view/api, acts to /admin/api.
import { nextTask, parseInPieces } from './pieces.ts';
import type {
	ActAnswer,
	Announcement,
	Backend,
	CheckAnswer,
	Frontend,
	GenerationDiff,
	History,
	RouterInfo,
	Snapshot,
	SyncAnswer,
	Way,
} from './types.ts';

const LIMIT_MS = 15_000;

export interface Version {
	version: string;
	commit: string;
	date: string;
}

/** The error text of the answer if it has one. */
async function failure(response: Response): Promise<Error> {
	const body: unknown = await response.json().catch(() => null);
	const said = body && typeof body === 'object' && 'error' in body ? String(body.error) : '';
	return new Error(said || `the server answered ${response.status} ${response.statusText}`.trim());
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
	const response = await fetch(path, {
		cache: 'no-store',
		signal: AbortSignal.timeout(LIMIT_MS),
		...init,
	});
	if (!response.ok) throw await failure(response);
	return response;
}

/** The state of all servers, and by how much the clock of this machine is behind the server's (ms). */
export async function getState(): Promise<{ snapshot: Snapshot; skew: number }> {
	const response = await ask('/view/api/state');
	const said = Date.parse(response.headers.get('date') ?? '');
	const skew = Number.isNaN(said) ? 0 : said + 500 - Date.now();
	const snapshot = (await parseInPieces(await response.text(), nextTask)) as Snapshot;
	return { snapshot, skew: Math.abs(skew) < 2000 ? 0 : skew };
}

export const getVersion = async (): Promise<Version> =>
	(await (await ask('/view/api/version')).json()) as Version;

/** role is absent if maglevd-frontend is older than the field. */
export interface Who {
	user: string;
	role?: 'admin' | 'read-only';
}

export const whoAmI = async (): Promise<Who> =>
	(await (await ask('/admin/api/whoami')).json()) as Who;

async function post<T>(parts: string[], body: object): Promise<T> {
	const path = `/admin/api/${parts.map(encodeURIComponent).join('/')}`;
	const response = await ask(path, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json', 'X-Maglev-Admin': '1' },
		body: JSON.stringify(body),
	});
	return (await response.json()) as T;
}

export type Act = 'pause' | 'resume' | 'enable' | 'disable';

export const actOnBackend = (
	server: string,
	backend: string,
	act: Act,
	body: { reason: string; until_s: number; from_s?: number },
): Promise<Backend> => post([server, 'backends', backend, act], body);

/** On all backends with an address, or with names that match one of the patterns. */
export const actOnMany = (
	server: string,
	body: {
		act: Act;
		address?: string;
		names?: string[];
		reason: string;
		until_s: number;
		dry_run: boolean;
	},
): Promise<ActAnswer> => post([server, 'act'], body);

export const setWeight = (
	server: string,
	where: { frontend: string; pool: string; backend: string },
	body: { weight: number; flush: boolean },
): Promise<Frontend> =>
	post(
		[server, 'frontends', where.frontend, 'pools', where.pool, 'backends', where.backend, 'weight'],
		body,
	);

export const drainVip = (speaker: string, vip: string, reason: string): Promise<Announcement> =>
	post(['speakers', speaker, 'vips', vip, 'drain'], { reason });

export const undrainVip = (speaker: string, vip: string): Promise<Announcement> =>
	post(['speakers', speaker, 'vips', vip, 'undrain'], {});

/** What is wanted of the past of a server. */
export interface Past {
	span: 'hour' | 'day';
	/** 0: all of the span. */
	points: number;
	frontends: string[];
	backends: string[];
}

export const getHistory = async (server: string, past: Past): Promise<History> => {
	const query = new URLSearchParams([
		['span', past.span],
		['points', String(past.points)],
		...past.frontends.map((name) => ['frontend', name]),
		...past.backends.map((name) => ['backend', name]),
	]);
	// a blank is %20 here; URLSearchParams writes "+"
	const text = query.toString().replaceAll('+', '%20');
	return (await (
		await ask(`/view/api/history/${encodeURIComponent(server)}?${text}`)
	).json()) as History;
};

/** What a generation of a router has changed. */
export const getDifference = async (router: string, number: string): Promise<GenerationDiff> => {
	const parts = [router, 'generations', number].map(encodeURIComponent).join('/');
	return (await (await ask(`/view/api/routers/${parts}`)).json()) as GenerationDiff;
};

/** The way of a packet to a VIP or of a request for HOST/PATH. */
export const getWay = async (query: string): Promise<Way> =>
	(await (await ask(`/view/api/way?q=${encodeURIComponent(query)}`)).json()) as Way;

export const rollBack = (router: string, number: string): Promise<RouterInfo> =>
	post(['routers', router, 'rollback'], { number });

export const checkConfig = (server: string): Promise<CheckAnswer> => post([server, 'check'], {});

export const reloadConfig = (server: string): Promise<CheckAnswer> => post([server, 'reload'], {});

export const sync = (server: string, frontend: string, plan: boolean): Promise<SyncAnswer> =>
	post([server, 'sync'], { frontend, plan });
