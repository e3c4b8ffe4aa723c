// SPDX-License-Identifier: Apache-2.0
// The way of a packet: who attracts it, which frontend and servers get it, or which route, pool and pod of a router; and
// the first place where it is broken. Asked for again every two seconds while the page is shown.
import {
	type Component,
	createEffect,
	createSignal,
	For,
	Index,
	on,
	onCleanup,
	Show,
} from 'solid-js';
import { getWay } from '../api/client.ts';
import type { Way, WayStep } from '../api/types.ts';
import {
	errorText,
	headline,
	iconOf,
	kindText,
	pageOf,
	rateText,
	shareText,
	titleOf,
	verdictOf,
} from '../model/way.ts';
import { linkTo } from '../route.ts';
import { allServers } from '../store.ts';
import { StateIcon, VerdictIcon } from './Icons.tsx';
import { Age, Panel } from './parts.tsx';
import { type Head, Table } from './Table.tsx';

const EVERY_MS = 2000;
const HEADS: Head[] = [
	'Step',
	'State',
	'Since',
	{ number: 'Share' },
	{ number: 'Rate' },
	{ number: 'Errors' },
	'Reason',
];

const Field: Component<{ query: string }> = (props) => {
	let input: HTMLInputElement | undefined;
	return (
		<form
			role="search"
			class="way-field"
			onSubmit={(event) => {
				event.preventDefault();
				location.hash = linkTo('', 'way', input?.value.trim() ?? '');
			}}
		>
			<input
				ref={input}
				type="search"
				data-search
				aria-label="VIP, HOST/PATH, or the name of a frontend or a server"
				placeholder="198.51.100.10:80, www.example.com/path, or a name"
				value={props.query}
				spellcheck={false}
				autocomplete="off"
			/>
			<button type="submit" class="primary">
				Explain
			</button>
		</form>
	);
};

/** VIPs to begin with, each once. */
const Examples: Component = () => {
	const vips = () => [
		...new Set(
			allServers()
				.flatMap((one) => one.frontends)
				.map((it) => {
					const host = it.address.includes(':') ? `[${it.address}]` : it.address;
					return it.port ? `${host}:${it.port}` : it.address;
				}),
		),
	];
	return (
		<p class="muted">
			Ask for a VIP, a host with a path, or a frontend, backend, route, pool or server by its name.{' '}
			<Show when={vips().length > 0}>
				For example{' '}
				<For each={vips().slice(0, 3)}>
					{(vip, index) => (
						<>
							{index() > 0 ? ', ' : ''}
							<a class="mono" href={linkTo('', 'way', vip)}>
								{vip}
							</a>
						</>
					)}
				</For>
				.
			</Show>
		</p>
	);
};

const StepRow: Component<{ way: Way; step: WayStep; index: number }> = (props) => {
	const page = () => pageOf(props.way.steps, props.index);
	return (
		<tr
			data-kind={props.step.kind}
			data-name={props.step.name}
			data-place={props.step.place}
			data-state={props.step.state}
			classList={{ 'way-broken': props.index === props.way.broken }}
		>
			<th scope="row" class={`way-step way-depth-${Math.min(props.step.depth, 9)}`}>
				<span class="muted">{kindText(props.step.kind)}</span>{' '}
				<Show when={page()} fallback={titleOf(props.step)}>
					{(href) => <a href={href()}>{titleOf(props.step)}</a>}
				</Show>{' '}
				<Show when={props.step.place && props.step.kind === 'frontend'}>
					<span class="muted">on {props.step.place}</span>{' '}
				</Show>
				<span class="beside muted mono">{props.step.detail}</span>
			</th>
			<td>
				<span class="state-word">
					<StateIcon state={iconOf(props.step.state)} />
					<span class={`state-${iconOf(props.step.state)}`}>{props.step.state}</span>
				</span>{' '}
				<span class="muted">{props.step.word}</span>
			</td>
			<td>
				<Age of={props.step.since} />
			</td>
			<td class="number">{shareText(props.step)}</td>
			<td class="number">{rateText(props.step)}</td>
			<td class="number">{errorText(props.step)}</td>
			<td class="words">{props.step.reason}</td>
		</tr>
	);
};

const Found: Component<{ way: Way }> = (props) => (
	<>
		<div class="page-head" data-way={props.way.state} data-whole={String(props.way.whole)}>
			<VerdictIcon verdict={verdictOf(props.way.state)} label={props.way.state} />
			<h1 class="mono">{props.way.query}</h1>
			<span data-why>{headline(props.way.state, props.way.why)}</span>
		</div>
		<Show when={props.way.notes.length > 0}>
			<ul class="way-notes">
				<For each={props.way.notes}>{(note) => <li>{note}</li>}</For>
			</ul>
		</Show>
		<Show when={props.way.steps.length > 0}>
			<Panel title="Way of a packet">
				<Table label="Way of a packet" heads={HEADS}>
					<tbody>
						<Index each={props.way.steps}>
							{(step, index) => <StepRow way={props.way} step={step()} index={index} />}
						</Index>
					</tbody>
				</Table>
				<Show when={props.way.left_out > 0}>
					<p class="muted">{props.way.left_out} more steps are not shown.</p>
				</Show>
			</Panel>
		</Show>
	</>
);

const textOf = (failure: unknown): string =>
	failure instanceof Error ? failure.message : String(failure);

/** Asks again and again until the returned function is called. */
function follow(query: string, onWay: (way: Way) => void, onError: (text: string) => void) {
	let ended = false;
	let timer = 0;
	const again = () => {
		if (!ended) timer = window.setTimeout(ask, EVERY_MS);
	};
	const ask = () =>
		void getWay(query)
			.then(
				(way) => ended || onWay(way),
				(failure) => ended || onError(textOf(failure)),
			)
			.then(again);
	ask();
	return () => {
		ended = true;
		window.clearTimeout(timer);
	};
}

export const WayPage: Component<{ query: string }> = (props) => {
	const [way, setWay] = createSignal<Way | null>(null);
	const [error, setError] = createSignal('');

	createEffect(
		on(
			() => props.query,
			(query) => {
				setWay(null);
				setError('');
				if (!query) return;
				const take = (found: Way) => {
					setWay(found);
					setError('');
				};
				onCleanup(follow(query, take, setError));
			},
		),
	);

	return (
		<>
			<Field query={props.query} />
			<Show when={error()}>
				<p class="banner" role="alert">
					{error()}
				</p>
			</Show>
			<Show when={props.query} fallback={<Examples />}>
				<Show when={way()} fallback={<p class="nowhere">{error() ? '' : 'Looking…'}</p>}>
					{(it) => <Found way={it()} />}
				</Show>
			</Show>
		</>
	);
};
