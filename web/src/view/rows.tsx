// SPDX-License-Identifier: Apache-2.0
// Long lists: a search, rows that stay while their items change, and a bound.
import {
	type Accessor,
	type Component,
	createEffect,
	createMemo,
	createSignal,
	For,
	type JSX,
	onCleanup,
	Show,
	untrack,
} from 'solid-js';

/** Most rows of a list that are drawn at first; the search covers all. */
const DRAWN = 100;
/** Rows that a button adds. */
export const MORE = 400;
/** Rows that are drawn in one task; the rest follows in the next ones. */
const STEP = 8;

export const wordsOf = (search: string): string[] =>
	search.toLowerCase().split(/\s+/).filter(Boolean);

export const fits = (words: string[], texts: string[]): boolean => {
	if (words.length === 0) return true;
	const text = texts.join(' ').toLowerCase();
	return words.every((word) => text.includes(word));
};

const sameKeys = (a: string[], b: string[]): boolean =>
	a.length === b.length && a.every((one, index) => one === b[index]);

/** The beginning of a list, which grows by a few items in each task until it is whole. */
function growing(keys: Accessor<string[]>, first = STEP, step = STEP): Accessor<string[]> {
	const [count, setCount] = createSignal(first);
	let timer = 0;
	createEffect(() => {
		if (count() >= keys().length) return;
		timer = window.setTimeout(() => setCount((before) => before + step), 0);
		onCleanup(() => window.clearTimeout(timer));
	});
	return createMemo(() => (count() < keys().length ? keys().slice(0, count()) : keys()), [], {
		equals: sameKeys,
	});
}

interface EachProps<T> {
	of: T[];
	by: (one: T) => string;
	fallback?: JSX.Element;
	/** The first rows are drawn in the next task, too. */
	later?: boolean;
	/** Rows that are drawn in one task, if not as many as usual. */
	step?: number;
	children: (item: Accessor<T>) => JSX.Element;
}

/** A child for each item, by its key: it stays, with its focus, while its item is replaced by another object. */
export function Each<T>(props: EachProps<T>): JSX.Element {
	const byKey = createMemo(() => new Map(props.of.map((one) => [props.by(one), one])));
	const keys = growing(
		createMemo(() => [...byKey().keys()], [], { equals: sameKeys }),
		untrack(() => (props.later ? 0 : (props.step ?? STEP))),
		untrack(() => props.step),
	);
	return (
		<For each={keys()} fallback={props.of.length === 0 ? props.fallback : undefined}>
			{(key) => {
				const item = createMemo<T>((last) => byKey().get(key) ?? last, byKey().get(key) as T);
				return props.children(item);
			}}
		</For>
	);
}

/** The first items of a list, and more of them when that was asked for. */
export function bounded<T>(items: Accessor<T[]>, most = DRAWN) {
	const [count, setCount] = createSignal(most);
	const shown = createMemo(() => items().slice(0, count()));
	const left = () => items().length - shown().length;
	return { shown, left, showMore: () => setCount((before) => before + MORE) };
}

/** The keys of items, which rows are drawn for: a row stays, with its focus, while its item changes. */
export function keyed<T>(items: Accessor<T[]>, keyOf: (one: T) => string) {
	const { shown, left, showMore } = bounded(items);
	const byKey = createMemo(() => new Map(shown().map((one) => [keyOf(one), one])));
	const keys = growing(createMemo(() => [...byKey().keys()], [], { equals: sameKeys }));
	return { keys, byKey, left, showMore };
}

/** Thousands of rows cannot be read, and each costs time; a filter finds what is not drawn. */
export const ShowMore: Component<{
	left: number;
	total: number;
	what?: string;
	onMore: () => void;
}> = (props) => (
	<Show when={props.left > 0}>
		<button type="button" onClick={() => props.onMore()}>
			{props.left > MORE ? `Show ${MORE} more of ${props.total}` : `Show all ${props.total}`}
			{props.what ? ` ${props.what}` : ''}
		</button>
	</Show>
);
