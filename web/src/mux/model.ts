// SPDX-License-Identifier: Apache-2.0
// What the page concludes from the state. Pure.
import { plural } from '../model/format.ts';
import type { Verdict } from '../model/health.ts';
import type { Channel, ChannelPort, Endpoints, Mux, State } from './types.ts';

export const keyOf = (one: { namespace: string; name: string }): string =>
	`${one.namespace}/${one.name}`;

export const muxKeyOf = (one: Channel): string => `${one.mux_namespace}/${one.mux_name}`;

/** A port of a mux, or one that a channel wants and has not got. */
export interface PortRow {
	key: string;
	channel: Channel;
	port: ChannelPort;
	ready: number;
	notReady: number;
}

const countsOf = (endpoints: Endpoints | undefined) => ({
	ready: endpoints?.ready_count ?? 0,
	notReady: endpoints?.not_ready_count ?? 0,
});

/** By number; ports without one are last. */
const byPort = (a: PortRow, b: PortRow): number =>
	(a.port.mux_port ?? 65_536) - (b.port.mux_port ?? 65_536) ||
	a.port.protocol.localeCompare(b.port.protocol) ||
	a.key.localeCompare(b.key);

export const portRows = (state: State, channels: Channel[]): PortRow[] =>
	channels
		.flatMap((channel) =>
			channel.ports.map((port) => ({
				key: `${keyOf(channel)}:${port.name ?? port.port}/${port.protocol}`,
				channel,
				port,
				...countsOf(state.endpoints[keyOf(channel)]),
			})),
		)
		.sort(byPort);

export const channelsOf = (state: State, mux: string): Channel[] =>
	Object.values(state.channel_services).filter((one) => muxKeyOf(one) === mux);

/** The muxes that only channels name. */
export const missingMuxes = (state: State): string[] => [
	...new Set(
		Object.values(state.channel_services)
			.map(muxKeyOf)
			.filter((one) => !(one in state.mux_services)),
	),
];

export interface Totals {
	muxes: number;
	channels: number;
	served: number;
	refused: number;
	ports: number;
	ready: number;
	notReady: number;
}

export function totalsOf(state: State): Totals {
	const channels = Object.values(state.channel_services);
	const counts = channels.map((one) => countsOf(state.endpoints[keyOf(one)]));
	return {
		muxes: Object.keys(state.mux_services).length,
		channels: channels.length,
		served: channels.filter((one) => one.state === 'served').length,
		refused: channels.filter((one) => one.state === 'refused').length,
		ports: channels.flatMap((one) => one.ports.filter((port) => port.mux_port)).length,
		ready: counts.reduce((sum, one) => sum + one.ready, 0),
		notReady: counts.reduce((sum, one) => sum + one.notReady, 0),
	};
}

export interface Concern {
	verdict: Verdict;
	/** The mux that it is about, as "namespace/name". */
	mux: string;
	title: string;
	note: string;
}

const CONDITIONS: Record<string, { verdict: Verdict; word: string }> = {
	invalid: { verdict: 'critical', word: 'is not a valid mux' },
	frozen: { verdict: 'warning', word: 'is frozen: its ports stay as they are' },
	disabled: { verdict: 'degraded', word: 'is disabled' },
};

const concernOfMux = (mux: Mux): Concern[] => {
	const found = CONDITIONS[mux.condition];
	if (!found) return [];
	const note = mux.message ? `${mux.reason}: ${mux.message}` : (mux.reason ?? '');
	return [
		{ verdict: found.verdict, mux: keyOf(mux), title: `mux ${keyOf(mux)} ${found.word}`, note },
	];
};

function concernOfChannel(state: State, one: Channel): Concern[] {
	const mux = muxKeyOf(one);
	const title = `channel ${keyOf(one)}`;
	if (one.state === 'refused')
		return [
			{
				verdict: 'warning',
				mux,
				title: `${title} is refused`,
				note: `${one.reason}: ${one.message}`,
			},
		];
	const { ready, notReady } = countsOf(state.endpoints[keyOf(one)]);
	if (one.state !== 'served' || ready > 0) return [];
	const note = notReady ? `${plural(notReady, 'endpoint')} not ready` : 'it has no endpoints';
	return [{ verdict: 'degraded', mux, title: `${title} has no ready endpoint`, note }];
}

const waitersOf = (count: number): string =>
	`${plural(count, 'channel waits', 'channels wait')} for it`;

const RANKS: Verdict[] = ['critical', 'warning', 'degraded'];

/** What needs attention, the worst first. */
export function concernsOf(state: State): Concern[] {
	const missing = missingMuxes(state).map(
		(mux): Concern => ({
			verdict: 'warning',
			mux,
			title: `mux ${mux} does not exist`,
			note: waitersOf(channelsOf(state, mux).length),
		}),
	);
	return [
		...Object.values(state.mux_services).flatMap(concernOfMux),
		...missing,
		...Object.values(state.channel_services).flatMap((one) => concernOfChannel(state, one)),
	].sort((a, b) => RANKS.indexOf(a.verdict) - RANKS.indexOf(b.verdict));
}

export const muxVerdict = (concerns: Concern[], mux: string): Verdict =>
	concerns.find((one) => one.mux === mux)?.verdict ?? 'ok';

/** What this process does: one word, and a sentence about it. */
export function roleOf(state: State): { word: string; note: string; verdict: Verdict } {
	const { synced, active, elects, dry_run, leader, identity } = state.controller;
	if (!synced)
		return {
			word: 'starting',
			note: 'the lists of the API server are incomplete',
			verdict: 'warning',
		};
	if (dry_run)
		return {
			word: 'dry run',
			note: 'nothing is written; the log has the writes',
			verdict: 'degraded',
		};
	if (!elects) return { word: 'active', note: 'there is no leader election', verdict: 'ok' };
	if (active) return { word: 'leading', note: `as ${identity}`, verdict: 'ok' };
	const who = leader ? `${leader} leads` : 'nobody leads';
	return { word: 'standby', note: who, verdict: leader ? 'ok' : 'warning' };
}
