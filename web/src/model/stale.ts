// SPDX-License-Identifier: Apache-2.0
// What may be said of a server without contact: its state is not known. Whatever was up, active or connected
// when it was last seen becomes unknown here, once, so that no page can show or count it as good. Pure; the
// same object yields the same object, so that unchanged parts stay the same.
import type {
	Announcement,
	Backend,
	Frontend,
	LbState,
	PoolBackend,
	RouterInfo,
	RouterPool,
	RouterRoute,
	RouterServer,
	Session,
	SpeakerInfo,
	VppInfo,
} from '../api/types.ts';
import type { RouterView, ServerView, SpeakerView } from './state.ts';

/** Remembers the result for each object. */
function once<T extends object, R>(make: (from: T) => R): (from: T) => R {
	const made = new WeakMap<T, R>();
	return (from) => {
		const found = made.get(from);
		if (found !== undefined) return found;
		const fresh = make(from);
		made.set(from, fresh);
		return fresh;
	};
}

const staleMember = (one: PoolBackend): PoolBackend => ({ ...one, state: 'unknown' });

const staleFrontend = once(
	(one: Frontend): Frontend => ({
		...one,
		state: 'unknown',
		was: one.state,
		active_pool: '',
		pools: one.pools.map((pool) => ({
			...pool,
			active: false,
			backends: pool.backends.map(staleMember),
		})),
	}),
);

const staleBackend = once(
	(one: Backend): Backend => ({ ...one, state: 'unknown', was: one.state }),
);

const staleLb = once(
	(lb: LbState): LbState => ({
		...lb,
		connected: false,
		status: 'unknown',
		interfaces: (lb.interfaces ?? []).map((one) => ({ ...one, attached: false, problem: '' })),
	}),
);

const staleVpp = once((vpp: VppInfo) => ({ ...vpp, connected: false }));

const staleList = <T extends object>(make: (one: T) => T) => once((list: T[]) => list.map(make));
const staleFrontends = staleList(staleFrontend);
const staleBackends = staleList(staleBackend);

const staleServer = once(
	(server: ServerView): ServerView => ({
		...server,
		frontends: staleFrontends(server.frontends),
		backends: staleBackends(server.backends),
		lb: server.lb && staleLb(server.lb),
		vpp: server.vpp && staleVpp(server.vpp),
	}),
);

const staleAnnouncement = once(
	(one: Announcement): Announcement => ({
		...one,
		state: 'unknown',
		was: one.state,
		attracts: false,
	}),
);

const staleSession = once(
	(one: Session): Session => ({
		...one,
		up: false,
		state: 'unknown',
		was: one.state || 'unknown',
		bfd: one.bfd && 'unknown',
	}),
);

const staleInfo = once(
	(info: SpeakerInfo): SpeakerInfo => ({
		...info,
		maglevds: info.maglevds.map((one) => ({ ...one, connected: false })),
		...(info.frr ? { frr: { ...info.frr, current: false } } : {}),
	}),
);

const staleAnnouncements = staleList(staleAnnouncement);
const staleSessions = staleList(staleSession);

const staleSpeaker = once(
	(speaker: SpeakerView): SpeakerView => ({
		...speaker,
		announcements: staleAnnouncements(speaker.announcements),
		sessions: staleSessions(speaker.sessions),
		info: speaker.info && staleInfo(speaker.info),
	}),
);

/** Figures of a router without contact are those of another time, so they are not shown. */
const without = <T extends { traffic?: unknown; load?: unknown }>(one: T): T => {
	const rest = { ...one };
	delete rest.traffic;
	delete rest.load;
	return rest;
};

const staleRouterServer = (one: RouterServer): RouterServer => ({
	...without(one),
	state: 'unknown',
	was: one.state,
	share: 0,
});

const stalePool = once(
	(pool: RouterPool): RouterPool => ({
		...without(pool),
		usable: 0,
		servers: pool.servers.map(staleRouterServer),
	}),
);

const staleRoute = once((route: RouterRoute): RouterRoute => without(route));

const stalePools = staleList(stalePool);
const staleRoutes = staleList(staleRoute);

const staleRouterInfo = once((info: RouterInfo): RouterInfo => without(info));

const staleRouter = once(
	(router: RouterView): RouterView => ({
		...router,
		info: router.info && staleRouterInfo(router.info),
		routes: staleRoutes(router.routes),
		pools: stalePools(router.pools),
	}),
);

/** The router as it may be shown. */
export const knownRouterOf = (router: RouterView): RouterView =>
	router.connected ? router : staleRouter(router);

/** The server as it may be shown. */
export const knownOf = (server: ServerView): ServerView =>
	server.connected ? server : staleServer(server);

/** The speaker as it may be shown. */
export const knownSpeakerOf = (speaker: SpeakerView): SpeakerView =>
	speaker.connected ? speaker : staleSpeaker(speaker);

/** The servers of a page that has lost maglevd-frontend itself, since that time (ms). */
export const cutOff = <T extends ServerView | SpeakerView | RouterView>(
	servers: T[],
	since: number,
): T[] =>
	servers.map((one) =>
		one.connected ? { ...one, connected: false, cut: true, since_ns: since * 1e6 } : one,
	);
