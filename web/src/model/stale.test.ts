// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { statusOf } from './dataplane.ts';
import { cutOff, knownOf, knownRouterOf, knownSpeakerOf } from './stale.ts';
import { reduce } from './state.ts';
import {
	announcement,
	event,
	lb,
	lbServer,
	router,
	server,
	session,
	speaker,
	speakerInfo,
} from './testing.ts';

const vpp = {
	version: '26.10',
	build_date: '',
	pid: 1,
	boottime_ns: 0,
	connecttime_ns: 0,
	problem: '',
	connected: true,
	messages: [],
};
const interfaces = [{ name: 'eth0', attached: true, mode: 'native', problem: '' }];
const full = () => server({ lb: lb([lbServer('1')], { status: 'connected', interfaces }), vpp });
const lost = () => ({ ...full(), connected: false });

it('a server with contact is shown as it is', () => {
	const it = full();
	expect(knownOf(it)).toBe(it);
});

it('nothing of a server without contact is good', () => {
	const text = JSON.stringify(knownOf(lost()), (key, value) => (key === 'was' ? undefined : value));
	const now = JSON.parse(text);
	const states = [
		...now.frontends.map((one: { state: string }) => one.state),
		...now.backends.map((one: { state: string }) => one.state),
		...now.frontends[0].pools.flatMap((pool: { backends: { state: string }[] }) =>
			pool.backends.map((one) => one.state),
		),
	];
	expect(new Set(states)).toEqual(new Set(['unknown']));
	expect(now.frontends[0].pools.some((pool: { active: boolean }) => pool.active)).toBe(false);
	expect(now.vpp.connected).toBe(false);
	expect(now.lb.connected).toBe(false);
	expect(statusOf(now.lb)).toBe('unknown');
	expect(now.lb.interfaces).toMatchObject([{ name: 'eth0', attached: false }]);
});

it('the last known state is kept beside it', () => {
	const it = knownOf(lost());
	expect(it.frontends[0]).toMatchObject({ state: 'unknown', was: 'up' });
	expect(it.backends[0]).toMatchObject({ state: 'unknown', was: 'up' });
});

it('what did not change stays the same object, and contact brings it back', () => {
	const before = { epoch: '', seq: 0, servers: [lost()], speakers: [], routers: [] };
	const after = reduce(before, event('counters', null));
	const [a, b] = [before, after].map((state) => knownOf(state.servers[0] as never));
	expect(b?.frontends).toBe(a?.frontends);
	expect(b?.lb).toBe(a?.lb);
	const back = reduce(after, event('server', { connected: true, error: '', since_ns: 1 }));
	expect(knownOf(back.servers[0] as never).frontends[0]?.state).toBe('up');
});

it('a page that is cut off knows no server, from that time on', () => {
	const [it] = cutOff([full()], 5000);
	expect(it).toMatchObject({ connected: false, cut: true, since_ns: 5000e6 });
	expect(knownOf(it as never).backends[0]?.state).toBe('unknown');
	const already = lost();
	expect(cutOff([already], 5000)[0]).toBe(already);
});

it('nothing of a speaker without contact attracts or is up', () => {
	const it = speaker({
		connected: false,
		announcements: [announcement()],
		sessions: [session({ bfd: 'up' })],
		info: speakerInfo(),
	});
	const now = knownSpeakerOf(it);
	expect(now.announcements[0]).toMatchObject({
		state: 'unknown',
		was: 'announced',
		attracts: false,
	});
	expect(now.sessions[0]).toMatchObject({ up: false, was: 'Established', bfd: 'unknown' });
	expect(now.info?.maglevds[0]?.connected).toBe(false);
	expect(now.info?.frr?.current).toBe(false);
	expect(knownSpeakerOf(it)).toBe(now);
	expect(knownSpeakerOf(speaker({ connected: true })).announcements[0]?.attracts).toBe(true);
	expect(cutOff([speaker()], 5000)[0]).toMatchObject({ connected: false, cut: true });
});

it('a router without contact has no figures, and its servers are not known', () => {
	const lost = knownRouterOf(router({ connected: false }));
	expect(lost.info).not.toHaveProperty('traffic');
	expect(lost.routes[0]).not.toHaveProperty('traffic');
	expect(lost.pools[0]).toMatchObject({ usable: 0 });
	expect(lost.pools[0]?.servers[0]).toMatchObject({ state: 'unknown', was: 'up', share: 0 });
	expect(lost.pools[0]?.servers[0]).not.toHaveProperty('load');
	const there = router();
	expect(knownRouterOf(there)).toBe(there);
});
