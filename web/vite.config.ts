// SPDX-License-Identifier: Apache-2.0
// One application for /view/ and /admin/: all addresses in it are relative, and nothing is inlined,
// since the Content-Security-Policy allows neither inline scripts nor inline styles.
import solid from 'vite-plugin-solid';
import { defineConfig } from 'vitest/config';

export default defineConfig({
	base: './',
	plugins: [solid()],
	build: {
		target: 'es2022',
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		reportCompressedSize: false,
	},
	test: { environment: 'node', include: ['src/**/*.test.ts'], pool: 'threads', isolate: false },
});
