import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { documentPages, OPENAPI } from './documents.ts';

const WEB = join(import.meta.dirname, '..');
const DOCS = join(WEB, '../../docs');
const read = (path: string) => readFileSync(path, 'utf8');

/** Adds the documents as pages of their own, with the dashboard's styles and without its code. */
export const documents: Plugin = {
  name: 'documents',
  generateBundle(_, bundle) {
    const font = Object.keys(bundle).find((name) => /\/inter-latin[^/]*\.woff2$/.test(name));
    const styles = ['styles/tokens.css', 'styles/base.css', 'documents/documents.css'].map((name) =>
      read(join(WEB, name)),
    );
    const source = styles.join('\n').replace('./inter-latin.woff2', `/${font}`);
    const stylesheet = this.emitFile({ type: 'asset', name: 'documents.css', source });
    const pages = documentPages((name) => read(join(DOCS, name)), `/${this.getFileName(stylesheet)}`);
    for (const [fileName, html] of pages) this.emitFile({ type: 'asset', fileName, source: html });
    this.emitFile({ type: 'asset', fileName: `docs/${OPENAPI}`, source: read(join(DOCS, OPENAPI)) });
  },
};
