// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { healthOf, worst } from './health.ts';
import { reduce } from './state.ts';
import { event, frontend, lb, lbServer, poolBackend, server } from './testing.ts';

const pools = (...states: string[]) => [
	{
		name: 'primary',
		active: true,
		backends: states.map((state, i) => poolBackend(`b${i}`, { state })),
	},
];
const verdict = (it: ReturnType<typeof server>, now = 60_000) =>
	healthOf(it, now).frontends.www?.verdict;

it('all up is ok', () => {
	expect(verdict(server())).toBe('ok');
});

it('one down of several is degraded, and says how many', () => {
	const it = server({ frontends: [frontend({ pools: pools('up', 'down', 'up') })] });
	expect(healthOf(it, 0).frontends.www).toEqual({
		verdict: 'degraded',
		notes: ['1 of 3 down'],
	});
});

it('what an operator paused is no alarm', () => {
	expect(verdict(server({ frontends: [frontend({ pools: pools('up', 'paused') })] }))).toBe('ok');
});

it('a frontend on its second pool is a warning', () => {
	expect(verdict(server({ frontends: [frontend({ active_pool: 'spare' })] }))).toBe('warning');
});

it('down is critical', () => {
	expect(verdict(server({ frontends: [frontend({ state: 'down', active_pool: '' })] }))).toBe(
		'critical',
	);
});

it('before the warm-up is over nothing is an alarm', () => {
	expect(verdict(server({ frontends: [frontend({ state: 'down', released: false })] }))).toBe(
		'unknown',
	);
});

it('without contact nothing is known of a frontend, but the server is critical', () => {
	const lost = server({ connected: false, error: 'refused' });
	expect(verdict(lost)).toBe('unknown');
	expect(healthOf(lost, 0).verdict).toBe('critical');
	expect(healthOf(lost, 0).problems).toEqual(['no contact: refused']);
});

it('a data plane that misses an interface is a warning with the reason, not connected', () => {
	const problem = 'the program is on 1 of 2 interfaces; nope0: there is no such interface';
	const it = server({ lb: lb([], { dataplane: 'xdp', status: 'degraded', problem }) });
	expect(healthOf(it, 0)).toMatchObject({
		verdict: 'warning',
		problems: ['data plane xdp is degraded', problem],
	});
});

it('a page that was cut off knows nothing, and says that no server is to blame', () => {
	const cut = server({ connected: false, cut: true });
	expect(healthOf(cut, 0)).toMatchObject({
		verdict: 'unknown',
		problems: ['no contact with maglevd-frontend'],
	});
	expect(verdict(cut)).toBe('unknown');
});

it('a server that answers may still have something wrong', () => {
	const deaf = server({ error: 'it sends no events: too many' });
	expect(healthOf(deaf, 0)).toMatchObject({ verdict: 'warning', problems: [deaf.error] });
	expect(verdict(deaf)).toBe('ok');
});

it('a difference in the data plane is an alarm only once it has lasted', () => {
	const differs = event('lb', { lb: lb([lbServer('1', { weight: 7 })]), lb_error: '' }, 10);
	const state = reduce(
		{ epoch: '', seq: 0, servers: [server()], speakers: [], routers: [] },
		differs,
	);
	const it = state.servers[0] as ReturnType<typeof server>;
	expect(verdict(it, 12_000)).toBe('ok');
	expect(verdict(it, 15_000)).toBe('warning');
});

it('without a connection to the data plane it is that which is told, not differences', () => {
	const it = server({ lb: lb([lbServer('1', { present: false })], { connected: false }) });
	expect(healthOf(it, 1e9).problems).toEqual(['data plane vpp is disconnected']);
	expect(verdict(it)).toBe('ok');
});

it('the worst verdict wins', () => {
	expect(worst(['ok', 'degraded', 'critical'])).toBe('critical');
	expect(worst([])).toBe('ok');
});
