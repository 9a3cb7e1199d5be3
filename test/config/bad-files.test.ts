import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '#core/config/load.ts';
import { formatProblem } from '#core/config/problem.ts';
import { configJsonSchema } from '#core/config/schema.ts';

/** One bad file for each rule. Its first lines are all problems: `# expect LINE:COLUMN: MESSAGE`. */

const FOLDER = import.meta.dirname;
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));

function expected(name: string): string[] {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  return [...text.matchAll(/^# expect (.*)$/gm)].map(([, line]) => `${join(FOLDER, name)}:${line}`);
}

describe('a bad file is refused with every problem and its position', () => {
  test.each(FILES)('%s', async (name) => {
    // Reads every section. Each process reads only some of them.
    const result = await loadConfig(join(FOLDER, name), {}, { secrets: 'checked' });
    expect(result.ok ? [] : result.problems.map(formatProblem)).toEqual(expected(name));
    expect(expected(name)).not.toEqual([]);
  });
});

test('every field of the schema has a bad file', () => {
  const told = FILES.flatMap(expected).join('\n');
  const missing = fields(configJsonSchema()).filter(
    (field) => !new RegExp(`: ${declared(field)}: (must|is) `).test(told),
  );
  expect(missing).toEqual([]);
});

/**
 * The path at which a bad file must have the field: later tables (`from`), windows (`hours`) and
 * costs consist of the fields of the first price table.
 */
function declared(field: string): string {
  if (!/\\\.(?:from|hours)/.test(field)) return field;
  return field
    .replace('\\.targets\\[\\d\\]\\.cost_usd', '\\.usd')
    .replace('\\.from\\.[^.]+\\.', '\\.')
    .replace(/\\\.hours\\\[\\d\\\](?=\\\.(?!utc|days|except))/, '');
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
}

/** Patterns such as `providers\.[^.]+\.base_url` for all fields of a configuration. */
function fields(schema: Schema, prefix = ''): string[] {
  const dot = prefix === '' ? '' : `${prefix}\\.`;
  const nested = Object.entries(schema.properties ?? {}).flatMap(([name, child]) => [
    `${dot}${name}`,
    ...fields(child, `${dot}${name}`),
  ]);
  const more = schema.additionalProperties;
  if (typeof more === 'object') nested.push(...fields(more, `${dot}[^.]+`));
  if (schema.items) nested.push(`${prefix}\\[\\d\\]`, ...fields(schema.items, `${prefix}\\[\\d\\]`));
  return nested;
}
