// SPDX-License-Identifier: Apache-2.0
// All VIPs of all speakers, those that nobody announces first; then the sessions, and the speakers themselves.
import { type Component, createMemo, For, Show } from 'solid-js';
import type { Session } from '../api/types.ts';
import {
	type Announcers,
	attractionOf,
	type Entry,
	speakerProblems,
	whyOf,
} from '../model/announcements.ts';
import { num, plural } from '../model/format.ts';
import type { ServerView, SpeakerView } from '../model/state.ts';
import { route, setFilter } from '../route.ts';
import { announcers, speakers } from '../store.ts';
import { VIP_HEADS, VipRow } from './Announced.tsx';
import { StateIcon } from './Icons.tsx';
import { Age, ContactCells, Flash, LastKnown, Panel } from './parts.tsx';
import { fits, keyed, ShowMore, wordsOf } from './rows.tsx';
import { type Head, NoRows, Table } from './Table.tsx';

const ORDER = ['critical', 'unknown', 'ok'];

const textsOf = ({ speaker, it }: Entry): string[] => [
	it.vip,
	it.address,
	it.state,
	it.attracts ? 'attracts' : '',
	whyOf(it),
	it.culprit,
	speaker.name,
	...(it.bgp?.peers ?? []),
	it.l2?.interface ?? '',
];

/** By address, those with problems first. */
function sorted(all: Announcers, own: Set<string> | null): Entry[] {
	return [...all]
		.filter(([address]) => !own || own.has(address))
		.map(([address, entries]) => ({
			entries,
			rank: ORDER.indexOf(attractionOf(address, entries)?.verdict ?? 'ok'),
		}))
		.sort((a, b) => a.rank - b.rank)
		.flatMap(({ entries }) => entries);
}

const Vips: Component<{ entries: Entry[] }> = (props) => {
	const rows = keyed(
		() => props.entries,
		({ speaker, it }) => `${speaker.name}\n${it.vip}`,
	);
	return (
		<>
			<Table label="VIPs" heads={['VIP', ...VIP_HEADS]}>
				<tbody>
					<For each={rows.keys()} fallback={<NoRows columns={7}>No VIP fits.</NoRows>}>
						{(key) => (
							<Show when={rows.byKey().get(key)}>
								{(entry) => <VipRow entry={entry()} withVip />}
							</Show>
						)}
					</For>
				</tbody>
			</Table>
			<ShowMore left={rows.left()} total={props.entries.length} onMore={rows.showMore} />
		</>
	);
};

interface SessionEntry {
	speaker: SpeakerView;
	it: Session;
}

const SESSION_HEADS: Head[] = [
	'Peer',
	'Speaker',
	'Address',
	'AS',
	'State',
	{ number: 'Since' },
	{ number: 'Prefixes sent' },
	'BFD',
	'Last error',
];

const sessionState = ({ speaker, it }: SessionEntry): string => {
	if (!speaker.connected) return 'unknown';
	return it.up ? 'up' : 'down';
};

const SessionRow: Component<{ entry: SessionEntry }> = (props) => {
	const it = () => props.entry.it;
	const state = () => sessionState(props.entry);
	return (
		<tr
			data-session={it().peer}
			data-speaker={props.entry.speaker.name}
			data-state={state()}
			classList={{ stale: !props.entry.speaker.connected }}
		>
			<th scope="row">{it().peer}</th>
			<td>{props.entry.speaker.name}</td>
			<td class="mono">
				{it().address}
				{it().vrf ? ` (${it().vrf})` : ''}
			</td>
			<td class="mono">{it().asn}</td>
			<td>
				<Flash on={it().state} class="state-word">
					<StateIcon state={state()} />
					<span class={`state-${state()}`}>{it().state || 'not known'}</span>
				</Flash>{' '}
				<LastKnown was={it().was} since={props.entry.speaker.since_ns} />
			</td>
			<td class="number">
				<Age of={it().since} />
			</td>
			<td class="number">{num(it().prefixes_sent)}</td>
			<td>
				<Show when={it().bfd} fallback={<span class="muted">–</span>}>
					<StateIcon state={it().bfd} /> {it().bfd}
				</Show>
			</td>
			<td class="words">{it().last_error || <span class="muted">–</span>}</td>
		</tr>
	);
};

