import { escapeHtml, type Heading, type Rendered, renderDocument } from './render.ts';

/** Documents that customers see. Operators see all. None contains secrets. */
const FOR_CUSTOMERS = ['clients', 'api', 'errors'] as const;
const FOR_OPERATORS = [
  ...['operating', 'interface', 'providers', 'observability', 'dashboard', 'stores', 'kubernetes', 'scaling'],
  ...FOR_CUSTOMERS,
];
export const OPENAPI = 'openapi.yaml';

/** The parts of docs/interface.md for customers, each from one heading up to another. */
const API_PARTS = [
  ['## HTTP API', '### Shares'],
  ['## Alerts', '## Payments by Stripe'],
] as const;

/** Pages by file name, made from the documents in docs/. `read` returns a document's text. */
export function documentPages(read: (file: string) => string, stylesheet: string): ReadonlyMap<string, string> {
  const textOf = (name: string) => (name === 'api' ? apiOf(read('interface.md')) : read(`${name}.md`));
  const texts = new Map(FOR_OPERATORS.map((name) => [name, textOf(name)]));
  const known = new Map([...texts].map(([name, text]) => [name, renderDocument(text, () => undefined)]));
  return new Map(
    [...texts].map(([name, text]) => {
      const shown: readonly string[] = FOR_CUSTOMERS.some((one) => one === name) ? FOR_CUSTOMERS : FOR_OPERATORS;
      const rendered = renderDocument(text, (address) => linkFrom(name, shown, address, known));
      const entries = shown.map((one) => ({ name: one, title: known.get(one)?.title ?? one }));
      return [`docs/${name}.html`, pageOf(name, rendered, entries, stylesheet)];
    }),
  );
}

function apiOf(text: string): string {
  const parts = API_PARTS.map(([begin, end]) => {
    const [from, to] = [text.indexOf(`\n${begin}\n`), text.indexOf(`\n${end}\n`)];
    if (from === -1 || to < from) throw new Error(`docs/interface.md has no part from ${begin} to ${end}`);
    return text.slice(from, to);
  });
  return ['# API', ...parts].join('\n');
}

/** Keeps links to the web and to documents that are shown together with this one. */
function linkFrom(
  from: string,
  shown: readonly string[],
  address: string,
  known: ReadonlyMap<string, Rendered>,
): string | undefined {
  if (/^https?:\/\//.test(address)) return address;
  if (address === OPENAPI) return `/docs/${OPENAPI}`;
  const [, file, anchor] = /^(?:([\w-]+)\.md)?(?:#(.+))?$/.exec(address) ?? [];
  const named = file ?? (address.startsWith('#') ? from : undefined);
  const name = named === 'interface' && !shown.includes(named) ? 'api' : named;
  if (name === undefined || !shown.includes(name)) return undefined;
  if (anchor === undefined) return `/docs/${name}.html`;
  return known.get(name)?.anchors.has(anchor) ? `/docs/${name}.html#${anchor}` : undefined;
}

interface Entry {
  readonly name: string;
  readonly title: string;
}

/** Contains no inline scripts or styles, which the security policy forbids. */
function pageOf(
  name: string,
  { title, headings, body }: Rendered,
  entries: readonly Entry[],
  stylesheet: string,
): string {
  const others = entries.map(
    (one) =>
      `<li><a href="/docs/${one.name}.html"${one.name === name ? ' aria-current="page"' : ''}>${escapeHtml(one.title)}</a></li>`,
  );
  const contents = contentsOf(headings);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="robots" content="noindex" />
    <title>${escapeHtml(title)} · Inference Gateway</title>
    <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="${stylesheet}" />
    <script src="/theme.js"></script>
  </head>
  <body>
    <a class="visually-hidden" href="#text">Skip to the text</a>
    <header>
      <a href="/">Dashboard</a>
      <nav aria-label="Documentation"><ul>${others.join('')}<li><a href="/docs/${OPENAPI}">OpenAPI</a></li></ul></nav>
      ${contents === '' ? '' : `<nav class="beside" aria-label="On this page">${contents}</nav>`}
    </header>
    <main id="text" class="markdown">
      <h1>${escapeHtml(title)}</h1>
      ${contents === '' ? '' : `<details><summary>On this page</summary><nav aria-label="On this page">${contents}</nav></details>`}
${body}
    </main>
  </body>
</html>
`;
}

function contentsOf(headings: readonly Heading[]): string {
  const items = headings
    .filter(({ level }) => level < 4)
    .map(({ level, id, text }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return items.length === 0 ? '' : `<ul>${items.join('')}</ul>`;
}
