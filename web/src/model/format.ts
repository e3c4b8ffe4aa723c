// SPDX-License-Identifier: Apache-2.0
// Numbers and times as text. Pure; now is a parameter.
import type { Int64 } from '../api/types.ts';

/** 64-bit numbers arrive as text. Beyond 2^53 the last digits are lost: less than a microsecond for times in ns. */
export const num = (value: Int64 | undefined | null): number => Number(value ?? 0);

/** Milliseconds of a time in nanoseconds. */
export const ms = (ns: Int64 | undefined | null): number => num(ns) / 1e6;

const UNITS: [string, number][] = [
	['d', 86_400],
	['h', 3_600],
	['m', 60],
	['s', 1],
];

/** "2h 5m": the two largest units; "now" below a second. */
export function span(milliseconds: number): string {
	let left = Math.floor(milliseconds / 1000);
	if (left < 1) return 'now';
	const first = UNITS.findIndex(([, size]) => left >= size);
	const words: string[] = [];
	for (const [unit, size] of UNITS.slice(first, first + 2)) {
		const count = Math.floor(left / size);
		left -= count * size;
		if (count > 0) words.push(`${count}${unit}`);
	}
	return words.join(' ');
}

/** How long ago a time in nanoseconds is; a dash for never. */
export const age = (ns: Int64 | undefined, now: number): string =>
	num(ns) === 0 ? '–' : span(now - ms(ns));

/** A duration in nanoseconds with three digits: "1.18 ms". */
export function duration(ns: Int64): string {
	const value = num(ns);
	if (value === 0) return '0 ms';
	if (value >= 1e9) return `${digits(value / 1e9)} s`;
	if (value >= 1e6) return `${digits(value / 1e6)} ms`;
	return `${digits(value / 1e3)} µs`;
}

function digits(value: number): string {
	if (value >= 100) return value.toFixed(0);
	return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P'];

/** A number with a prefix and a unit: "12.3 kbit/s". */
export function scaled(value: number, unit: string): string {
	let size = Math.abs(value);
	let step = 0;
	while (size >= 1000 && step < PREFIXES.length - 1) {
		size /= 1000;
		step++;
	}
	const text = step === 0 ? String(Math.round(size)) : digits(size);
	return `${value < 0 ? '−' : ''}${text} ${PREFIXES[step]}${unit}`.trim();
}

const two = (value: number): string => String(value).padStart(2, '0');

/** Time of day in this browser's zone. */
export function clock(milliseconds: number): string {
	const at = new Date(milliseconds);
	return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Date and time of day, for titles and tables of history. */
export function dateTime(milliseconds: number): string {
	const at = new Date(milliseconds);
	return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(milliseconds)}`;
}

/** "198.51.100.10:80 tcp", IPv6 in brackets; only the address if the VIP is for all ports. */
export function vipText(vip: { address: string; protocol: string; port: number }): string {
	const host = vip.address.includes(':') ? `[${vip.address}]` : vip.address;
	return vip.port ? `${host}:${vip.port} ${vip.protocol}` : `${vip.address} all ports`;
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
	`${count} ${count === 1 ? one : many}`;

const LETTER = 8.5; // px of a letter of a name in a picture, at most
const LEAST = 8; // letters that are shown in any case

/** The text, cut so that it takes about that many pixels in a picture, where nothing wraps. */
export function fitted(text: string, pixels: number): string {
	const letters = Math.max(LEAST, Math.floor(pixels / LETTER));
	const all = [...text];
	return all.length > letters ? `${all.slice(0, letters - 1).join('')}…` : text;
}
