import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '#core/errors/error-codes.ts';
import { documentPages } from './documents.ts';

const WEB = join(import.meta.dirname, '..');
const read = (name: string) => readFileSync(join(WEB, '../../docs', name), 'utf8');
const pages = documentPages(read, '/assets/documents.css');
const pageOf = (name: string) => pages.get(`docs/${name}.html`) ?? '';
const linksIn = (html: string) => [...html.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => href);

/** True if a link leads to an existing page and anchor, such as `errors.html#too_large`. */
function leads(address: string): boolean {
  const [file = '', anchor] = address.split('#');
  const html = pages.get(`docs/${file}`);
  return html !== undefined && (anchor === undefined || html.includes(` id="${anchor}"`));
}

describe('the documents', () => {
  it('are pages without scripts or styles of their own, which the policy forbids', () => {
    expect(pages.size).toBe(11);
    for (const [name, html] of pages) {
      expect(html.match(/<script[^>]*>[^<]*/g), name).toEqual(['<script src="/theme.js">']);
      expect(html, name).not.toMatch(/<style|\sstyle=|<[^>]*\son\w+=|<img|<iframe/i);
      expect(html.match(/<h1>/g), name).toHaveLength(1);
    }
  });

  it('link to each other, without dead links', () => {
    for (const [name, html] of pages) {
      const own = name.replace('docs/', '');
      const dead = linksIn(html).filter((href) => {
        if (href.startsWith('#')) return href !== '#text' && !leads(`${own}${href}`);
        return href.startsWith('/docs/') && href !== '/docs/openapi.yaml' && !leads(href.slice('/docs/'.length));
      });
      expect(dead, name).toEqual([]);
    }
    expect(linksIn(pageOf('clients'))).toContain('/docs/errors.html');
    expect(linksIn(pageOf('errors'))).toContain('/docs/openapi.yaml');
    expect(linksIn(pageOf('observability'))).toContain('/docs/interface.html');
  });

  it('show customers only their own', () => {
    for (const name of ['clients', 'api', 'errors']) {
      const others = linksIn(pageOf(name)).filter((href) => /^\/docs\/(?!clients|api|errors|openapi)/.test(href));
      expect(others, name).toEqual([]);
    }
    expect(pageOf('api')).toContain('id="limits-and-holds"');
    expect(pageOf('api')).toContain('id="alerts"');
    expect(pageOf('api')).not.toContain('id="calls-to-providers"');
  });

  it('have a row for every error code', () => {
    const codes = Object.keys(ERROR_CODES);
    expect(codes.length).toBeGreaterThan(30);
    expect(codes.filter((code) => !leads(`errors.html#${code}`))).toEqual([]);
  });

  it('include every page to which the dashboard links', () => {
    const sources = globSync('pages/**/*.tsx', { cwd: WEB }).map((path) => readFileSync(join(WEB, path), 'utf8'));
    const helps = sources.flatMap((text) => [...text.matchAll(/help="([^"]*)"/g)].map(([, help = '']) => help));
    expect(helps.length).toBeGreaterThan(10);
    expect(helps.filter((help) => !leads(help))).toEqual([]);
  });
});
