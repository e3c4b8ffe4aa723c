// SPDX-License-Identifier: Apache-2.0
// The events, oldest first. The list follows the newest event unless it is paused or scrolled away.
import { type Component, createEffect, createMemo, createSignal, For, on, Show } from 'solid-js';
import { FAMILIES, type Family, LEVELS, type Level, type Line, select } from '../model/events.ts';
import { clock, dateTime, plural } from '../model/format.ts';
import { log } from '../store.ts';
import { StateIcon } from './Icons.tsx';

/** Most lines that are drawn at once; the search covers all that are kept. */
const DRAWN = 500;

const NAMES: Record<Family, string> = {
	backend: 'backends',
	frontend: 'frontends',
	announcement: 'announcements',
	server: 'servers',
	log: 'log',
};

const Row: Component<{ line: Line; withServer: boolean }> = (props) => (
	<li class={`event event-${props.line.level}`} data-family={props.line.family}>
		<time title={dateTime(props.line.at)}>{clock(props.line.at)}</time>
		<span class="event-level">{props.line.level}</span>
		<Show when={props.withServer}>
			<span class="event-server">{props.line.server}</span>
		</Show>
		<span class="event-subject">
			<Show when={props.line.to}>
				<StateIcon state={props.line.to} />
			</Show>
			{props.line.subject}
		</span>
		<span class="event-text">{props.line.text}</span>
	</li>
);

export const Events: Component<{ scope: string; many: boolean }> = (props) => {
	let list: HTMLUListElement | undefined;
	const [level, setLevel] = createSignal<Level>('info');
	const [families, setFamilies] = createSignal<Family[]>([...FAMILIES]);
	const [search, setSearch] = createSignal('');
	const [held, setHeld] = createSignal<typeof log extends () => infer T ? T | null : never>(null);

	const source = () => held() ?? log();
	const lines = createMemo(() =>
		select(source(), {
			level: level(),
			families: families(),
			server: props.scope,
			search: search(),
		}),
	);
	const missed = () => {
		const kept = held();
		if (!kept) return 0;
		const last = Math.max(kept.lines.at(-1)?.id ?? -1, kept.debug.at(-1)?.id ?? -1);
		return log().lines.filter((line) => line.id > last).length;
	};
	const toggle = (family: Family) =>
		setFamilies((chosen) =>
			chosen.includes(family) ? chosen.filter((one) => one !== family) : [...chosen, family],
		);

	const nothing = () =>
		source().lines.length + source().debug.length > 0
			? 'No event fits.'
			: 'Nothing has happened yet.';

	const [atEnd, setAtEnd] = createSignal(true);
	let seen = 0; // the last known scroll position
	const onScroll = () => {
		if (!list) return;
		seen = list.scrollTop;
		setAtEnd(list.scrollHeight - list.scrollTop - list.clientHeight < 40);
	};
	const toEnd = () => {
		if (!list) return;
		list.scrollTop = list.scrollHeight;
		seen = list.scrollTop;
	};
	createEffect(
		on(lines, () => {
			// the user may have scrolled away while the scroll event is still pending
			if (atEnd() && list && list.scrollTop >= seen) toEnd();
		}),
	);

	return (
		<>
			<h1 class="sr-only">Events</h1>
			<div class="toolbar" role="toolbar" aria-label="Events">
				<button
					type="button"
					data-pause
					aria-pressed={held() !== null}
					onClick={() => setHeld(held() ? null : log())}
				>
					{held() ? `Resume (${missed()} new)` : 'Pause'}
				</button>
				<input
					type="search"
					data-search
					placeholder="search"
					aria-label="Search events"
					value={search()}
					onInput={(event) => setSearch(event.currentTarget.value)}
				/>
				<label>
					level{' '}
					<select
						value={level()}
						onChange={(event) => setLevel(event.currentTarget.value as Level)}
					>
						<For each={LEVELS}>{(one) => <option value={one}>{one}</option>}</For>
					</select>
				</label>
				<span class="group">
					<For each={FAMILIES}>
						{(family) => (
							<label class="check">
								<input
									type="checkbox"
									checked={families().includes(family)}
									onChange={() => toggle(family)}
								/>
								{NAMES[family]}
							</label>
						)}
					</For>
				</span>
				<span class="muted">{plural(lines().length, 'event')}</span>
				<button type="button" disabled={atEnd()} onClick={toEnd}>
					To the newest
				</button>
			</div>
			<ul
				ref={list}
				class="events"
				onScroll={onScroll}
				tabindex="0"
				aria-label="Events, oldest first"
			>
				<For each={lines().slice(-DRAWN)} fallback={<li class="muted">{nothing()}</li>}>
					{(line) => <Row line={line} withServer={props.many} />}
				</For>
			</ul>
		</>
	);
};
