import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AGENTS, scriptOf } from './agents/agents.ts';
import { CLIENTS, type Client, snippetOf } from './clients/clients.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../docs/clients.md'), 'utf8');
const blocksOf = (languages: string) =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`(?:${languages})\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, code = '']) =>
    code.trim(),
  );
const blocks = blocksOf('js|python');

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

  test('has the script of each agent in the order of the list', () => {
    const [settings, ...scripts] = blocksOf('sh');
    expect(settings).toContain('GATEWAY_URL');
    expect(scripts).toEqual(AGENTS.map(scriptOf));
    expect([...PAGE.matchAll(/^### (.+)$/gm)].map(([, name]) => name).slice(-AGENTS.length)).toEqual(
      AGENTS.map(({ name }) => name),
    );
  });
});
