import { expect, it } from 'vitest';
import { renderDocument } from './render.ts';

const bodyOf = (text: string, resolve: (address: string) => string | undefined = () => undefined) =>
  renderDocument(`# Title\n\n${text}`, resolve).body;

it('has headings with unique anchors, named as on GitHub', () => {
  const { title, headings, body } = renderDocument(
    '# One\n\n## `a.b` & c, d\n\n### Twice\n\n### Twice',
    () => undefined,
  );
  expect(title).toBe('One');
  expect(headings).toEqual([
    { level: 2, id: 'ab--c-d', text: 'a.b & c, d' },
    { level: 3, id: 'twice', text: 'Twice' },
    { level: 3, id: 'twice-1', text: 'Twice' },
  ]);
  expect(body.split('\n')[0]).toBe('<h2 id="ab--c-d"><a href="#ab--c-d"><code>a.b</code> &amp; c, d</a></h2>');
});

it('has tables whose rows about one name can be linked', () => {
  expect(bodyOf('| Code | What |\n|---|---|\n| `too_large` | a \\| b |\n| x | y |')).toBe(
    '<div class="rows" tabindex="0"><table><thead><tr><th>Code</th><th>What</th></tr></thead><tbody>\n' +
      '<tr id="too_large"><td><code>too_large</code></td><td>a | b</td></tr>\n' +
      '<tr><td>x</td><td>y</td></tr></tbody></table></div>',
  );
});

it('has lists, code and emphasis', () => {
  expect(bodyOf('- a\n- **b**')).toBe('<ul><li><p>a</p></li><li><p><strong>b</strong></p></li></ul>');
  expect(bodyOf('3. a')).toBe('<ol start="3"><li><p>a</p></li></ol>');
  expect(bodyOf('```sh\necho "<b>" && x\n```')).toBe(
    '<pre tabindex="0"><code>echo &quot;&lt;b&gt;&quot; &amp;&amp; x</code></pre>',
  );
});

it('renders no HTML from the text', () => {
  const evil = '<img src=x onerror=alert(1)>';
  const text = `## ${evil}\n\n${evil} **${evil}**\n\n- ${evil}\n\n> ${evil}\n\n| ${evil} | b |\n|---|---|\n| ${evil} | c |`;
  expect(bodyOf(`${text}\n\n\`${evil}\``, () => '/x')).not.toMatch(/<(?:img|script)/);
  expect(bodyOf('<!-- note -->\n\na')).toBe('<p>a</p>');
});

it('keeps allowed links, and only the text of others', () => {
  const text = '[a](b.md#c) [x](javascript:alert(1)) [q](d")';
  const allowed = (address: string) => (address.startsWith('javascript:') ? undefined : `/docs/${address}`);
  expect(bodyOf(text, allowed)).toBe('<p><a href="/docs/b.md#c">a</a> x) <a href="/docs/d&quot;">q</a></p>');
});

it('is bounded, and begins with its title', () => {
  expect(() => bodyOf('a'.repeat(500_000))).toThrow('more than');
  expect(() => renderDocument('text', () => undefined)).toThrow('title');
});
