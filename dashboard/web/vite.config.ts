import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where a server of the dashboard listens while the page is being worked on: `DASHBOARD_URL=http://127.0.0.1:8081 vite dashboard/web`. */
const server = process.env.DASHBOARD_URL;

const config = defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    // test/dashboard-size.test.ts reads it.
    manifest: true,
    // The policy has no `data:` for scripts, styles and fonts, and an inlined asset cannot be cached by itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // They know light-dark(), nesting and :has(), which stay as they are written.
    target: ['chrome125', 'firefox128', 'safari17.5'],
    sourcemap: false,
    reportCompressedSize: false,
  },
  server: server === undefined ? {} : { proxy: { '/api': { target: server } } },
});

// Vite asks for a default export.
export { config as default };
