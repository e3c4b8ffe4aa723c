// SPDX-License-Identifier: Apache-2.0
// All backends of the scope in one table, those with problems first. In /admin/ several can be chosen, for one act on
// all of them.
import { type Component, createMemo, createSignal, For, Show } from 'solid-js';
import { duration, num, plural } from '../model/format.ts';
import { type BackendEntry, backendsOf, keyOf } from '../model/lists.ts';
import { latencyKey } from '../model/series.ts';
import type { ServerView } from '../model/state.ts';
import { isAdmin, linkTo, route, setFilter } from '../route.ts';
import { BackendMenu, ManyActions } from './Actions.tsx';
import {
	Age,
	Flash,
	Heartbeat,
	LastKnown,
	OverrideNote,
	ScheduleNote,
	StateWord,
} from './parts.tsx';
import { bounded, Each, ShowMore } from './rows.tsx';
import { Sparkline } from './Sparkline.tsx';
import { type Head, NoRows, Table } from './Table.tsx';

/** With more rows the dots do not pulse: that much motion is not informative and costs processor time. */
const BEATING = 40;

const heads = (withServer: boolean): Head[] => [
	...(isAdmin() ? [{ unseen: 'Chosen' }] : []),
	'State',
	'Backend',
	...(withServer ? ['Server'] : []),
	'Address',
	'Code',
	{ number: 'Took' },
	'Probes',
	{ number: 'Since' },
	'Frontends',
	{ unseen: 'Actions' },
];

interface RowProps {
	entry: BackendEntry;
	withServer: boolean;
	beats: boolean;
	chosen: boolean;
	onChoose: (chosen: boolean) => void;
}

/** Frontends of a backend that are named in its row. */
const NAMED = 4;

const Row: Component<RowProps> = (props) => {
	const server = () => props.entry.server;
	const it = createMemo(() => props.entry.it);
	return (
		<tr
			data-backend={it().name}
			data-state={it().state}
			classList={{ stale: !server().connected, chosen: props.chosen }}
		>
			<Show when={isAdmin()}>
				<td class="choice">
					<input
						type="checkbox"
						aria-label={`${it().name} on ${server().name}`}
						disabled={!server().connected}
						checked={props.chosen}
						onChange={(event) => props.onChoose(event.currentTarget.checked)}
					/>
				</td>
			</Show>
			<td>
				<StateWord state={it().state} /> <LastKnown was={it().was} since={server().since_ns} />
			</td>
			<th scope="row">
				<a href={linkTo(server().name, 'backend', it().name)}>{it().name}</a>
				<Show when={props.beats}>
					<Heartbeat beat={it().last_probe} />
				</Show>{' '}
				<OverrideNote override={it().override} /> <ScheduleNote override={it().scheduled} />
			</th>
			<Show when={props.withServer}>
				<td>{server().name}</td>
			</Show>
			<td class="mono">{it().address}</td>
			<td>
				<span class="mono" title={it().last_reason}>
					<Flash on={it().last_code}>{it().last_code || '–'}</Flash>
				</span>
			</td>
			<td class="number">{num(it().last_duration) ? duration(it().last_duration) : '–'}</td>
			<td class="spark-cell">
				<Sparkline of={latencyKey(server().name, it().name)} lines={[0]} />
			</td>
			<td class="number">
				<Age of={it().since} />
			</td>
			<td>
				<For each={it().frontends.slice(0, NAMED)}>
					{(name, index) => (
						<>
							{index() > 0 ? ', ' : ''}
							<a href={linkTo(server().name, 'frontend', name)}>{name}</a>
						</>
					)}
				</For>
				<Show when={it().frontends.length > NAMED}>
					<span class="muted"> and {it().frontends.length - NAMED} more</span>
				</Show>
			</td>
			<td class="actions">
				<BackendMenu server={server()} backend={it().name} />
			</td>
		</tr>
	);
};

export const Backends: Component<{ servers: ServerView[] }> = (props) => {
	const many = () => props.servers.length > 1;
	const found = createMemo(() => backendsOf(props.servers, route().name));
	const rows = bounded(found);
	const [chosen, setChosen] = createSignal<ReadonlySet<string>>(new Set());
	/** Only those that the filter still finds: nobody acts on what he does not see. */
	const picked = createMemo(() =>
		chosen().size ? found().filter((one) => chosen().has(keyOf(one)) && one.server.connected) : [],
	);
	const choose = (key: string, on: boolean) =>
		setChosen((before) => {
			const after = new Set(before);
			if (on) after.add(key);
			else after.delete(key);
			return after;
		});
	return (
		<>
			<h1 class="sr-only">Backends</h1>
			<section class="panel">
				<div class="panel-head">
					<h2>{plural(found().length, 'backend')}</h2>
					<input
						type="search"
						data-search
						placeholder="name, address, state, code, check"
						aria-label="Filter backends"
						value={route().name}
						onInput={(event) => setFilter(event.currentTarget.value)}
					/>
				</div>
				<ManyActions
					picked={picked()}
					total={found().length}
					onAll={() => setChosen(new Set(found().map(keyOf)))}
					onNone={() => setChosen(new Set<string>())}
				/>
				<Table label="Backends" heads={heads(many())}>
					<tbody>
						<Each
							of={rows.shown()}
							by={keyOf}
							fallback={<NoRows columns={heads(many()).length}>No backend fits.</NoRows>}
						>
							{(entry) => (
								<Row
									entry={entry()}
									withServer={many()}
									beats={rows.shown().length <= BEATING}
									chosen={chosen().has(keyOf(entry()))}
									onChoose={(on) => choose(keyOf(entry()), on)}
								/>
							)}
						</Each>
					</tbody>
				</Table>
				<ShowMore left={rows.left()} total={found().length} onMore={rows.showMore} />
			</section>
		</>
	);
};
