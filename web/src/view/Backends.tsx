// SPDX-License-Identifier: Apache-2.0
// All backends of the scope in one table, what is wrong first.
import { type Component, createMemo, createSignal, For, Show } from 'solid-js';
import { duration, num, plural } from '../model/format.ts';
import { latencyKey } from '../model/series.ts';
import type { ServerView } from '../model/state.ts';
import { linkTo } from '../route.ts';
import { BackendMenu } from './Actions.tsx';
import { Age, Flash, Heartbeat, OverrideNote, Panel, StateWord } from './parts.tsx';
import { Sparkline } from './Sparkline.tsx';

const ORDER = ['down', 'unknown', 'paused', 'disabled', 'up'];

interface Entry {
	server: ServerView;
	name: string;
}

const Row: Component<{ entry: Entry; withServer: boolean }> = (props) => {
	const backend = () => props.entry.server.backends.find((one) => one.name === props.entry.name);
	return (
		<Show when={backend()}>
			{(it) => (
				<tr
					data-backend={it().name}
					data-state={it().state}
					classList={{ stale: !props.entry.server.connected }}
				>
					<td>
						<StateWord state={it().state} />
					</td>
					<th scope="row">
						<a href={linkTo(props.entry.server.name, 'backend', it().name)}>{it().name}</a>
						<Heartbeat beat={it().last_probe} /> <OverrideNote override={it().override} />
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
			)}
		</Show>
	);
};

export const Backends: Component<{ servers: ServerView[] }> = (props) => {
	const [search, setSearch] = createSignal('');
	/** Objects that stay the same for as long as the backend is there: rows keep their focus. */
	const entries = new Map<string, Entry>();
	const entry = (server: ServerView, name: string): Entry => {
		const key = `${server.name}\n${name}`;
		const found = entries.get(key) ?? { server, name };
		entries.set(key, found);
		return found;
	};
	const rows = createMemo(() => {
		const words = search().toLowerCase().split(/\s+/).filter(Boolean);
		return props.servers
			.flatMap((server) =>
				server.backends.map((one) => ({
					entry: entry(server, one.name),
					rank: ORDER.indexOf(one.state),
					text: `${one.name} ${one.address} ${one.state} ${one.last_code} ${server.name} ${one.frontends.join(' ')}`,
				})),
			)
			.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)))
			.sort((a, b) => a.rank - b.rank)
			.map((one) => one.entry);
	});
	return (
		<>
			<h1 class="sr-only">Backends</h1>
			<Panel
				title={plural(rows().length, 'backend')}
				aside={
					<input
						type="search"
						data-search
						placeholder="name, address, state, code"
						aria-label="Search backends"
						value={search()}
						onInput={(event) => setSearch(event.currentTarget.value)}
					/>
				}
			>
				<div class="table-wrap">
					<table>
						<thead>
							<tr>
								<th scope="col">State</th>
								<th scope="col">Backend</th>
								<Show when={props.servers.length > 1}>
									<th scope="col">Server</th>
								</Show>
								<th scope="col">Address</th>
								<th scope="col">Code</th>
								<th scope="col" class="number">
									Took
								</th>
								<th scope="col">Probes</th>
								<th scope="col" class="number">
									Since
								</th>
								<th scope="col">Frontends</th>
								<th scope="col">
									<span class="sr-only">Actions</span>
								</th>
							</tr>
						</thead>
						<tbody>
							<For each={rows()}>
								{(one) => <Row entry={one} withServer={props.servers.length > 1} />}
							</For>
						</tbody>
					</table>
				</div>
			</Panel>
		</>
	);
};
