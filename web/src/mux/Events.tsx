// SPDX-License-Identifier: Apache-2.0
// The newest events, newest first; equal ones are counted.
import { type Component, createMemo, createSignal, For, Show } from 'solid-js';
import { plural } from '../model/format.ts';
import { fits, wordsOf } from '../view/rows.tsx';
import { NoRows, Table } from '../view/Table.tsx';
import { Search, Since } from './parts.tsx';
import type { Event } from './types.ts';

const Row: Component<{ of: Event }> = (props) => (
	<tr data-type={props.of.type} data-resource={props.of.resource}>
		<td class="number">
			<Since time={props.of.last_timestamp} />
		</td>
		<td>
			<span class={`chip ${props.of.type === 'Warning' ? 'chip-warn' : ''}`}>{props.of.type}</span>
		</td>
		<th scope="row">{props.of.resource}</th>
		<td class="reason">
			{props.of.message}{' '}
			<Show when={props.of.count > 1}>
				<span class="muted">
					{props.of.count} times, first <Since time={props.of.first_timestamp} /> ago
				</span>
			</Show>
		</td>
	</tr>
);

export const EventList: Component<{ events: Event[] }> = (props) => (
	<Table label="Events" heads={[{ number: 'Ago' }, 'Type', 'Service', 'What']}>
		<tbody>
			<For each={props.events} fallback={<NoRows columns={4}>There is no event.</NoRows>}>
				{(one) => <Row of={one} />}
			</For>
		</tbody>
	</Table>
);

export const Events: Component<{ events: Event[] }> = (props) => {
	const [search, setSearch] = createSignal('');
	const found = createMemo(() => {
		const words = wordsOf(search());
		return props.events.filter((one) => fits(words, [one.type, one.resource, one.message]));
	});
	return (
		<>
			<h1 class="sr-only">Events</h1>
			<section class="panel">
				<div class="panel-head">
					<h2>{plural(found().length, 'event')}</h2>
					<Search value={search()} label="Search events" onInput={setSearch} />
				</div>
				<EventList events={found()} />
			</section>
		</>
	);
};
