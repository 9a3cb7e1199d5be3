import { type Block, blocksOf, type Inline, inlineOf, TO_ANYWHERE } from '../markdown/markdown-blocks.ts';

export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

export interface Rendered {
  readonly title: string;
  /** Headings below the title. */
  readonly headings: readonly Heading[];
  /** All anchors to which a link may lead. */
  readonly anchors: ReadonlySet<string>;
  /** HTML without the title. */
  readonly body: string;
}

/** Target of a link. `undefined`: the link becomes plain text. */
export type Resolve = (address: string) => string | undefined;

const MOST_CHARACTERS = 500_000;
const COMMENT = /^<!--.*-->$/gm;

/** Renders a document as HTML. All text is escaped, also tags; links are those of `resolve`. */
export function renderDocument(markdown: string, resolve: Resolve): Rendered {
  if (markdown.length > MOST_CHARACTERS) throw new Error(`a document has more than ${MOST_CHARACTERS} characters`);
  const [first, ...blocks] = blocksOf(markdown.replace(COMMENT, '').split('\n'));
  if (first?.kind !== 'heading' || first.level !== 1) throw new Error('a document begins with its title');
  const headings: Heading[] = [];
  const anchors = new Set<string>();
  const body = blocks.map((block) => htmlOf(block)).join('\n');
  return { title: first.text, headings, anchors, body };

  function htmlOf(block: Block): string {
    switch (block.kind) {
      case 'heading': {
        const id = anchorFor(slugOf(block.text));
        headings.push({ level: block.level, id, text: block.text.replaceAll('`', '') });
        const tag = `h${Math.min(block.level, 6)}`;
        return `<${tag} id="${id}"><a href="#${id}">${line(block.text)}</a></${tag}>`;
      }
      case 'text':
        return `<p>${line(block.text)}</p>`;
      case 'rule':
        return '<hr>';
      case 'code':
        return `<pre tabindex="0"><code>${escapeHtml(block.text)}</code></pre>`;
      case 'quote':
        return `<blockquote>${block.blocks.map(htmlOf).join('')}</blockquote>`;
      case 'list': {
        const items = block.items.map((item) => `<li>${item.map(htmlOf).join('')}</li>`).join('');
        return block.start === undefined ? `<ul>${items}</ul>` : `<ol start="${block.start}">${items}</ol>`;
      }
      case 'table':
        return tableOf(block.rows);
    }
  }

  function tableOf([head = [], ...rows]: readonly (readonly string[])[]): string {
    const cells = (row: readonly string[], tag: string) => row.map((cell) => `<${tag}>${line(cell)}</${tag}>`).join('');
    const lines = rows.map((row) => `<tr${rowId(row[0] ?? '')}>${cells(row, 'td')}</tr>`).join('\n');
    return `<div class="rows" tabindex="0"><table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>\n${lines}</tbody></table></div>`;
  }

  /** Rows about one name, such as an error code, get an anchor. */
  function rowId(cell: string): string {
    const name = /^`([a-z][\w.]*)`$/.exec(cell)?.[1];
    return name === undefined || anchors.has(name) ? '' : ` id="${anchorFor(name)}"`;
  }

  /** A repeated heading gets the anchor `name-1`. */
  function anchorFor(name: string): string {
    let id = name;
    for (let times = 1; anchors.has(id); times += 1) id = `${name}-${times}`;
    anchors.add(id);
    return id;
  }

  function line(text: string): string {
    return inlineOf(text.replaceAll('\\|', '|'), TO_ANYWHERE).map(inlineHtml).join('');
  }

  function inlineHtml(part: Inline): string {
    if (!('parts' in part))
      return part.kind === 'code' ? `<code>${escapeHtml(part.text)}</code>` : escapeHtml(part.text);
    const inner = part.parts.map(inlineHtml).join('');
    if (part.kind !== 'link') return `<${TAGS[part.kind]}>${inner}</${TAGS[part.kind]}>`;
    const href = resolve(part.url);
    return href === undefined ? inner : `<a href="${escapeHtml(href)}">${inner}</a>`;
  }
}

const TAGS = { strong: 'strong', emphasis: 'em', struck: 's' } as const;

/** Same anchors as on GitHub, so that links between documents work in both places. */
function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
