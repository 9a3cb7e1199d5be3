import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { closedSchema } from './output-schema.ts';

const text = { type: 'string' };
const open = { type: 'object', properties: { a: text } };
const closed = { ...open, additionalProperties: false };

describe('the schema of a response', () => {
  test.each<[string, object, object]>([
    ['of an object', open, closed],
    ['that says so', closed, closed],
    ['that says otherwise', { ...open, additionalProperties: true }, { ...open, additionalProperties: true }],
    ['of any object', { type: 'object' }, { type: 'object' }],
    ['of a text', { type: 'string', enum: [open], default: open }, { type: 'string', enum: [open], default: open }],
    ['of a list', { type: 'array', items: open }, { type: 'array', items: closed }],
    ['of one of several', { anyOf: [open, text, true] }, { anyOf: [closed, text, true] }],
    [
      'with definitions',
      { $defs: { properties: open }, ...open, properties: { properties: open, items: text } },
      { $defs: { properties: closed }, ...closed, properties: { properties: closed, items: text } },
    ],
  ])('%s', (_, schema, expected) => {
    expect(closedSchema({ ...schema })).toEqual(expected);
  });

  test('keeps a property that is named __proto__, and does not change its input', () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"}}}');
    const before = JSON.stringify(schema);
    expect(JSON.stringify(closedSchema(schema))).toBe(
      '{"properties":{"__proto__":{"type":"string"}},"additionalProperties":false}',
    );
    expect(JSON.stringify(schema)).toBe(before);
  });

  test('is not changed by closing it again', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('properties', 'items', 'anyOf', '$defs'), fc.jsonValue()), (schema) => {
        const once = closedSchema(schema);
        expect(closedSchema(once)).toEqual(once);
      }),
    );
  });

  test('may have any nesting', () => {
    let schema: Record<string, unknown> = open;
    for (let depth = 0; depth < 100_000; depth++) schema = { items: schema };
    expect(closedSchema(schema)).toHaveProperty('items.items.items');
  });
});
