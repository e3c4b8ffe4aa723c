// SPDX-License-Identifier: Apache-2.0
// Which balancers attract a VIP: a badge on frontends, and the rows of tables.
import { type Component, createMemo, For, Show } from 'solid-js';
import {
	type Attraction,
	attractionOf,
	culpritOf,
	type Entry,
	iconOf,
	whyL2,
	whyOf,
} from '../model/announcements.ts';
import { num } from '../model/format.ts';
import { linkTo } from '../route.ts';
import { announcers, pacedServers } from '../store.ts';
import { VipMenu } from './Actions.tsx';
import { StateIcon, VerdictIcon } from './Icons.tsx';
import { Age, Flash, LastKnown, Panel } from './parts.tsx';
import { type Head, Table } from './Table.tsx';

const lookOf = (it: Attraction): string =>
	it.verdict === 'critical' ? 'bad' : it.verdict === 'unknown' ? 'unknown' : 'ok';

/** Each balancer that attracts the VIP, and since when; or that nobody does. */
const Sentence: Component<{ of: Attraction }> = (props) => (
	<Show when={props.of.by.length > 0} fallback={props.of.text}>
		announced by{' '}
		<For each={props.of.by}>
			{(one, index) => (
				<>
					{index() > 0 ? ', ' : ''}
					<b>{one.speaker.name}</b>{' '}
					<span class="muted" title={whyOf(one.it)}>
						(<Age of={one.it.l2 && num(one.it.l2.since) ? one.it.l2.since : one.it.since} />)
					</span>
				</>
			)}
		</For>
	</Show>
);

/** Nothing if no speaker has the address. */
export const AnnouncedBadge: Component<{ address: string }> = (props) => {
	const attraction = createMemo(() => attractionOf(props.address, announcers().get(props.address)));
	return (
		<Show when={attraction()}>
			{(it) => (
				<span class={`announced announced-${lookOf(it())}`} data-announced={it().verdict}>
					<VerdictIcon verdict={it().verdict} />{' '}
					<Flash on={it().text}>
						<Sentence of={it()} />
					</Flash>
					<For each={it().unknown}>
						{(one) => <LastKnown was={one.it.was} since={one.speaker.since_ns} />}
					</For>
					<For each={it().drains}>{(text) => <span class="chip chip-info">{text}</span>}</For>
				</span>
			)}
		</Show>
	);
};

/** The frontend that decided, with a link if a server here has it. */
const Culprit: Component<{ of: string }> = (props) => {
	const place = createMemo(() => culpritOf(props.of, pacedServers()), null, {
		equals: (a, b) => a?.server === b?.server && a?.frontend === b?.frontend,
	});
	return (
		<Show when={place()} fallback={<span class="mono">{props.of}</span>}>
			{(it) => <a href={linkTo(it().server, 'frontend', it().frontend)}>{props.of}</a>}
		</Show>
	);
};

const Peers: Component<{ entry: Entry }> = (props) => {
	const bgp = () => props.entry.it.bgp;
	const up = (peer: string): boolean =>
		props.entry.speaker.connected && (bgp()?.established.includes(peer) ?? false);
	const state = (peer: string): string => {
		if (!props.entry.speaker.connected) return 'unknown';
		return up(peer) ? 'up' : 'down';
	};
	return (
		<Show
			when={props.entry.it.state !== 'withdrawn'}
			fallback={<span class="muted">{bgp() ? 'sent to no peer' : ''}</span>}
		>
			<For each={bgp()?.peers ?? []}>
				{(peer) => (
					<span class="peer">
						<StateIcon state={state(peer)} label={`session ${state(peer)}`} /> {peer}
					</span>
				)}
			</For>
		</Show>
	);
};

const Network: Component<{ entry: Entry }> = (props) => (
	<Show when={props.entry.it.l2}>
		{(l2) => (
			<span class="network">
				<span>
					<span class="mono">{l2().interface}</span>:{' '}
					<Show when={props.entry.speaker.connected} fallback="owner not known">
						{l2().state || 'unusable'}
						{l2().owner ? `, owned by ${l2().owner}` : ', no owner is known'}
					</Show>
				</span>
				<span class="muted">
					{whyL2(l2())}
					{l2().members.length
						? `; members ${l2()
								.members.map((one) => `${one.name} (${one.priority})`)
								.join(', ')}`
						: '; no other member'}
				</span>
			</span>
		)}
	</Show>
);

export const VIP_HEADS: Head[] = [
	'Speaker',
	'State',
	'Why',
	{ number: 'Since' },
	'Peers, network',
	{ unseen: 'Actions' },
];

/** One VIP of one speaker. The name of the VIP is left out if all rows have the same address. */
export const VipRow: Component<{ entry: Entry; withVip: boolean }> = (props) => {
	const it = () => props.entry.it;
	/** It should attract traffic and does not: the speaker says why. */
	const isMute = () =>
		props.entry.speaker.connected && !it().attracts && it().state !== 'withdrawn';
	return (
		<tr
			data-vip={it().vip}
			data-speaker={props.entry.speaker.name}
			data-state={it().state}
			data-attracts={String(it().attracts)}
			classList={{ stale: !props.entry.speaker.connected }}
		>
			<Show when={props.withVip}>
				<th scope="row">
					{it().vip} <span class="beside muted mono">{it().address}</span>
				</th>
			</Show>
			<td>{props.entry.speaker.name}</td>
			<td>
				<Flash on={it().state} class="state-word">
					<StateIcon state={iconOf(it())} />
					<span class={`state-${iconOf(it())}`}>{it().state}</span>
				</Flash>{' '}
				<Show when={isMute()}>
					<span class="muted">{it().summary}</span>
				</Show>
				<LastKnown was={it().was} since={props.entry.speaker.since_ns} />
			</td>
			<td class="words">
				{whyOf(it())}
				<Show when={it().culprit}>
					: <Culprit of={it().culprit} />
				</Show>
			</td>
			<td class="number">
				<Age of={it().since} />
			</td>
			<td class="words">
				<Peers entry={props.entry} />
				<Network entry={props.entry} />
			</td>
			<td class="actions">
				<VipMenu entry={props.entry} />
			</td>
		</tr>
	);
};

/** All speakers that have this VIP; nothing if none has. */
export const AnnouncedPanel: Component<{ address: string }> = (props) => {
	const entries = createMemo(
		() => new Map((announcers().get(props.address) ?? []).map((one) => [one.speaker.name, one])),
	);
	const names = createMemo(() => [...entries().keys()], [], {
		equals: (a, b) => a.join('\n') === b.join('\n'),
	});
	return (
		<Show when={names().length > 0}>
			<Panel title="Announcements">
				<Table label="Announcements" heads={VIP_HEADS}>
					<tbody>
						<For each={names()}>
							{(name) => (
								<Show when={entries().get(name)}>
									{(entry) => <VipRow entry={entry()} withVip={false} />}
								</Show>
							)}
						</For>
					</tbody>
				</Table>
			</Panel>
		</Show>
	);
};
