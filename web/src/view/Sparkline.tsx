// SPDX-License-Identifier: Apache-2.0
// A small line without axes: the last minutes of one ring. It asks for its past when it comes into sight.
import { type Component, createMemo, onCleanup, onMount, Show } from 'solid-js';
import type { Ring } from '../model/series.ts';
import { wantPast } from '../past.ts';
import { drawn, ringOf } from '../store.ts';

const WIDTH = 160;
const HEIGHT = 28;
const SECONDS = 600;

/** The path of the sum of all lines except those left out; interrupted at gaps. */
export function sparkPath(ring: Ring, lines: number[]): string {
	const end = ring.times.at(-1) ?? 0;
	const from = ring.times.findIndex((time) => time >= end - SECONDS);
	const times = ring.times.slice(Math.max(0, from));
	const start = times[0] ?? end;
	const sums = times.map((_, index) => {
		const values = lines.map((line) => ring.values[line]?.[from + index] ?? null);
		return values.every((value) => value === null)
			? null
			: values.reduce<number>((total, value) => total + (value ?? 0), 0);
	});
	const most = Math.max(...sums.map((value) => value ?? 0), 1e-9);
	let pen = 'M';
	return sums
		.map((value, index) => {
			if (value === null) {
				pen = 'M';
				return '';
			}
			const x = (WIDTH * ((times[index] ?? end) - start)) / Math.max(1e-9, end - start);
			const piece = `${pen}${x.toFixed(1)} ${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`;
			pen = 'L';
			return piece;
		})
		.join('');
}

/** One for all sparklines: which of them are in sight. */
const seen = new WeakMap<Element, () => void>();
const observer =
	typeof IntersectionObserver === 'undefined'
		? undefined
		: new IntersectionObserver((entries) => {
				for (const one of entries) if (one.isIntersecting) seen.get(one.target)?.();
			});

export const Sparkline: Component<{ of: string; lines: number[] }> = (props) => {
	/** Most updates bring no point for this line. */
	const newest = createMemo(() => {
		drawn();
		return ringOf(props.of)?.times.at(-1);
	});
	const path = createMemo(() => {
		newest();
		const ring = ringOf(props.of);
		return ring && ring.times.length > 1 ? sparkPath(ring, props.lines) : '';
	});
	let host: SVGSVGElement | undefined;
	onMount(() => {
		const element = host as SVGSVGElement;
		seen.set(element, () => wantPast(props.of));
		observer?.observe(element);
		onCleanup(() => observer?.unobserve(element));
	});
	return (
		<svg
			ref={host}
			class="spark"
			viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
			preserveAspectRatio="none"
			aria-hidden="true"
		>
			<Show when={path()}>
				<path d={path()} />
			</Show>
		</svg>
	);
};
