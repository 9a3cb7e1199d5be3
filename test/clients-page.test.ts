import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLIENTS, type Client, snippetOf } from './clients/clients.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../docs/clients.md'), 'utf8');
const blocks = [...PAGE.matchAll(/^```(?:js|python)\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code.trim());

function whereCodeIs({ code, ownCode }: Client): string {
  if (ownCode) return `its message (\`error.code\` is \`${ownCode}\`)`;
  return code ? `\`${code}\`` : 'its message';
}

describe('docs/clients.md', () => {
  test.for(CLIENTS)('has the snippet of $name, which the project `clients` runs', (client) => {
    expect(blocks).toContain(snippetOf(client));
    expect(PAGE).toContain(`| ${client.name} | \`${client.error}\` | ${whereCodeIs(client)} |`);
    if (client.lacksStream) expect(PAGE).toContain(client.lacksStream);
  });

  test('has no other code', () => {
    expect(blocks.filter((code) => !CLIENTS.some((client) => snippetOf(client) === code))).toEqual([]);
  });
});
