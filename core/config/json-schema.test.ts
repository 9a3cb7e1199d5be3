import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configJsonSchema } from './schema.ts';

test('the published JSON Schema is that of the code (npm run generate writes it)', () => {
  const published: unknown = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../config/gateway.schema.json'), 'utf8'),
  );
  expect(published).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
});
