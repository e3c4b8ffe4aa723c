// SPDX-License-Identifier: Apache-2.0
// All backends of the scope in one table, those with problems first.
import { type Component, createMemo, createSignal, For, Show } from 'solid-js';
import type { Backend } from '../api/types.ts';
import { duration, num, plural } from '../model/format.ts';
import { latencyKey } from '../model/series.ts';
import type { ServerView } from '../model/state.ts';
import { linkTo } from '../route.ts';
import { BackendMenu } from './Actions.tsx';
import { Age, Flash, Heartbeat, LastKnown, OverrideNote, StateWord } from './parts.tsx';
import { Sparkline } from './Sparkline.tsx';
import { type Head, Table } from './Table.tsx';

const ORDER = ['down', 'unknown', 'paused', 'disabled', 'up'];

/** Most rows that are drawn; the search covers all backends. */
const DRAWN = 100;
/** With more rows the dots do not pulse: that much motion is not informative and costs processor time. */
const BEATING = 40;

const heads = (withServer: boolean): Head[] => [
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

interface Entry {
	server: ServerView;
	backend: Backend;
}

const Row: Component<{ entry: Entry; withServer: boolean; beats: boolean }> = (props) => {
	const it = () => props.entry.backend;
	return (
		<tr
			data-backend={it().name}
			data-state={it().state}
			classList={{ stale: !props.entry.server.connected }}
		>
			<td>
				<StateWord state={it().state} />{' '}
				<LastKnown was={it().was} since={props.entry.server.since_ns} />
			</td>
			<th scope="row">
				<a href={linkTo(props.entry.server.name, 'backend', it().name)}>{it().name}</a>
				<Show when={props.beats}>
					<Heartbeat beat={it().last_probe} />
				</Show>{' '}
				<OverrideNote override={it().override} />
			</th>
			<Show when={props.withServer}>
				<td>{props.entry.server.name}</td>
			</Show>
			<td class="mono">{it().address}</td>
			<td>
				<span class="mono" title={it().last_reason}>
					<Flash on={it().last_code}>{it().last_code || '–'}</Flash>
				</span>
			</td>
			<td class="number">{num(it().last_duration) ? duration(it().last_duration) : '–'}</td>
			<td class="spark-cell">
				<Sparkline of={latencyKey(props.entry.server.name, it().name)} lines={[0]} />
			</td>
			<td class="number">
				<Age of={it().since} />
			</td>
			<td>
				<For each={it().frontends}>
					{(name, index) => (
						<>
							{index() > 0 ? ', ' : ''}
							<a href={linkTo(props.entry.server.name, 'frontend', name)}>{name}</a>
						</>
					)}
				</For>
			</td>
			<td class="actions">
				<BackendMenu server={props.entry.server} backend={it().name} />
			</td>
		</tr>
	);
};

export const Backends: Component<{ servers: ServerView[] }> = (props) => {
	const many = () => props.servers.length > 1;
	const [search, setSearch] = createSignal('');
	const [all, setAll] = createSignal(false);
	/** Objects that stay the same as long as the backend exists, so that rows keep the focus. */
	const entries = new WeakMap<Backend, Entry>();
	const entry = (server: ServerView, backend: Backend): Entry => {
		const found = entries.get(backend) ?? { server, backend };
		entries.set(backend, found);
		return found;
	};
	const found = createMemo(() => {
		const words = search().toLowerCase().split(/\s+/).filter(Boolean);
		const fits = (server: ServerView, one: Backend): boolean => {
			if (words.length === 0) return true;
			const { name, address, state, last_code, frontends } = one;
			const text = [name, address, state, last_code, server.name, ...frontends]
				.join(' ')
				.toLowerCase();
			return words.every((word) => text.includes(word));
		};
		return props.servers
			.flatMap((server) =>
				server.backends.filter((one) => fits(server, one)).map((one) => entry(server, one)),
			)
			.map((one) => ({ one, rank: ORDER.indexOf(one.backend.state) }))
			.sort((a, b) => a.rank - b.rank)
			.map(({ one }) => one);
	});
	const rows = () => (all() ? found() : found().slice(0, DRAWN));
	return (
		<>
			<h1 class="sr-only">Backends</h1>
			<section class="panel">
				<div class="panel-head">
					<h2>{plural(found().length, 'backend')}</h2>
					<input
						type="search"
						data-search
						placeholder="name, address, state, code"
						aria-label="Search backends"
						value={search()}
						onInput={(event) => setSearch(event.currentTarget.value)}
					/>
				</div>
				<Table label="Backends" heads={heads(many())}>
					<tbody>
						<For each={rows()}>
							{(one) => <Row entry={one} withServer={many()} beats={rows().length <= BEATING} />}
						</For>
					</tbody>
				</Table>
				<Show when={rows().length < found().length}>
					<button type="button" onClick={() => setAll(true)}>
						Show all {found().length}
					</button>
				</Show>
			</section>
		</>
	);
};
