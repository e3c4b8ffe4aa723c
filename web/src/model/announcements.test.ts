// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { AnnouncementL2 } from '../api/types.ts';
import {
	announcersOf,
	attractionOf,
	concernsOf,
	culpritOf,
	type Entry,
	iconOf,
	ofDrain,
	speakerProblems,
	whyOf,
} from './announcements.ts';
import { knownSpeakerOf } from './stale.ts';
import type { SpeakerView } from './state.ts';
import { announcement, frontend, server, session, speaker, speakerInfo } from './testing.ts';

const ADDRESS = '198.51.100.10';
const withdrawn = announcement({
	state: 'withdrawn',
	reason: 'frontend-down',
	culprit: 'one/www',
	attracts: false,
	summary: 'not announced',
});
const drained = announcement({
	state: 'withdrawn',
	reason: 'drained',
	drained: true,
	drain_reason: 'new switch',
	attracts: false,
});

const of = (name: string, it = announcement(), more: Partial<SpeakerView> = {}): SpeakerView =>
	speaker({ name, announcements: [it], ...more });
const lost = (name: string): SpeakerView =>
	knownSpeakerOf(speaker({ name, connected: false, error: 'refused' }));
const entries = (...speakers: SpeakerView[]): Entry[] => announcersOf(speakers).get(ADDRESS) ?? [];
const attraction = (...speakers: SpeakerView[]) => attractionOf(ADDRESS, entries(...speakers));

const l2 = (more: Partial<AnnouncementL2>): AnnouncementL2 => ({
	group: 'lan',
	interface: 'eth0',
	state: 'owner',
	reason: 'best',
	since: '1',
	owner: 'lb1',
	priority: 100,
	members: [],
	problem: '',
	...more,
});

describe('a VIP', () => {
	it('that no speaker has is not spoken of', () => {
		expect(attractionOf('192.0.2.1', entries(of('lb1')))).not.toBeNull();
		expect(attractionOf('192.0.2.1', announcersOf([of('lb1')]).get('192.0.2.1'))).toBeNull();
	});

	it('is announced by those that attract it, whatever they call it', () => {
		const other = announcement({ vip: 'another-name' });
		expect(attraction(of('lb1'), of('lb2', other))).toMatchObject({
			verdict: 'ok',
			text: 'announced by lb1, lb2',
		});
	});

	it('that is announced, but to no session, attracts nothing', () => {
		const mute = announcement({ attracts: false, summary: 'no session is established' });
		expect(attraction(of('lb1', mute))?.text).toBe(`nobody announces ${ADDRESS}`);
		expect(iconOf(mute)).toBe('down');
	});

	it('that nobody announces is an alarm', () => {
		expect(attraction(of('lb1', withdrawn), of('lb2', withdrawn))).toMatchObject({
			verdict: 'critical',
			text: `nobody announces ${ADDRESS}`,
		});
	});

	it('of a speaker without contact is not known, and no alarm', () => {
		expect(attraction(lost('lb1'))).toMatchObject({
			verdict: 'unknown',
			text: 'not known whether lb1 announces it',
			unknown: [{ it: { was: 'announced' } }],
		});
		expect(attraction(of('lb1', withdrawn), lost('lb2'), lost('lb3'))?.text).toBe(
			'not known whether lb2, lb3 announce it',
		);
		expect(attraction(of('lb1'), lost('lb2'))?.text).toBe('announced by lb1');
	});

	it('that a member of the network owns is announced, also without contact to it', () => {
		const backup = announcement({ attracts: false, l2: l2({ state: 'backup', owner: 'lb2' }) });
		const ownerless = announcement({ attracts: false, l2: l2({ state: 'backup', owner: '' }) });
		expect(attraction(of('lb1', backup), lost('lb2'))).toMatchObject({
			verdict: 'ok',
			text: 'announced by lb2, as lb1 sees it',
		});
		expect(attraction(of('lb1', ownerless))?.verdict).toBe('critical');
	});

	it('that is drained says where and why', () => {
		expect(attraction(of('lb1', drained), of('lb2'))).toMatchObject({
			verdict: 'ok',
			text: 'announced by lb2',
			drains: ['drained on lb1 by an operator: new switch'],
		});
		expect(iconOf(drained)).toBe('disabled');
	});
});

it('reasons are sentences, and words that are not known stay as they are', () => {
	expect(whyOf(drained)).toBe('drained by an operator: new switch');
	expect(whyOf(announcement({ reason: 'moon-phase' }))).toBe('moon-phase');
	expect(whyOf(announcement({ reason: 'noEndpoints' }))).toBe(
		'no endpoint of the Service is ready or serving',
	);
	expect(whyOf(announcement({ reason: 'starting', drained: true }))).toBe(
		'a maglevd has not answered yet; drained by an operator',
	);
});

