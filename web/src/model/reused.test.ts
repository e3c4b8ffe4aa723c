// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { reused } from './reused.ts';

it('what is the same stays the same object, also when others come before it', () => {
	const before = [{ name: 'a' }, { name: 'b' }];
	const after = reused(before, [{ name: 'new' }, { name: 'a' }]);
	expect(after[1]).toBe(before[0]);
	expect(after[0]).toEqual({ name: 'new' });
});
