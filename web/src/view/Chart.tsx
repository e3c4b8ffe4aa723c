// SPDX-License-Identifier: Apache-2.0
// A chart over time (uPlot) that draws rings in the colours of the theme.
import { type Component, createEffect, For, onCleanup, onMount } from 'solid-js';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clock } from '../model/format.ts';
import { RING, type Ring } from '../model/series.ts';
import { drawn } from '../store.ts';
import { painted } from '../theme.ts';

export interface ChartLine {
	label: string;
	ring: Ring | undefined;
	line: number;
}

interface ChartProps {
	title: string;
	lines: ChartLine[];
	format: (value: number) => string;
	/** The axis reaches at least this value, so that tiny values do not fill the chart. */
	least: number;
}

const COLOURS = 8;
const REDRAW_MS = 1000;
const HEIGHT = 190;
/** Possible distances between two time marks, in seconds. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600];
/** Padding above and beside the plot, for half of a time mark. */
const PADDING: uPlot.Padding = [8, 28, 0, 0];

/** All lines over one common axis. In uPlot null is a gap, and undefined a time that only other lines have. */
export function join(lines: ChartLine[]): uPlot.AlignedData {
	const times = [...new Set(lines.flatMap((one) => one.ring?.times ?? []))].sort((a, b) => a - b);
	const place = new Map(times.map((time, index) => [time, index]));
	const values = lines.map(({ ring, line }) => {
		const row: (number | null | undefined)[] = new Array(times.length);
		ring?.times.forEach((time, index) => {
			row[place.get(time) as number] = ring.values[line]?.[index] ?? null;
		});
		return row;
	});
	return [
		times.slice(-RING * 4),
		...values.map((row) => row.slice(-RING * 4)),
	] as uPlot.AlignedData;
}

/** A colour of the stylesheet, resolved for the canvas. */
function colour(of: HTMLElement, name: string): string {
	const probe = document.createElement('span');
	probe.className = `paint-${name}`;
	of.append(probe);
	const found = getComputedStyle(probe).color;
	probe.remove();
	return found;
}

/** The points between two gaps, which no line shows. Times that only other lines have do not count. */
function alone(plot: uPlot, line: number): number[] | null {
	const row = plot.data[line] as (number | null | undefined)[];
	const told = row.map((_, index) => index).filter((index) => row[index] !== undefined);
	const known = (place: number): boolean => (row[told[place] ?? -1] ?? null) !== null;
	return told.filter((_, place) => known(place) && !known(place - 1) && !known(place + 1));
}

function options(host: HTMLElement, props: ChartProps): uPlot.Options {
	const axis = { stroke: colour(host, 'muted'), grid: { stroke: colour(host, 'line'), width: 1 } };
	const font = '11px system-ui, sans-serif';
	return {
		width: host.clientWidth,
		height: HEIGHT,
		padding: PADDING,
		legend: { show: false },
		cursor: { y: false, points: { size: 6 } },
		scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, props.least)] } },
		axes: [
			{
				...axis,
				font,
				ticks: { show: false },
				space: 70,
				size: 26,
				incrs: STEPS,
				values: (_, at) => at.map((t) => clock(t * 1000)),
			},
			{ ...axis, font, ticks: { show: false }, size: 72, values: (_, at) => at.map(props.format) },
		],
		series: [
			{},
			...props.lines.map((line, index) => ({
				label: line.label,
				stroke: colour(host, `series-${index % COLOURS}`),
				width: 1.5,
				points: { show: true, size: 4, filter: alone },
				spanGaps: false,
			})),
		],
	};
}

const newest = (line: ChartLine): number | null =>
	line.ring?.values[line.line]?.findLast((value) => value !== null) ?? null;

export const Chart: Component<ChartProps> = (props) => {
	let host: HTMLDivElement | undefined;
	let plot: uPlot | undefined;
	let last = 0;

	function build(): void {
		if (!host) return;
		plot?.destroy();
		plot = new uPlot(options(host, props), join(props.lines), host);
	}

	onMount(() => {
		createEffect(() => {
			painted();
			props.lines.map((one) => one.label).join();
			build();
		});
		createEffect(() => {
			drawn();
			if (performance.now() - last < REDRAW_MS) return;
			last = performance.now();
			plot?.setData(join(props.lines));
		});
		const observer = new ResizeObserver(() => {
			if (host && plot && host.clientWidth !== plot.width)
				plot.setSize({ width: host.clientWidth, height: HEIGHT });
		});
		if (host) observer.observe(host);
		onCleanup(() => {
			observer.disconnect();
			plot?.destroy();
		});
	});

	const value = (line: ChartLine): string => {
		drawn();
		const found = newest(line);
		return found === null ? '–' : props.format(found);
	};

	return (
		<figure class="chart">
			<figcaption>
				<span class="chart-title">{props.title}</span>
				<ul class="legend">
					<For each={props.lines}>
						{(line, index) => (
							<li>
								<span class={`swatch paint-series-${index() % COLOURS}`} aria-hidden="true" />
								{line.label} <b>{value(line)}</b>
							</li>
						)}
					</For>
				</ul>
			</figcaption>
			<div ref={host} class="chart-host" aria-hidden="true" />
		</figure>
	);
};