describe('attention', () => {
	const concerns = (...speakers: SpeakerView[]) => concernsOf(announcersOf(speakers), speakers);

	it('is not needed when all is well', () => {
		expect(concerns(of('lb1'), of('lb2', withdrawn))).toEqual([]);
	});

	it('is needed for a VIP that nobody announces, with the reasons', () => {
		expect(concerns(of('lb1', withdrawn), of('lb2', drained))).toMatchObject([
			{
				verdict: 'critical',
				title: `nobody announces ${ADDRESS}`,
				notes: 'frontend down; drained by an operator: new switch',
			},
		]);
	});

	it('counts VIPs instead of listing thousands', () => {
		const many = Array.from({ length: 5000 }, (_, i) => ({
			...withdrawn,
			vip: `v${i}`,
			address: `2001:db8::${i.toString(16)}`,
		}));
		expect(concerns(speaker({ announcements: many }))).toMatchObject([
			{ verdict: 'critical', title: 'nobody announces 5000 VIPs' },
		]);
	});

	it('is needed for sessions and speakers', () => {
		const down = session({ up: false, state: 'Active', last_error: 'Hold Timer Expired' });
		expect(concerns(of('lb1', announcement(), { sessions: [down] }))).toMatchObject([
			{
				verdict: 'warning',
				title: 'speaker lb1',
				notes: 'session to tor1 is down: Hold Timer Expired',
			},
		]);
		expect(concerns(lost('lb1'))).toMatchObject([
			{ verdict: 'critical', title: 'speaker lb1', notes: 'no contact: refused' },
		]);
	});
});

it('problems of a speaker: bgpd, FRR, its file, its maglevds', () => {
	const info = speakerInfo({
		problem: 'bgpd does not answer',
		maglevds: [{ name: 'one', address: '', connected: false, error: 'refused' }],
		frr: { current: false, applies: 2, failures: 1, last_error: 'line 3', last_at: 1 },
		config_error: 'line 7: no such peer',
	});
	expect(speakerProblems(speaker({ info }))).toEqual([
		'bgpd does not answer',
		'FRR does not have its configuration: line 3',
		'a newer configuration was refused: line 7: no such peer',
		'it cannot reach maglevd one: refused',
	]);
	const applying = { current: false, applies: 2, failures: 0, last_error: '', last_at: 1 };
	expect(speakerProblems(speaker({ info: speakerInfo({ frr: applying }) }))).toEqual([]);
});

it('the frontend that decided is found under the name of its server, or as the only one', () => {
	const two = server({ name: 'two', frontends: [frontend({ name: 'api' })] });
	expect(culpritOf('one/www', [server(), two])).toEqual({ server: 'one', frontend: 'www' });
	expect(culpritOf('a/api', [server(), two])).toEqual({ server: 'two', frontend: 'api' });
	expect(culpritOf('a/www', [server(), server({ name: 'three' })])).toBeNull();
	expect(culpritOf('a/nothing', [server()])).toBeNull();
	expect(culpritOf('', [server()])).toBeNull();
});

describe('a drain', () => {
	const drain = (...speakers: SpeakerView[]) => {
		const all = entries(...speakers);
		return ofDrain(all[0] as Entry, all);
	};

	it('is harmless while another balancer announces the VIP', () => {
		expect(drain(of('lb1'), of('lb2'))).toMatchObject({
			elsewhere: 'lb2 still announces it.',
			fatal: false,
		});
	});

	it('of the last one takes the VIP from clients', () => {
		for (const other of [[], [of('lb2', withdrawn)], [of('lb2', drained)]])
			expect(drain(of('lb1'), ...other)).toMatchObject({
				elsewhere: 'Nobody else announces this VIP: clients lose it.',
				fatal: true,
			});
	});

	it('is a risk where nothing is known of the others', () => {
		expect(drain(of('lb1'), lost('lb2'))).toMatchObject({ fatal: true });
		expect(drain(of('lb1'), lost('lb2')).elsewhere).toContain('not known whether lb2 announces it');
	});

	it('of a VIP that attracts nothing changes nothing for clients', () => {
		expect(drain(of('lb1', withdrawn))).toMatchObject({
			elsewhere: 'Nothing changes for clients.',
			fatal: false,
		});
	});

	it('on a network is taken over by a member that stands by', () => {
		const owner = announcement({ l2: l2({}) });
		const backup = announcement({ attracts: false, l2: l2({ state: 'backup', reason: 'owned' }) });
		expect(drain(of('lb1', owner), of('lb2', backup))).toEqual({
			here: 'lb1 gives the VIP up on eth0.',
			elsewhere: 'lb2 takes it over.',
			fatal: false,
		});
		expect(drain(of('lb1', owner), of('lb2', { ...backup, drained: true })).fatal).toBe(true);
		expect(iconOf(backup)).toBe('paused');
	});
});