const Sessions: Component<{ words: string[] }> = (props) => {
	const found = createMemo(() =>
		speakers()
			.flatMap((speaker) => speaker.sessions.map((it): SessionEntry => ({ speaker, it })))
			.filter(({ speaker, it }) =>
				fits(props.words, [it.peer, it.address, it.asn, it.state, speaker.name, it.last_error]),
			)
			.map((one) => ({ one, rank: ['down', 'unknown', 'up'].indexOf(sessionState(one)) }))
			.sort((a, b) => a.rank - b.rank)
			.map(({ one }) => one),
	);
	const rows = keyed(found, ({ speaker, it }) => `${speaker.name}\n${it.peer}`);
	return (
		<Panel title="Sessions" aside={<span class="muted">{plural(found().length, 'session')}</span>}>
			<Table label="Sessions" heads={SESSION_HEADS}>
				<tbody>
					<For each={rows.keys()} fallback={<NoRows columns={9}>No session.</NoRows>}>
						{(key) => (
							<Show when={rows.byKey().get(key)}>{(entry) => <SessionRow entry={entry()} />}</Show>
						)}
					</For>
				</tbody>
			</Table>
			<ShowMore left={rows.left()} total={found().length} onMore={rows.showMore} />
		</Panel>
	);
};

const SPEAKER_HEADS: Head[] = [
	'Speaker',
	'Contact',
	'FRR',
	'maglevds',
	'Configuration',
	'Problems',
	'Version',
];

const frrText = (speaker: SpeakerView): string => {
	const { info } = speaker;
	if (!speaker.connected || !info) return 'not known';
	if (!info.bgp || !info.frr) return 'no BGP';
	return info.frr.current ? 'current' : 'not current';
};

const SpeakerRow: Component<{ speaker: SpeakerView }> = (props) => {
	const info = () => props.speaker.info;
	return (
		<tr
			data-speaker={props.speaker.name}
			data-connected={String(props.speaker.connected)}
			classList={{ stale: !props.speaker.connected }}
		>
			<ContactCells of={props.speaker} />
			<td>
				<Flash on={frrText(props.speaker)}>{frrText(props.speaker)}</Flash>
			</td>
			<td>
				<For each={info()?.maglevds ?? []} fallback={<span class="muted">–</span>}>
					{(one) => {
						const state = () =>
							!props.speaker.connected ? 'unknown' : one.connected ? 'up' : 'down';
						return (
							<span class="peer">
								<StateIcon state={state()} label={state()} /> {one.name}
							</span>
						);
					}}
				</For>
			</td>
			<td>
				<Show when={info()} fallback={<span class="muted">–</span>}>
					{(it) => (
						<>
							{it().config_error ? 'a newer one was refused' : 'loaded'}{' '}
							<span class="muted">
								<Age of={it().loaded} />
							</span>
						</>
					)}
				</Show>
			</td>
			<td class="words">
				<Show
					when={speakerProblems(props.speaker).length > 0}
					fallback={<span class="muted">none</span>}
				>
					<ul class="problems">
						<For each={speakerProblems(props.speaker)}>{(text) => <li>{text}</li>}</For>
					</ul>
				</Show>
			</td>
			<td class="mono">{info()?.version || '–'}</td>
		</tr>
	);
};

const Speakers: Component<{ words: string[] }> = (props) => {
	const found = createMemo(() =>
		speakers().filter((one) => fits(props.words, [one.name, one.address, ...speakerProblems(one)])),
	);
	const rows = keyed(found, (one) => one.name);
	return (
		<Panel title="Speakers" aside={<span class="muted">{plural(found().length, 'speaker')}</span>}>
			<Table label="Speakers" heads={SPEAKER_HEADS}>
				<tbody>
					<For each={rows.keys()} fallback={<NoRows columns={7}>No speaker fits.</NoRows>}>
						{(key) => (
							<Show when={rows.byKey().get(key)}>
								{(speaker) => <SpeakerRow speaker={speaker()} />}
							</Show>
						)}
					</For>
				</tbody>
			</Table>
			<ShowMore left={rows.left()} total={found().length} onMore={rows.showMore} />
		</Panel>
	);
};

/** In the scope of one server: the VIPs of its frontends. Sessions and speakers belong to no server. */
export const Announcements: Component<{ servers: ServerView[]; scope: string }> = (props) => {
	const words = createMemo(() => wordsOf(route().name));
	const own = createMemo(() =>
		props.scope
			? new Set(props.servers.flatMap((one) => one.frontends.map((it) => it.address)))
			: null,
	);
	const entries = createMemo(() =>
		sorted(announcers(), own()).filter((one) => fits(words(), textsOf(one))),
	);
	const addresses = () => new Set(entries().map((one) => one.it.address)).size;
	return (
		<>
			<h1 class="sr-only">Announcements</h1>
			<Show
				when={speakers().length > 0}
				fallback={
					<p class="nowhere">
						No speaker is followed: maglevd-frontend was started without --speaker.
					</p>
				}
			>
				<section class="panel">
					<div class="panel-head">
						<h2>{plural(addresses(), 'VIP')}</h2>
						<input
							type="search"
							data-search
							placeholder="VIP, address, state, speaker, peer"
							aria-label="Filter announcements"
							value={route().name}
							onInput={(event) => setFilter(event.currentTarget.value)}
						/>
					</div>
					<Vips entries={entries()} />
				</section>
				<Sessions words={words()} />
				<Speakers words={words()} />
			</Show>
		</>
	);
};
