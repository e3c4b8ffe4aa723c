// SPDX-License-Identifier: Apache-2.0
// Whether something needs attention, what, and all muxes.
import {
	type Component,
	createMemo,
	createSignal,
	For,
	type ParentComponent,
	Show,
} from 'solid-js';
import { plural } from '../model/format.ts';
import { Flash } from '../view/basics.tsx';
import { StateIcon, VerdictIcon } from '../view/Icons.tsx';
import { NoRows, Table } from '../view/Table.tsx';
import { EventList } from './Events.tsx';
import { type Concern, missingMuxes, muxVerdict, roleOf, totalsOf } from './model.ts';
import { Ready, Texts } from './parts.tsx';
import { linkTo } from './place.ts';
import { concerns } from './store.ts';
import type { Mux, State } from './types.ts';

/** Most concerns that are drawn at first: a mux with a thousand refusals has one cause. */
const DRAWN = 20;
const RECENT = 8;

const Count: ParentComponent<{ total: number; term: string; view: 'channels' | 'overview' }> = (
	props,
) => (
	<a class="count-card" href={linkTo(props.view)}>
		<span class="count">
			<span class="count-total">
				<Flash on={props.total}>{props.total}</Flash>
			</span>{' '}
			<span class="count-term">{props.term}</span>
			<span class="count-states">{props.children}</span>
		</span>
	</a>
);

const StateCount: Component<{ state: string; count: number; word: string }> = (props) => (
	<Show when={props.count > 0}>
		<span class="count-state">
			<StateIcon state={props.state} />
			<Flash on={props.count}>
				{props.count} {props.word}
			</Flash>
		</span>
	</Show>
);

const Counts: Component<{ state: State }> = (props) => {
	const totals = createMemo(() => totalsOf(props.state));
	const role = createMemo(() => roleOf(props.state));
	return (
		<div class="counts">
			<div class="count-card" data-role={role().word}>
				<span class="count">
					<span class="count-total">
						<VerdictIcon verdict={role().verdict} /> <Flash on={role().word}>{role().word}</Flash>
					</span>
					<span class="count-states">{role().note}</span>
				</span>
			</div>
			<Count total={totals().muxes} term={totals().muxes === 1 ? 'mux' : 'muxes'} view="overview">
				{plural(totals().ports, 'port')}
			</Count>
			<Count total={totals().channels} term="channels" view="channels">
				<StateCount state="up" count={totals().served} word="served" />
				<StateCount state="down" count={totals().refused} word="refused" />
				<StateCount
					state="unknown"
					count={totals().channels - totals().served - totals().refused}
					word="not served"
				/>
			</Count>
			<Count total={totals().ready + totals().notReady} term="endpoints" view="channels">
				<StateCount state="up" count={totals().ready} word="ready" />
				<StateCount state="down" count={totals().notReady} word="not ready" />
			</Count>
		</div>
	);
};

const ConcernRow: Component<{ of: Concern }> = (props) => (
	<li class={`concern concern-${props.of.verdict}`} data-verdict={props.of.verdict}>
		<a href={linkTo('mux', props.of.mux)}>
			<VerdictIcon verdict={props.of.verdict} label={props.of.verdict} />
			<b>{props.of.title}</b>
			<span class="concern-notes">{props.of.note}</span>
		</a>
	</li>
);

const Attention: Component = () => {
	const [all, setAll] = createSignal(false);
	const shown = () => (all() ? concerns() : concerns().slice(0, DRAWN));
	return (
		<section class="attention" aria-label="What needs attention">
			<Show
				when={concerns().length > 0}
				fallback={
					<p class="quiet">
						<VerdictIcon verdict="ok" /> Every channel is served and has a ready endpoint.
					</p>
				}
			>
				<ul>
					<For each={shown()}>{(one) => <ConcernRow of={one} />}</For>
				</ul>
				<Show when={shown().length < concerns().length}>
					<button type="button" onClick={() => setAll(true)}>
						Show all {concerns().length}
					</button>
				</Show>
			</Show>
		</section>
	);
};

const MuxRow: Component<{ name: string; mux: Mux | undefined; state: State }> = (props) => {
	const verdict = () => muxVerdict(concerns(), props.name);
	const endpoints = () => props.state.endpoints[props.name];
	return (
		<tr data-mux={props.name} data-condition={props.mux?.condition ?? 'missing'}>
			<th scope="row">
				<VerdictIcon verdict={verdict()} label={verdict()} />{' '}
				<a href={linkTo('mux', props.name)}>{props.name}</a>
			</th>
			<td>{props.mux?.condition ?? 'missing'}</td>
			<td>
				<Texts of={props.mux?.ingress ?? []} />
			</td>
			<td class="number">{props.mux?.served ?? 0}</td>
			<td class="number">{props.mux?.refused ?? 0}</td>
			<td class="number">
				{props.mux?.ports ?? 0}
				{props.mux?.max_ports ? ` / ${props.mux.max_ports}` : ''}
			</td>
			<td class="mono">{props.mux?.port_range ?? '–'}</td>
			<td>
				<Ready ready={endpoints()?.ready_count ?? 0} notReady={endpoints()?.not_ready_count ?? 0} />
			</td>
		</tr>
	);
};

const HEADS = [
	'Mux',
	'Condition',
	'Address',
	{ number: 'Served' },
	{ number: 'Refused' },
	{ number: 'Ports' },
	'Range',
	'Endpoints',
];

export const Overview: Component<{ state: State }> = (props) => {
	const names = createMemo(
		() => [...Object.keys(props.state.mux_services), ...missingMuxes(props.state)].sort(),
		[],
		{ equals: (a, b) => a.join('\n') === b.join('\n') },
	);
	return (
		<>
			<h1 class="sr-only">Overview</h1>
			<Attention />
			<Counts state={props.state} />
			<section class="panel">
				<div class="panel-head">
					<h2>Muxes</h2>
				</div>
				<Table label="Muxes" heads={HEADS}>
					<tbody>
						<For
							each={names()}
							fallback={
								<NoRows columns={8}>
									No Service has the annotation {props.state.controller.api_prefix}/multiplexer:
									"true".
								</NoRows>
							}
						>
							{(name) => (
								<MuxRow name={name} mux={props.state.mux_services[name]} state={props.state} />
							)}
						</For>
					</tbody>
				</Table>
			</section>
			<section class="panel">
				<div class="panel-head">
					<h2>Recent events</h2>
					<a href={linkTo('events')}>all</a>
				</div>
				<EventList events={props.state.events.slice(0, RECENT)} />
			</section>
		</>
	);
};
