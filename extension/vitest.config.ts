// Where the extension's unit tests are found. What needs a real page or a real browser is tested in e2e/ instead.
import yaml from '@rollup/plugin-yaml';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [yaml()],
  test: {
    include: ['src/**/*.test.ts', 'src/**/*.test.tsx', 'tests/**/*.test.ts'],
    environment: 'node',
    // One line a test, so that a run shows what was proved.
    reporters: ['verbose'],
  },
});
