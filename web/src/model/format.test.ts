// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { age, duration, fitted, scaled, span, vipText } from './format.ts';

it('an age has its two largest units', () => {
	expect(span(999)).toBe('now');
	expect(span(-5000)).toBe('now');
	expect(span(61_000)).toBe('1m 1s');
	expect(span(3_600_000)).toBe('1h');
	expect(span(90_061_000)).toBe('1d 1h');
	expect(age('0', 1e15)).toBe('–');
	expect(age('1794785372221310667', 1794785373500)).toBe('1s');
});

it('durations and rates have three digits', () => {
	expect(duration('1184398')).toBe('1.18 ms');
	expect(duration(0)).toBe('0 ms');
	expect(duration(2_500_000_000)).toBe('2.50 s');
	expect(scaled(0, 'pkt/s')).toBe('0 pkt/s');
	expect(scaled(12_345, 'pkt/s')).toBe('12.3 kpkt/s');
	expect(scaled(999_999_999, 'bit/s')).toBe('1000 Mbit/s');
});

it('a VIP is written as it is typed', () => {
	expect(vipText({ address: '2001:db8::1', protocol: 'udp', port: 53 })).toBe(
		'[2001:db8::1]:53 udp',
	);
	expect(vipText({ address: '198.51.100.1', protocol: 'any', port: 0 })).toBe(
		'198.51.100.1 all ports',
	);
});

it('a name in a picture is cut to the room that it has', () => {
	expect(fitted('web1', 10)).toBe('web1');
	expect(fitted('x'.repeat(128), 85)).toBe('xxxxxxxxx…');
	expect(fitted('x'.repeat(128), -5)).toBe('xxxxxxx…');
	expect(fitted('👩‍💻'.repeat(2), 0)).toBe('👩‍💻'.repeat(2));
});
